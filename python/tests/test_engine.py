"""The engine by hand."""

import pytest

import order9 as o9

np = pytest.importorskip("numpy")
MOVABLE = "__GFP_MOVABLE|__GFP_HIGHMEM"


def test_compaction_makes_huge_pages_of_fragments() -> None:
    mm = o9.Engine("256M", "linux-6.18")
    pages = mm.alloc_many(mm.free_pages, gfp=MOVABLE)
    assert len(pages) == len(np.unique(pages)) > 40_000
    assert mm.free_many(pages[::2]) == len(pages[::2])
    before = sum(mm.free_counts()[9:])
    moved = mm.compact()
    assert sum(mm.free_counts()[9:]) > before + 20
    pairs = mm.moved()
    assert len(pairs) == moved > 0 and mm.moved() == []
    huge = mm.alloc(order=9, gfp="GFP_TRANSHUGE")
    assert huge % 512 == 0
    mm.free(huge)
    # A page that moved is freed by its new frame.
    places = dict(zip(pages[1::2].tolist(), pages[1::2].tolist()))
    places.update((origin, to) for origin, to in pairs)
    mm.free_many(list(places.values()))
    mm.check()


def test_a_refusal_says_why() -> None:
    mm = o9.Engine("256M")
    with pytest.raises(ValueError, match="order=11: expected an order from 0 to 10"):
        mm.alloc(order=11)
    with pytest.raises(ValueError, match='no flag is called "GFP_FAST"'):
        mm.alloc(gfp="GFP_FAST")
    with pytest.raises(o9.AllocError):
        mm.alloc(node=3)
    with pytest.raises(o9.FreeError):
        mm.free(7)
    mm.alloc_many(10**6, order=9)
    with pytest.raises(o9.AllocError):
        mm.alloc(order=9, gfp="__GFP_NORETRY")
    with pytest.raises(o9.PolicyError, match="linux-6.81"):
        o9.Engine("256M", "linux-6.81")
    with pytest.raises(o9.MachineError, match="desktop-9g"):
        o9.Engine("desktop-9g")


def test_files_and_settings_are_those_of_linux() -> None:
    mm = o9.Engine("desktop-8g", o9.Policy("linux-6.18"))
    assert mm.buddyinfo().startswith("Node 0, zone      DMA")
    assert mm.vmstat()["nr_free_pages"] >= mm.free_pages
    mm.set("vm.min_free_kbytes", 65536)
    assert mm.get("vm.min_free_kbytes").strip() == "65536"
    with pytest.raises(o9.ScenarioError):
        mm.set("vm.min_free_kbytes", "many")


def test_an_engine_starts_from_a_snapshot_and_becomes_one() -> None:
    host = o9.Snapshot.synth("512M", fill=0.6, seed=5)
    mm = o9.Engine(host, "order9")
    before = mm.snapshot().inspect().free_huge_pages
    mm.compact()
    mm.check()
    assert mm.snapshot().inspect().free_huge_pages > before
    assert "<svg" in mm._repr_svg_() and len(mm.map()) > 0


def test_a_policy_is_its_name_and_changes() -> None:
    policy = o9.Policy("linux-6.18").with_(**{"alloc.pack_movable": True})
    assert str(policy) == policy.name == "linux-6.18+alloc.pack_movable=true"
    assert policy != o9.Policy("linux-6.18") and policy.switches()["alloc.pack_movable"] == "true"
    assert "alloc.pack_movable" in o9.Policy("linux-6.18").diff(policy)
    with pytest.raises(o9.PolicyError, match="alloc.pack_movabl"):
        policy.with_(**{"alloc.pack_movabl": True})
    assert "order9" in o9.policies() and "desktop-8g" in o9.machines()
    assert "hugealloc" in o9.workloads() and "000-hugealloc-latency" in o9.claims()
