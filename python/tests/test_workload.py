"""Workloads in Python."""

import errno
import random
import tomllib
from collections.abc import Generator
from typing import Any

import pytest

import order9 as o9

Calls = Generator[Any, Any, None]


def go(workload: o9.Workload, **words: Any) -> o9.Run:
    return o9.run(workload, progress=False, **{"machine": "desktop-8g", "seeds": 1, **words})


@o9.workload
def touches(sys: o9.Sys, size: str = "64M") -> Calls:
    """Maps memory and touches it."""
    sys.phase("touch")
    area = yield sys.mmap(size)
    for _ in range(3):
        begin = sys.now()
        yield sys.touch(area)
        sys.sample("touch", sys.now() - begin)
    sys.count("resident", (yield sys.mincore(area)))
    sys.snapshot("end")
    yield sys.munmap(area)


@o9.workload(name="touches")
async def awaits(sys: o9.Sys, size: str = "64M") -> None:
    sys.phase("touch")
    area = await sys.mmap(size)
    for _ in range(3):
        begin = sys.now()
        await sys.touch(area)
        sys.sample("touch", sys.now() - begin)
    sys.count("resident", await sys.mincore(area))
    sys.snapshot("end")
    await sys.munmap(area)


def test_generators_and_coroutines_are_one_and_the_same_program() -> None:
    run = go(touches, policy=["linux-6.18", "order9"], seeds=2)
    assert go(awaits, policy=["linux-6.18", "order9"], seeds=2, jobs=2).digest == run.digest
    assert run.operations == ["touch", "resident"] and run.snapshots == ["end"] and not run.failures
    assert set(run.samples("resident").to_pydict()["value"]) == {64 * 256.0}
    assert "touch" in run.compare().text()
    assert set(go(touches(size="1M")).samples("resident").to_pydict()["value"]) == {256.0}
    assert set(go(touches, params={"size": "1M"}).samples("resident").to_pydict()["value"]) == {256.0}


def test_a_run_in_python_is_stored_and_read_back(tmp_path: Any) -> None:
    worse = o9.workload(better={"resident": "lower"})(touches.body)
    run = go(worse(size="32M"), params={"size": "16M"})
    run.save(tmp_path / "run")
    again = o9.open_run(tmp_path / "run")
    assert again.compare().text() == run.compare().text()
    with (tmp_path / "run/manifest.toml").open("rb") as file:
        workload = tomllib.load(file)["inputs"]["workload"]
    assert workload == {"name": "touches", "parameters": {"size": "16M"}, "better": {"resident": "lower"}}
    run.report(tmp_path / "page.html")


def test_seeds_decide_random_streams() -> None:
    @o9.workload
    def dice(sys: o9.Sys) -> Calls:
        sys.count("die", random.Random(sys.seed("die")).randrange(1 << 30))
        yield sys.sleep("1ms")

    values = [go(dice, seeds=3).samples("die").to_pydict()["value"] for _ in range(2)]
    assert values[0] == values[1] and len(set(values[0])) == 3


def test_several_calls_are_made_at_once() -> None:
    @o9.workload
    def batch(sys: o9.Sys) -> Calls:
        one, two = yield [sys.mmap("2M"), sys.mmap("4M")]
        yield [sys.touch(one), sys.touch(two), sys.munmap(one)]
        sys.count("pages", (yield sys.mincore(two)))

    assert go(batch).samples("pages").to_pydict()["value"] == [1024.0]


def test_children_run_beside_their_parent() -> None:
    @o9.workload
    def parent(sys: o9.Sys) -> Calls:
        children = []
        for size in ("1M", "2M"):
            children.append((yield sys.spawn(child, size, kind="process")))
        for started in children:
            user, system = yield sys.wait(started)
            assert user + system > 0

    def child(sys: o9.Sys, size: str) -> Calls:
        area = yield sys.mmap(size)
        yield sys.touch(area)
        sys.count("touched", area.pages)

    assert sorted(go(parent).samples("touched").to_pydict()["value"]) == [256.0, 512.0]


