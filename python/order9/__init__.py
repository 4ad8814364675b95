"""Linux' memory management for huge pages: the engine, the lab and snapshots of hosts.

::

    import order9 as o9

    snap = o9.Snapshot.synth("4G", fill=0.7)
    run = o9.run("hugealloc", machine=snap, policy=["linux-6.18", "order9"], seeds=3)
    print(run.compare())

docs/python.md of the repository describes all of it.
"""

from ._frames import attach as _attach
from ._order9 import (
    AllocError,
    Area,
    Call,
    CaptureError,
    Cell,
    Child,
    ClaimError,
    Comparison,
    Course,
    Done,
    Engine,
    Error,
    Folder,
    FreeError,
    Inspection,
    Interrupted,
    KernelMemory,
    LawBroken,
    Loads,
    MachineError,
    Map,
    Picture,
    Plan,
    PlanError,
    PlotError,
    Policy,
    PolicyError,
    RecordError,
    Refused,
    Run,
    ScenarioError,
    Snapshot,
    SnapshotError,
    SweepError,
    SweepSummary,
    Sys,
    Table,
    Verdicts,
    __version__,
    claims,
    machines,
    open_run,
    policies,
    run_cells,
    workloads,
)
from ._run import run
from ._sweep import Sweep, merge, sweep
from ._workload import Workload, workload

_attach()

__all__ = [
    "AllocError",
    "Area",
    "Call",
    "CaptureError",
    "Cell",
    "Child",
    "ClaimError",
    "Comparison",
    "Course",
    "Done",
    "Engine",
    "Error",
    "Folder",
    "FreeError",
    "Inspection",
    "Interrupted",
    "KernelMemory",
    "LawBroken",
    "Loads",
    "MachineError",
    "Map",
    "Picture",
    "Plan",
    "PlanError",
    "PlotError",
    "Policy",
    "PolicyError",
    "RecordError",
    "Refused",
    "Run",
    "ScenarioError",
    "Snapshot",
    "SnapshotError",
    "Sweep",
    "SweepError",
    "SweepSummary",
    "Sys",
    "Table",
    "Verdicts",
    "Workload",
    "__version__",
    "claims",
    "machines",
    "merge",
    "open_run",
    "policies",
    "run",
    "run_cells",
    "sweep",
    "workload",
    "workloads",
]
