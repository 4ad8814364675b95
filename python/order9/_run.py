"""Experiments: what the lab runs, in words of Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from . import _order9
from ._order9 import Policy, Run, Snapshot
from ._workload import Workload

Progress = Callable[[int, int], None]


def _word(value: Any) -> str:
    """A value as the command line takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, range)):
        return ",".join(_word(item) for item in value)
    return str(value)


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _pairs(option: str, values: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [(option, f"{name}={_word(value)}") for name, value in (values or {}).items()]


def run(
    workload: str | Workload,
    *,
    machine: str | PathLike[str] | Snapshot | None = None,
    memory: str | PathLike[str] | Snapshot | None = None,
    policy: str | Policy | Sequence[str | Policy] | None = None,
    ablate: str | Policy | None = None,
    against: str | Policy | None = None,
    seeds: int | None = None,
    params: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    cmdline: str | None = None,
    prices: str | None = None,
    every: str | None = None,
    events: str | Iterable[str] | None = None,
    maps: str | None = None,
    check: int | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Run:
    """Runs a workload under one or several policies, and returns what came of it.

    ``workload`` is a name (see :func:`order9.workloads`), a scenario file, or a workload in Python. ``machine`` is a name, a
    file or a :class:`Snapshot`; ``policy`` a policy or a list of them, the first being what others are compared with; ``set``
    are settings by their Linux names. All other words are those of ``order9 run --help``.

    ``progress`` shows a bar where tqdm is installed (``True``; by default where there is more than one run and a terminal or
    notebook), or is a function of the number of runs that have ended and of all. Ctrl-C raises :class:`Interrupted`, whose
    ``run`` holds the runs that had ended.
    """
    single = {
        "--ablate": ablate,
        "--against": against,
        "--prices": prices,
        "--seeds": seeds,
        "--cmdline": cmdline,
        "--every": every,
        "--maps": maps,
        "--check": check,
    }
    arguments = [("--policy", str(one)) for one in _several(policy)]
    arguments += [(option, _word(value)) for option, value in single.items() if value is not None]
    arguments += _pairs("--set", set)
    arguments += [("--events", name) for name in ([events] if isinstance(events, str) else list(events or []))]
    snapshot = None
    for option, value in (("--machine", machine), ("--memory", memory)):
        if isinstance(value, Snapshot):
            if snapshot is not None:
                raise _order9.ScenarioError("the machine is a snapshot, which holds its memory: leave memory out")
            snapshot = value
        elif value is not None:
            arguments.append((option, fspath(value)))
    with _shown(progress) as tell:
        if isinstance(workload, Workload):
            called = {**workload.arguments, **(params or {})}
            return _order9.run(
                workload.name,
                arguments,
                snapshot=snapshot,
                program=functools.partial(workload.body, **called),
                named=called,
                better=workload.better,
                jobs=jobs,
                progress=tell,
            )
        arguments += _pairs("--param", params)
        return _order9.run(fspath(workload), arguments, snapshot=snapshot, jobs=jobs, progress=tell)


class _shown:
    """A bar of tqdm for as long as runs go on, or the function of whoever asked."""

    def __init__(self, progress: bool | Progress | None, unit: str = "run") -> None:
        self.progress = progress
        self.unit = unit
        self.bar: Any = None

    def __enter__(self) -> Progress | None:
        if callable(self.progress):
            return self.progress
        if self.progress is False:
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        # disable=None: only where somebody looks on.
        self.bar = functools.partial(tqdm, unit=self.unit, disable=False if self.progress else None)
        return self._tell

    def _tell(self, ended: int, total: int) -> None:
        if isinstance(self.bar, functools.partial):
            if total == 1 and self.progress is None:
                return
            self.bar = self.bar(total=total)
        self.bar.total = total
        self.bar.update(ended - self.bar.n)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None and not isinstance(self.bar, functools.partial):
            self.bar.close()
