"""A workload of one's own: a service that grows and shrinks beside a batch job that wants huge pages."""

import random
from collections.abc import Generator
from typing import Any

import order9 as o9


@o9.workload(better={"huge": "higher"})
def batch_beside_service(sys: o9.Sys, service: str = "256M", batch: str = "64M") -> Generator[Any, Any, None]:
    dice = random.Random(sys.seed("service"))
    area: o9.Area = yield sys.mmap(service)
    yield sys.touch(area)
    sys.phase("churn")
    for _ in range(200):
        page = dice.randrange(area.pages)
        yield sys.madvise(area.part(page * 4096, 4096), "dontneed")
    sys.phase("batch")
    child = yield sys.spawn(huge_pages, batch, kind="process")
    yield sys.wait(child)


async def huge_pages(sys: o9.Sys, size: str) -> None:
    area = await sys.mmap(size)
    await sys.madvise(area, "hugepage")
    begin = sys.now()
    await sys.touch(area)
    sys.sample("batch", sys.now() - begin)


def main() -> None:
    run = o9.run(batch_beside_service, machine="desktop-8g", policy=["linux-6.18", "order9"], seeds=2, progress=False)
    print(run.compare())
    print(run.digest)


if __name__ == "__main__":
    main()
