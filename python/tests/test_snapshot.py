"""Snapshots: captured, opened, made up; what is said about them."""

from pathlib import Path

import pytest

import order9 as o9


def test_a_snapshot_comes_back_from_its_file(tmp_path: Path) -> None:
    made = o9.Snapshot.synth("1G", fill=0.5, seed=3)
    made.save(tmp_path / "made.o9snap")
    read = o9.Snapshot.open(tmp_path / "made.o9snap")
    assert read.inspect().json() == made.inspect().json()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.o9snap"]


def test_facts_are_attributes_rows_and_words(captures: Path) -> None:
    found = o9.Snapshot.open(captures / "fragmented-6.1.o9snap").inspect()
    total = found.json()["total"]
    assert found.recoverable_huge_pages == total["findings"]["by_moving"]["huge_pages"]
    assert found.free_pages == total["free"]
    zones = found.zones().to_pydict()
    assert sum(zones["present_pages"]) == found.present_pages
    assert sum(zones["free_huge_pages"]) == found.free_huge_pages
    assert "huge pages" in found.text() and repr(found)
    assert "<svg" in found._repr_html_()


def test_a_map_has_a_class_for_each_frame(captures: Path) -> None:
    np = pytest.importorskip("numpy")
    snapshot = o9.Snapshot.open(captures / "fragmented-6.1.o9snap")
    frames = snapshot.map()
    classes = frames.to_numpy()
    census = snapshot.inspect().json()["total"]["findings"]["census"]
    # The census tells apart by their number what no frame shows: reclaimable slab, and pages on lists of CPUs.
    for number, name in frames.classes.items():
        if name in census and name not in ("pcp", "unknown", "slab", "slab_reclaimable"):
            assert int(np.count_nonzero(classes == number)) == census[name], name
    assert frames.picture().svg() == frames._repr_svg_()


def test_what_is_no_snapshot_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.o9snap").write_bytes(b"no snapshot")
    with pytest.raises(o9.SnapshotError, match="no.o9snap"):
        o9.Snapshot.open(tmp_path / "no.o9snap")
    with pytest.raises(o9.SnapshotError, match="fill is 2: expected a share from 0 to 1"):
        o9.Snapshot.synth("1G", fill=2)
    with pytest.raises(o9.SnapshotError, match="has no fil"):
        o9.Snapshot.synth("1G", fil=0.5)  # type: ignore[call-arg]
    with pytest.raises(o9.SnapshotError, match="node 9: no such node, expected 0"):
        o9.Snapshot.synth("1G").inspect(node=9)
    with pytest.raises(o9.CaptureError):
        o9.Snapshot.capture(tmp_path / "nothing")


def test_this_host_is_captured_or_refused() -> None:
    try:
        snapshot = o9.Snapshot.capture(prices=False)
    except o9.CaptureError as refusal:
        pytest.skip(f"this host cannot be captured: {refusal}")
    assert snapshot.inspect().present_pages > 0