def test_a_node_is_reclaimed_on_request() -> None:
    @o9.workload
    def administrator(sys: o9.Sys) -> Calls:
        file = yield sys.create_file("64M")
        yield sys.fsync(file)
        sys.count("whole", int((yield sys.reclaim(0, "16M", swappiness=0))))
        sys.count("whole", int((yield sys.reclaim(0, "512M", swappiness=0))))

    run = go(administrator, machine="guest-disk", policy="linux-6.18")
    assert run.samples("whole").to_pydict()["value"] == [1.0, 0.0]
    assert go(administrator, machine="guest-disk", policy="linux-6.12").failures == [
        "linux-6.12, seed 1: write failed with ENOENT"
    ]


def test_a_refusal_is_an_oserror_where_it_was_asked_for() -> None:
    caught = []

    @o9.workload
    def catches(sys: o9.Sys) -> Calls:
        area = yield sys.mmap("1M")
        yield sys.munmap(area)
        try:
            yield sys.unpin(area)
        except o9.Refused as refused:
            caught.append((refused.errno, str(refused)))
        yield sys.sleep(1000)

    assert not go(catches).failures
    assert caught[0][0] == errno.EINVAL and "unpin_user_pages failed with EINVAL" in caught[0][1]

    @o9.workload
    def lets_go(sys: o9.Sys) -> Calls:
        area = yield sys.mmap("1M")
        yield sys.unpin(area)

    assert go(lets_go).failures == ["linux-6.18, seed 1: unpin_user_pages failed with EINVAL"]


def test_an_exception_of_the_workload_is_that_of_the_run() -> None:
    @o9.workload
    def fails(sys: o9.Sys) -> Calls:
        yield sys.mmap("1M")
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        go(fails)

    @o9.workload
    def forgets(sys: o9.Sys) -> Calls:
        yield 7

    with pytest.raises(TypeError, match="a workload yields system calls of its sys, or lists of them: got 7"):
        go(forgets)


def test_memory_that_ends_kills_the_program() -> None:
    closed = []

    @o9.workload
    def hog(sys: o9.Sys) -> Calls:
        try:
            while True:
                area = yield sys.mmap("1G")
                yield sys.touch(area)
        finally:
            closed.append(True)

    failures = go(hog, machine=o9.Snapshot.synth("256M", fill=0.5)).failures
    assert len(failures) == 1 and "memory" in failures[0] and closed == [True]


def test_a_sys_ends_with_its_program() -> None:
    kept = []

    @o9.workload
    def keeps(sys: o9.Sys) -> Calls:
        kept.append(sys)
        yield sys.sleep("1ms")

    go(keeps)
    with pytest.raises(RuntimeError, match="does not run any more"):
        kept[0].now()


def test_nodes_and_tmpfs_are_those_of_the_machine() -> None:
    @o9.workload
    def places(sys: o9.Sys) -> Calls:
        area = yield sys.mmap("8M")
        yield sys.mbind(area, "bind:1")
        yield sys.touch(area)
        sys.count("node", (yield sys.page_node(area)))
        assert (yield sys.get_mempolicy(area)) == "bind:1" and (yield sys.get_mempolicy()) == "default"
        assert (yield sys.migrate_pages([1], [0])) == 0
        sys.count("moved to", (yield sys.page_node(area)))
        assert sys.mems_allowed() == [0, 1] and "bind:1" in sys.numa_maps() and len(sys.numastat()) == 2
        yield sys.set_mems([0])
        assert sys.mems_allowed() == [0]
        mount = yield sys.mount_tmpfs("huge=never,size=16M")
        file = yield sys.create_on(mount)
        yield sys.fallocate(file, 0, "4M")
        assert (yield sys.statfs(mount)) == (4096, 3072)
        yield sys.punch_hole(file, 0, "1M")
        assert (yield sys.statfs(mount)) == (4096, 3328)
        with pytest.raises(ValueError, match="numbers up to 63"):
            sys.set_mems([64])

    run = go(places, machine="xeon-2s", policy="linux-6.18")
    assert not run.failures
    values = {name: run.samples(name).to_pydict()["value"] for name in ("node", "moved to")}
    assert values == {"node": [1.0], "moved to": [0.0]}


def test_a_process_says_how_soon_it_is_killed() -> None:
    @o9.workload
    def small(sys: o9.Sys) -> Calls:
        yield sys.set_oom_score_adj(-1000)
        with pytest.raises(ValueError, match="adj=2000 is not between -1000 and 1000"):
            sys.set_oom_score_adj(2000)

    assert not go(small).failures
