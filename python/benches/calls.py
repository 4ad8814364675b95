"""Measures what docs/performance.md says of the Python package: `python python/benches/calls.py`, with the package installed.

Times are CPU time of the process, so that other programs disturb them less.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

import order9 as o9

CALLS = 300_000


def best(of: Callable[[], int], times: int = 5) -> float:
    """The least time of several attempts, in nanoseconds for each of CALLS."""
    return min(of() for _ in range(times)) / CALLS


def timed(body: Callable[[], None]) -> Callable[[], int]:
    def run() -> int:
        begin = time.process_time_ns()
        body()
        return time.process_time_ns() - begin

    return run


def engine() -> None:
    mm = o9.Engine("1G", "linux-6.18")

    def pairs() -> None:
        for _ in range(CALLS):
            mm.free(mm.alloc())

    def huge_pairs() -> None:
        for _ in range(CALLS):
            mm.free(mm.alloc(9, "GFP_TRANSHUGE"))

    def vectorised() -> None:
        for _ in range(10):
            mm.free_many(mm.alloc_many(CALLS // 10))

    print(f"alloc and free of order 0: {best(timed(pairs)):.0f} ns a pair, {best(timed(pairs)) / 2:.0f} ns a call")
    print(f"alloc and free of order 9: {best(timed(huge_pairs)):.0f} ns a pair")
    print(f"alloc_many and free_many of order 0: {best(timed(vectorised)):.0f} ns a pair")


def rate(what: str, begin: int, calls: int) -> None:
    print(f"{what}: {calls / (time.process_time_ns() - begin) * 1e3:.2f} million system calls a second")


@o9.workload
def yields(sys: o9.Sys) -> Generator[Any, Any, None]:
    area = yield sys.mmap(4096)
    yield sys.touch(area)
    begin = time.process_time_ns()
    for _ in range(CALLS):
        yield sys.touch(area)
    rate("a generator touches a page", begin, CALLS)
    begin = time.process_time_ns()
    for _ in range(CALLS // 2):
        fresh = yield sys.mmap(4096)
        yield sys.munmap(fresh)
    rate("a generator maps and unmaps", begin, CALLS)
    begin = time.process_time_ns()
    touches = [sys.touch(area)] * 100
    for _ in range(CALLS // 100):
        yield touches
    rate("a generator touches a page, in lists of 100", begin, CALLS)


@o9.workload
async def awaits(sys: o9.Sys) -> None:
    area = await sys.mmap(4096)
    await sys.touch(area)
    begin = time.process_time_ns()
    for _ in range(CALLS):
        await sys.touch(area)
    rate("a coroutine touches a page", begin, CALLS)


LONG = """
import time, order9 as o9
print("ready", flush=True)
try:
    o9.run("usemem", machine="xeon-1s", seeds=2, jobs=1, progress=False)
except o9.Interrupted:
    print(time.monotonic(), flush=True)
"""


def interruptions() -> None:
    times = []
    for _ in range(5):
        child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(1)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        times.append((float(child.stdout.readline()) - begin) * 1e3)
        child.wait()
    print(f"Ctrl-C until the exception: {sorted(times)[2]:.0f} ms, at most {max(times):.0f} ms")


if __name__ == "__main__":
    engine()
    for workload in (yields, awaits):
        o9.run(workload, machine="desktop-8g", seeds=1, progress=False)
    interruptions()
