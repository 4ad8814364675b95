"""What Ray adds to a sweep on this machine, and how that would go on with more workers.

::

    python python/benches/ray_schedule.py [SECONDS_OF_A_CELL ...]

Runs a sweep by the lab's own threads and by Ray, both with two at a time, and compares the time that passes with the CPU time
of its cells. The two take turns: a virtual machine can be half as fast again from one minute to the next. Then simulates the schedule of larger clusters: one process hands out batches and keeps results, one at a time,
with the times for that measured here; workers run cells of a length that varies as it did here.
"""

import heapq
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray

import order9 as o9
from order9 import _ray

PLAN = """
workload = "hugealloc"
machine = "desktop-8g"
policies = ["linux-6.1", "linux-6.18", "order9"]
seeds = 8
[parameters]
size = "4G"
[axes.settings]
vm.compaction_proactiveness = [0, 60]
"""

#: Turns of threads and Ray.
ROUNDS = 5
#: Workers of the simulated clusters.
CLUSTERS = [2, 16, 64, 256, 1000]
#: Cells for each worker of a simulated cluster, in seconds of work.
WORK = 60.0


class Watch:
    """Time that this process spends in parts of the schedule, by part: seconds, and number of times."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.times.setdefault(name, []).append(time.perf_counter() - begun)

        return watched


def swept(plan: o9.Plan, backend: Any) -> tuple[float, list[o9.Done]]:
    """Seconds that a sweep takes, and its cells."""
    with tempfile.TemporaryDirectory() as place:
        begun = time.perf_counter()
        o9.sweep(plan, Path(place) / "sweep", backend=backend, jobs=2, progress=False)
        took = time.perf_counter() - begun
        with o9.Folder(Path(place) / "sweep") as folder:
            return took, folder.cells(plan)


def simulated(workers: int, cell: float, spread: list[float], per_batch: float, per_cell: float, worker: float) -> float:
    """Share of the time of workers that goes into cells."""
    chance = random.Random(1)
    left = max(1, round(workers * WORK / cell))
    total = 0.0
    driver = 0.0
    free: list[float] = []
    running: list[tuple[float, int, float, int]] = []
    number = 0

    def submit(ready_at: float) -> bool:
        nonlocal left, driver, total, number
        if left == 0:
            return False
        size = max(1, min(left, -(-left // (2 * workers)), round(1.0 / cell)))
        left -= size
        work = sum(cell * chance.choice(spread) for _ in range(size))
        total += work
        driver = max(driver, ready_at) + per_batch / 2
        number += 1
        # A worker that has nothing waits for the driver; one with a batch that waits does not.
        begin = max(driver, heapq.heappop(free))
        end = begin + worker + work
        heapq.heappush(free, end)
        heapq.heappush(running, (end, number, work, size))
        return True

    for _ in range(workers):
        heapq.heappush(free, 0.0)
    for _ in range(2 * workers):
        submit(0.0)
    last = 0.0
    while running:
        end, _, _, size = heapq.heappop(running)
        last = max(last, end)
        driver = max(driver, end) + per_batch / 2 + per_cell * size
        submit(driver)
    return total / (workers * max(last, driver))


def main() -> None:
    plan = o9.Plan.parse(PLAN)
    cells = len(plan.cells())
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    watch = Watch()
    _ray._submit = watch.around("submit", _ray._submit)
    _ray._take_in = watch.around("take in", _ray._take_in)
    _ray._Batches.next = watch.around("next", _ray._Batches.next)  # type: ignore[method-assign]
    for backend in ("local", "ray"):
        swept(o9.Plan.parse(PLAN.replace("seeds = 8", "seeds = 1")), backend)
    watch.times.clear()
    turns = [(swept(plan, "local"), swept(plan, "ray")) for _ in range(ROUNDS)]
    ray.shutdown()
    print(f"{cells} cells, two at a time, {ROUNDS} turns")
    for name, of in (("threads", [local for local, _ in turns]), ("Ray", [other for _, other in turns])):
        shares = [sum(cell.cpu_ns for cell in done) / 2e9 / took for took, done in of]
        seconds = ", ".join(f"{took:.1f}" for took, _ in of)
        print(f"  {name:8} {statistics.median(shares):.0%} of ideal for its cells; {seconds} s")
    ratios = [local / other for (local, _), (other, _) in turns]
    print(f"  Ray against threads: {statistics.median(ratios):.0%} ({', '.join(f'{ratio:.0%}' for ratio in ratios)})")
    took_ray = sum(took for _, (took, _) in turns)
    of_ray = [cell for _, (_, done) in turns for cell in done]

    batches = len(watch.times["submit"])
    per_batch = (sum(watch.times["submit"]) + sum(watch.times["next"])) / batches
    per_cell = sum(watch.times["take in"]) / len(of_ray)
    worker = max(0.0, (took_ray - sum(cell.elapsed_ns for cell in of_ray) / 1e9 / 2) * 2 / batches)
    print(
        f"this process: {1e3 * per_batch:.2f} ms for a batch, {1e3 * per_cell:.2f} ms for a cell;"
        f" a worker: at most {1e3 * worker:.0f} ms for a batch, of {batches}"
    )
    mean = statistics.mean(cell.elapsed_ns for cell in of_ray)
    spread = [cell.elapsed_ns / mean for cell in of_ray]
    lengths = [float(text) for text in sys.argv[1:]] or [0.1, 0.5, 2.0, 10.0]
    print("share of all workers' time that goes into cells, simulated:")
    print("  workers " + "".join(f"{length:>10.3g} s" for length in lengths) + "  for a cell")
    for workers in CLUSTERS:
        shares = [simulated(workers, length, spread, per_batch, per_cell, worker) for length in lengths]
        print(f"  {workers:7} " + "".join(f"{share:>11.0%} " for share in shares))


if __name__ == "__main__":
    main()
