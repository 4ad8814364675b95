"""Cells over Ray: batches of about a second of work, each with the memory that it needs, and again where a worker is lost.

This process decides what runs next and keeps what comes back; workers only run cells. So nothing is lost with a worker, and
nothing is kept twice.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from . import _order9
from ._order9 import Cell, Course, Done, Folder, Plan, SweepError

#: Batches that wait at a worker for each one that runs, so that no worker waits for this process.
WAITING = 1
#: Attempts that Ray makes again by itself after a lost worker.
RETRIES = 3
#: Memory of a worker without any cell, in bytes: the interpreter with Ray and this package took 160 MiB.
WORKER_MEMORY = 192 << 20
#: Time between two looks at the size of the cluster, in seconds.
LOOK = 5.0
#: Least time between two writings of the results on the way, in seconds.
WRITE = 60.0


@ray.remote(num_cpus=1, max_retries=RETRIES)
def run_cells(cells: list[Cell]) -> list[Done]:
    """Results of cells that run one after the other in a worker."""
    try:
        return _order9.run_cells(cells)
    finally:
        _give_back()


def _give_back() -> None:
    """Gives memory that cells have freed back to the system, as far as the C library can: a worker waits with little."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class _Times:
    """The time that a cell will take, by what cells like it have taken."""

    def __init__(self) -> None:
        self.sums: dict[tuple[Any, ...], tuple[float, int]] = {}

    def add(self, done: Done) -> None:
        for key in self._keys(done.labels):
            time_of, count = self.sums.get(key, (0.0, 0))
            self.sums[key] = (time_of + done.elapsed_ns / 1e9, count + 1)

    def of(self, cell: Cell) -> float | None:
        """Seconds; None where no cell has ended yet."""
        for key in self._keys(cell.labels):
            if key in self.sums:
                time_of, count = self.sums[key]
                return time_of / count
        return None

    @staticmethod
    def _keys(labels: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """Kinds that a cell belongs to, the narrowest first."""
        yield (labels["workload"], labels["machine"], labels["memory"], labels["policy"])
        yield (labels["workload"], labels["machine"])
        yield ()


class _Batches:
    """Cells of a course in batches."""

    def __init__(self, course: Course, seconds: float) -> None:
        self.course = course
        self.seconds = seconds
        self.times = _Times()
        #: Cells of a batch that was lost more often than Ray tries: they run alone.
        self.alone: list[Cell] = []

    def next(self, workers: int) -> list[Cell]:
        """The next batch; none where nothing can run until a cell ends.

        Towards the end batches become smaller, so that all workers end at about the same time.
        """
        if self.alone:
            return [self.alone.pop()]
        left = self.course.counts[2]
        most = max(1, math.ceil(left / (2 * workers)))
        batch: list[Cell] = []
        expected = 0.0
        while len(batch) < most and expected < self.seconds:
            cell = self.course.take()
            if cell is None:
                break
            batch.append(cell)
            seconds = self.times.of(cell)
            if seconds is None:
                break
            expected += seconds
        return batch


def over_ray(
    course: Course,
    folder: Folder,
    plan: Plan,
    *,
    jobs: int | None,
    batch_seconds: float,
    tell: Callable[[int, int], None] | None,
) -> None:
    """Runs the cells of a course on a Ray cluster, and keeps what comes of them."""
    is_own = not ray.is_initialized()
    if is_own:
        ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False)
    batches = _Batches(course, batch_seconds)
    running: dict[Any, list[Cell]] = {}
    cluster = _Cluster(jobs)
    results = _Results(folder, plan)
    try:
        while True:
            workers = cluster.workers()
            while len(running) < workers * (1 + WAITING) and (batch := batches.next(workers)):
                running[_submit(batch)] = batch
            if not running:
                return
            for task in _ended(list(running)):
                _take_in(task, running.pop(task), batches)
            if tell is not None:
                ran, kept, left = course.counts
                tell(ran + kept, ran + kept + left)
            results.write_if_due()
    finally:
        for task in running:
            ray.cancel(task, force=True)
        if is_own:
            ray.shutdown()


def _submit(batch: list[Cell]) -> Any:
    memory = WORKER_MEMORY + max(cell.memory for cell in batch)
    return run_cells.options(memory=memory).remote(batch)


def _ended(running: list[Any]) -> list[Any]:
    """All tasks that have ended, once one has; none after a while, so that a cluster that has grown is noticed."""
    first, others = ray.wait(running, timeout=LOOK)
    also = ray.wait(others, num_returns=len(others), timeout=0)[0] if others else []
    return first + also


def _take_in(task: Any, batch: list[Cell], batches: _Batches) -> None:
    """Keeps the results of a batch; one whose workers were lost again and again runs anew, cell by cell."""
    try:
        results: list[Done] = ray.get(task)
    except RayTaskError as error:
        raise SweepError(f"a worker cannot run {batch[0]!r}: {error.cause}") from error
    except RayError as error:
        if len(batch) == 1:
            raise SweepError(f"{1 + RETRIES} workers were lost over {batch[0]!r}; all other cells are kept") from error
        batches.alone.extend(batch)
        return
    for done in results:
        batches.times.add(done)
    batches.course.keep(results)


class _Cluster:
    """The number of workers that a cluster has room for; a cluster may grow."""

    def __init__(self, jobs: int | None) -> None:
        self.jobs = jobs
        self.seen = -math.inf
        self.cpus = 1

    def workers(self) -> int:
        if time.monotonic() - self.seen > LOOK:
            self.seen = time.monotonic()
            self.cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        return min(self.jobs or self.cpus, self.cpus)


class _Results:
    """Results that are written on the way, as far as they have come."""

    def __init__(self, folder: Folder, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.next = time.monotonic() + WRITE

    def write_if_due(self) -> None:
        """Writes all results where it is time to. That takes a twentieth of the time at most."""
        begun = time.monotonic()
        if begun < self.next:
            return
        self.folder.write_results(self.plan)
        took = time.monotonic() - begun
        self.next = time.monotonic() + max(WRITE, 20 * took)
