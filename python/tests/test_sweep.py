"""Sweeps: cells as values, the folder, the same results by every engine, and a Ray cluster that loses a worker."""

import os
import pickle
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest

import order9 as o9

#: 4 points and 8 cells of some 10 ms.
PLAN = """
workload = "hugealloc"
machine = "desktop-8g"
node_memory = "256M"
policies = ["linux-6.18", "order9"]
seeds = 2
[parameters]
size = "64M"
[axes.settings]
vm.compaction_proactiveness = [0, 60]
"""

#: The same with a stop rule.
UNTIL = PLAN.replace("seeds = 2", "") + '[until]\nmeasure = "alloc p95"\ninterval = "10%"\nseeds = [2, 4]\n'


@pytest.fixture(scope="module")
def plan() -> o9.Plan:
    return o9.Plan.parse(PLAN)


def test_a_plan_is_cells(plan: o9.Plan) -> None:
    assert plan.points == 4 and len(plan.cells()) == 8
    assert plan.axes["policy"] == ["linux-6.18", "order9"]
    assert plan.axes["vm.compaction_proactiveness"] == [0, 60]
    one = plan.cells({"policy": "order9", "vm.compaction_proactiveness": 60}, seeds=[7])
    assert [(cell.seed, cell.labels["policy"]) for cell in one] == [(7, "order9")]
    assert one[0].memory > 0
    with pytest.raises(ValueError, match="no axis is called 'polcy'; did you mean policy"):
        plan.cells({"polcy": "order9"})
    with pytest.raises(ValueError, match="policy never is linux-5.0, expected linux-6.18, order9"):
        plan.cells({"policy": "linux-5.0"})
    with pytest.raises(o9.SweepError, match="line 2: no workload is called 'hugealoc'"):
        o9.Plan.parse(PLAN.replace("hugealloc", "hugealoc"))


def test_cells_and_results_can_be_sent(plan: o9.Plan) -> None:
    cell = plan.cells()[0]
    assert pickle.loads(pickle.dumps(cell)) == cell
    done = cell.run()
    again = pickle.loads(pickle.dumps(done))
    assert again == done and again.elapsed_ns == done.elapsed_ns
    assert done.end == "completed" and done.digest is not None
    p95 = done.value("alloc", "p95")
    assert p95 is not None and ("alloc", "p95", p95, "nanos") in done.measures()
    assert done.value("no such operation", "p95") is None
    with pytest.raises(ValueError, match="expected one of count, mean, p50"):
        done.value("alloc", "p96")
    with pytest.raises(o9.SweepError, match="this is no cell of order9"):
        o9.Cell.from_json("{}", 0)
    with pytest.raises(o9.SweepError, match="this is no result of a cell"):
        o9.Done.from_json("[]")


def test_a_cell_of_another_order9_is_refused(plan: o9.Plan) -> None:
    cell = plan.cells()[0]
    changed = cell.json().replace('"settings":[[', '"settings":[["vm.swappiness","1"],[', 1)
    assert changed != cell.json()
    foreign = o9.Cell.from_json(changed, cell.memory)
    with pytest.raises(o9.SweepError, match="cell"):
        foreign.run()


