"""Experiments: runs, what came of them, refusals, and Ctrl-C."""

import _thread
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import order9 as o9


def test_the_same_words_give_the_same_results(run: o9.Run) -> None:
    again = o9.run(
        "hugealloc",
        machine="desktop-8g",
        policy=[o9.Policy("linux-6.18"), o9.Policy("order9")],
        seeds=2,
        params={"size": "1G"},
        jobs=1,
        progress=False,
    )
    assert again.digest == run.digest
    assert len(run) == 4 and run.policies == ["linux-6.18", "order9"] and not run.failures


def test_tables_go_to_others_without_a_copy(run: o9.Run) -> None:
    rows = run.samples("alloc")
    assert rows.column_names == ["policy", "seed", "operation", "at_ns", "value", "unit"]
    columns = rows.to_pydict()
    assert len(rows) == len(columns["value"]) > 0 and set(columns["operation"]) == {"alloc"}
    pa = pytest.importorskip("pyarrow")
    assert pa.table(rows).num_rows == len(rows)
    pl = pytest.importorskip("polars")
    assert pl.DataFrame(rows)["value"].to_list() == columns["value"]
    pd = pytest.importorskip("pandas")
    assert isinstance(rows.to_pandas(), pd.DataFrame)
    duckdb = pytest.importorskip("duckdb")
    samples = rows.to_arrow()
    assert samples.num_rows == duckdb.sql("select count(*) from samples").fetchall()[0][0]
    assert duckdb.sql("select count(*) from samples where operation = 'alloc'").fetchall() == [(len(rows),)]


def test_counters_and_growth_agree(run: o9.Run) -> None:
    rows = run.counters("pgalloc_normal").to_pydict()
    assert set(rows["counter"]) == {"pgalloc_normal"} and set(rows["policy"]) == set(run.policies)
    assert set(run.growth("pgalloc_normal")) == {(policy, seed) for policy in run.policies for seed in (1, 2)}


def test_a_comparison_is_text_tables_and_objects(run: o9.Run) -> None:
    comparison = run.compare()
    assert "linux-6.18" in comparison.text() and "order9 against linux-6.18" in comparison.text()
    assert comparison.json()["tables"] and "<table>" in comparison._repr_html_()
    assert comparison.markdown().startswith("#") or "|" in comparison.markdown()
    assert "<svg" in run._repr_html_() and run.digest in run._repr_html_()
    assert "<svg" in run.cdf("alloc").svg() and "<svg" in run.plot("nr_free_pages").svg()


def test_memory_that_a_run_kept_is_a_snapshot(run: o9.Run) -> None:
    assert run.snapshots == ["allocated", "fragmented"]
    snapshot = run.snapshot("fragmented", policy="order9", seed=2)
    assert snapshot.inspect().present_pages > 0 and len(run.map("fragmented")) > 0
    with pytest.raises(o9.RecordError, match="no run has kept end of linux-6.18, seed 1: there are allocated, fragmented"):
        run.snapshot("end")


def test_verdicts_are_those_of_the_claim(run: o9.Run) -> None:
    verdicts = run.verdicts("000-hugealloc-latency")
    assert verdicts.hold + verdicts.fail + verdicts.not_measured == len(verdicts) > 0
    assert verdicts.claim in repr(verdicts) and verdicts.headline
    with pytest.raises(o9.ClaimError, match="no claim is called '000-hugealloc'"):
        run.verdicts("000-hugealloc")
    with pytest.raises(o9.ClaimError, match="the claim is about the workload"):
        run.verdicts("002-usemem")


def test_a_run_is_stored_and_read_back(run: o9.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run")
    read = o9.open_run(tmp_path / "run")
    assert read.digest == run.digest and read.snapshots == run.snapshots
    assert read.compare().text() == run.compare().text()
    with pytest.raises(o9.RecordError):
        run.save(tmp_path / "run")
    run.save(tmp_path / "run", force=True)
    run.report(tmp_path / "page.html", claims=["000-hugealloc-latency"])
    assert "<!doctype html>" in (tmp_path / "page.html").read_text()[:40].lower()
    (tmp_path / "plain").touch()
    assert (tmp_path / "page.html").stat().st_mode == (tmp_path / "plain").stat().st_mode, "others may read it as any new file"
    (tmp_path / "plain").unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "run"]


def test_a_snapshot_is_a_machine() -> None:
    host = o9.Snapshot.synth("512M", fill=0.5, seed=1)
    found = o9.run("map-and-write", machine=host, params={"size": "32M"}, seeds=1, set={"vm.min_free_kbytes": 8192}, progress=False)
    assert not found.failures and found.inputs["memory"]["start"] == "snapshot"
    assert ["vm.min_free_kbytes", "8192"] in found.inputs["settings"]


@pytest.mark.parametrize(
    ("wish", "error", "message"),
    [
        ({"workload": "hugalloc"}, o9.ScenarioError, "no workload is called 'hugalloc'; did you mean hugealloc"),
        ({"policy": "linux-6.81"}, o9.ScenarioError, "--policy linux-6.81"),
        ({"machine": "desktop-9g"}, o9.ScenarioError, "desktop-9g"),
        ({"set": {"vm.swapines": 1}}, o9.ScenarioError, "no setting is called 'vm.swapines'; did you mean vm.swappiness"),
        ({"params": {"sise": "1G"}}, o9.ScenarioError, "hugealloc has no parameter sise; did you mean size"),
        ({"seeds": "many"}, o9.ScenarioError, "--seeds many"),
        ({"jobs": 0}, ValueError, "jobs=0"),
    ],
)
def test_refusals_are_those_of_the_command_line(wish: dict[str, object], error: type[Exception], message: str) -> None:
    words = {"workload": "hugealloc", "machine": "desktop-8g", "progress": False, **wish}
    with pytest.raises(error) as refused:
        o9.run(**words)  # type: ignore[arg-type]
    assert message in str(refused.value)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    o9.run("idle", machine="desktop-8g", seeds=3, progress=lambda ended, total: told.append((ended, total)))
    assert told[-1] == (3, 3) and told == sorted(told)


LONG = """
import order9 as o9, sys, time
print("ready", flush=True)
begin = time.monotonic()
try:
    o9.run("usemem", machine="xeon-1s", seeds=2, jobs=1, progress=False)
except o9.Interrupted as stopped:
    print("interrupted", stopped, stopped.run, flush=True)
except KeyboardInterrupt:
    print("plain", flush=True)
"""


def test_ctrl_c_ends_a_run() -> None:
    import signal

    child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert out == "interrupted 0 of 2 runs had ended None\n" and child.returncode == 0


def test_ctrl_c_leaves_what_is_finished() -> None:
    def stop_after_the_first(ended: int, total: int) -> None:
        if ended == 1:
            _thread.interrupt_main()

    with pytest.raises(o9.Interrupted) as stopped:
        o9.run("hugealloc", machine="desktop-8g", seeds=40, jobs=1, params={"size": "1G"}, progress=stop_after_the_first)
    finished = stopped.value.run
    assert finished is not None and 1 <= len(finished) < 40 and len(finished.samples("alloc")) > 0


def test_other_threads_of_python_go_on() -> None:
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    o9.run("hugealloc", machine="desktop-8g", seeds=1, params={"size": "1G"}, progress=False)
    stop.set()
    thread.join()
    assert ticks > 3
