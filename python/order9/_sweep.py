"""Sweeps: the cells of a plan, run on this host or by Ray."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from . import _order9
from ._order9 import Course, Folder, Interrupted, Plan, SweepSummary
from ._run import Progress, _shown

if TYPE_CHECKING:
    import polars

Backend = Literal["local", "ray"]


class Sweep:
    """A sweep whose cells have ended: its folder, and their summary.

    ``ran`` is the number of cells that ran now, ``kept`` that of those that had run before.
    """

    def __init__(self, path: Path, summary: SweepSummary, ran: int, kept: int) -> None:
        self.path = path
        self.summary = summary
        self.ran = ran
        self.kept = kept

    @property
    def digest(self) -> str:
        """Digest of the names and results of all cells, whoever ran them."""
        return self.summary.digest

    def scan(self) -> polars.LazyFrame:
        """All figures of all cells as a frame of Polars, which reads only what a query needs."""
        import polars

        return polars.scan_parquet(self.path / "results", hive_partitioning=True)

    def __str__(self) -> str:
        return self.summary.text()

    def __repr__(self) -> str:
        return f"<sweep {self.path}: {self.summary.cells} cells, {self.ran} ran now, {self.kept} were kept>"


def sweep(
    plan: str | PathLike[str] | Plan,
    output: str | PathLike[str],
    *,
    backend: Backend = "local",
    jobs: int | None = None,
    cache: str | PathLike[str] | None = None,
    batch_seconds: float = 1.0,
    progress: bool | Progress | None = None,
) -> Sweep:
    """Runs the cells of a plan that the folder ``output`` does not have, and writes all results as Parquet.

    ``backend="ray"`` runs them on the Ray cluster that this process is connected to, or on a local one: in batches of
    ``batch_seconds``, each with the memory that its cells need; a batch whose worker is lost runs again. ``jobs`` is the
    number of cells at a time on this host, and of batches at a time in Ray (by default as many as there are CPUs). ``cache``
    is a further folder of cells, which sweeps share.

    Ctrl-C raises :class:`Interrupted` once the cells that have ended are kept and written; the same call goes on.
    """
    plan = plan if isinstance(plan, Plan) else Plan(str(plan))
    path = Path(output)
    with Folder(path, cache=cache) as folder, _shown(progress, "cell") as tell:
        try:
            if backend == "local":
                ran, kept = _order9.sweep(plan, folder, jobs=jobs, progress=tell)
            elif backend == "ray":
                from ._ray import over_ray

                course = Course(plan, folder)
                over_ray(course, folder, plan, jobs=jobs, batch_seconds=batch_seconds, tell=tell)
                ran, kept, _ = course.counts
            else:
                raise ValueError(f"no backend is called {backend!r}: expected local or ray")
        except KeyboardInterrupt:
            summary = folder.write_results(plan)
            error = Interrupted(f"{summary.cells} cells are kept; the same call goes on")
            error.run = None
            raise error from None
        return Sweep(path, folder.write_results(plan), ran, kept)


def merge(parts: Sequence[str | PathLike[str]], output: str | PathLike[str]) -> Sweep:
    """Puts the folders of several sweeps, or of parts of one, into the folder ``output``, and writes all results as Parquet.

    A cell with two different results is refused.
    """
    path = Path(output)
    with Folder(path) as folder:
        summary = folder.merge(parts)
    return Sweep(path, summary, 0, summary.cells)