def test_a_sweep_goes_on_and_is_queried(plan: o9.Plan, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    first = o9.sweep(plan, tmp_path / "sweep", progress=lambda ended, total: told.append((ended, total)))
    assert (first.ran, first.kept, first.summary.completed) == (8, 0, 8)
    assert told[-1] == (8, 8)
    again = o9.sweep(plan, tmp_path / "sweep", progress=False)
    assert (again.ran, again.kept, again.digest) == (0, 8, first.digest)
    stalls = first.scan().filter(operation="compact_stall").collect()
    assert len(stalls) == 8 and set(stalls["policy"]) == {"linux-6.18", "order9"}
    assert "alloc" in str(first)


def test_parts_are_merged(plan: o9.Plan, tmp_path: Path) -> None:
    whole = o9.sweep(plan, tmp_path / "whole", progress=False)
    for policy in ("linux-6.18", "order9"):
        with o9.Folder(tmp_path / policy) as part:
            for cell in plan.cells({"policy": policy}):
                part.run(cell)
    merged = o9.merge([tmp_path / "linux-6.18", tmp_path / "order9"], tmp_path / "merged")
    assert (merged.ran, merged.kept, merged.digest) == (0, 8, whole.digest)
    waits = merged.scan().filter(operation="p95", statistic="run").collect()
    assert len(waits) == 8 and set(waits["unit"]) == {"nanos"}
    with pytest.raises(o9.SweepError):
        o9.merge([tmp_path / "absent"], tmp_path / "nothing")


def test_ctrl_c_keeps_what_has_ended(plan: o9.Plan, tmp_path: Path) -> None:
    def interrupt(ended: int, total: int) -> None:
        if 0 < ended < total:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(o9.Interrupted, match="cells are kept; the same call goes on"):
        o9.sweep(o9.Plan.parse(PLAN.replace("seeds = 2", "seeds = 20")), tmp_path / "sweep", progress=interrupt)
    kept = len(list((tmp_path / "sweep" / "cells").glob("*/*.cell")))
    again = o9.sweep(plan, tmp_path / "sweep", progress=False)
    assert 0 < again.kept <= kept and again.ran + again.kept == 8


def test_a_folder_has_one_user(plan: o9.Plan, tmp_path: Path) -> None:
    with o9.Folder(tmp_path / "sweep") as folder:
        with pytest.raises(o9.SweepError, match="works in"):
            o9.Folder(tmp_path / "sweep")
        cell = plan.cells()[0]
        assert folder.get(cell) is None
        assert folder.run(cell) == folder.get(cell)
    with pytest.raises(o9.SweepError, match="closed"):
        folder.get(cell)


def test_engines_of_python_run_cells(plan: o9.Plan, tmp_path: Path) -> None:
    here = o9.sweep(plan, tmp_path / "here", progress=False)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool, o9.Folder(tmp_path / "pool") as folder:
        for done in pool.map(o9.Cell.run, plan.cells()):
            folder.keep(done)
        assert folder.write_results(plan).digest == here.digest


def test_a_course_follows_the_stop_rule(tmp_path: Path) -> None:
    plan = o9.Plan.parse(UNTIL)
    here = o9.sweep(plan, tmp_path / "here", progress=False)
    with o9.Folder(tmp_path / "course") as folder:
        course = o9.Course(plan, folder)
        while cell := course.take():
            done = cell.run()
            course.keep([done])
            course.keep([done])
        ran, kept, left = course.counts
        assert (ran, kept, left) == (here.summary.cells, 0, 0)
        assert folder.write_results(plan).digest == here.digest
    with o9.Folder(tmp_path / "here") as folder:
        kept_cells = [one for cell in plan.cells() if (one := folder.get(cell))]
        further = plan.further(kept_cells)
    assert all(cell.seed == 3 for cell in further)


def test_an_objective_of_optuna_runs_cells(plan: o9.Plan, tmp_path: Path) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with o9.Folder(tmp_path / "search") as folder:

        def objective(trial: optuna.Trial) -> float:
            at = {axis: trial.suggest_categorical(axis, values) for axis, values in plan.axes.items() if len(values) > 1}
            found = [folder.run(cell).value("alloc", "p95") for cell in plan.cells(at)]
            return sum(value for value in found if value is not None) / len(found)

        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
        study.optimize(objective, n_trials=6)
        cells = len(folder.cells(plan))
    assert 2 <= cells <= 8, "cells that come again are taken from the folder"
    assert study.best_value > 0


#: 12 cells of a quarter of a second and more.
LONG = PLAN.replace('node_memory = "256M"\n', "").replace('size = "64M"', 'size = "2G"').replace("seeds = 2", "seeds = 3")


def _kill_a_worker(killed: list[int]) -> None:
    """Kills the first worker process of Ray that runs cells."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for status in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if status.read_bytes().startswith(b"ray::run_cells"):
                    killed.append(int(status.parent.name))
                    os.kill(killed[-1], signal.SIGKILL)
                    return
            except OSError:
                continue
        time.sleep(0.02)


def test_ray_loses_a_worker_and_no_cell(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    plan = o9.Plan.parse(LONG)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    killed: list[int] = []
    killer = threading.Thread(target=_kill_a_worker, args=(killed,))
    killer.start()
    told: list[tuple[int, int]] = []
    try:
        swept = o9.sweep(
            plan, tmp_path / "ray", backend="ray", progress=lambda ended, total: told.append((ended, total))
        )
    finally:
        ray.shutdown()
        killer.join()
    assert killed, "no worker was there to be killed"
    assert (swept.ran, swept.kept, swept.summary.completed) == (12, 0, 12)
    assert told[-1] == (12, 12)
    names = [path.name for path in (tmp_path / "ray" / "cells").glob("*/*.cell")]
    assert len(names) == len(set(names)) == 12
    figures = pl.read_parquet(tmp_path / "ray" / "results", hive_partitioning=True)
    assert figures.filter(operation="alloc", statistic="p95").height == 12
    # Whoever runs them, cells give the same.
    assert o9.sweep(plan, tmp_path / "here", progress=False).digest == swept.digest
