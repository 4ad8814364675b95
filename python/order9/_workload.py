"""Workloads written in Python: generators or coroutines over the system calls of :class:`order9.Sys`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

Direction = Literal["lower", "higher"]


class Workload:
    """A program in Python that the lab's machine runs, made by :func:`workload`.

    Calling it gives the same program with other arguments: ``mine(size="2G")``.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        name: str,
        better: Mapping[str, Direction],
        arguments: Mapping[str, Any],
    ) -> None:
        self.body = body
        self.name = name
        self.better = dict(better)
        self.arguments = dict(arguments)
        self.__doc__ = body.__doc__

    def __call__(self, **arguments: Any) -> Workload:
        return Workload(self.body, self.name, self.better, {**self.arguments, **arguments})

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        return f"<workload {self.name}{arguments}>"


@overload
def workload(body: Callable[..., Any], /) -> Workload: ...


@overload
def workload(
    *, name: str | None = None, better: Mapping[str, Direction] | None = None
) -> Callable[[Callable[..., Any]], Workload]: ...


def workload(
    body: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    better: Mapping[str, Direction] | None = None,
) -> Workload | Callable[[Callable[..., Any]], Workload]:
    """Makes a workload of a function of ``sys`` that yields (or awaits) its system calls.

    ``better`` says of what is measured whether lower or higher is better; without a word about it, lower is for times and
    higher for everything else. The name is that of the function, with dashes.
    """

    def decorate(function: Callable[..., Any]) -> Workload:
        called = name or getattr(function, "__name__", "workload").replace("_", "-")
        return Workload(function, called, better or {}, {})

    return decorate if body is None else decorate(body)
