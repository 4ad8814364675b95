//! [`Call`]: a system call that a workload yields, what it asks the machine, and what comes back.

use std::sync::Arc;

use order9_machine::Thread;
use order9_units::{Bytes, Nanos, NodeId, NodeMask};
use order9_workloads::{
    Access, AddressSpace as _, Administration as _, Advice, Area, ChildKind, DropCaches, FileId, Files as _,
    KernelAlloc, KernelAllocator, Mapping, MbindFlags, Mempolicy, Mount, Nodes as _, OomScoreAdj, PoolFile, Processes,
    Prot, Statfs, Stop, Tmpfs as _,
};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::area::{PyArea, PyLoads};
use crate::program::{Failures, drive};
use crate::sys::{StartedChild, TakenMemory};

/// A system call that was not made yet: `yield` or `await` it, or yield a list of several.
#[pyclass(frozen, module = "order9")]
pub(crate) struct Call(pub(crate) Asked);

#[pymethods]
impl Call {
    /// Makes the call from a coroutine.
    fn __await__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static AWAIT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = slf.py();
        let once = || Ok::<_, PyErr>(py.import("order9._await")?.getattr("once")?.unbind());
        AWAIT.get_or_try_init(py, once)?.bind(py).call1((slf,))
    }

    fn __repr__(&self) -> String {
        format!("<system call of a workload: {}; yield or await it>", self.0.name())
    }
}

/// The request of a system call.
pub(crate) enum Asked {
    Mmap(Mapping),
    Munmap(Area),
    Mprotect(Area, Prot),
    Mremap(Area, Bytes),
    Madvise(Area, Advice),
    Mlock(Area),
    Munlock(Area),
    Mincore(Area),
    Touch(Area, Access),
    Fill(Area),
    Load(Area, u64),
    Pin(Area),
    Unpin(Area),
    CreateFile(Bytes),
    Create,
    Open(FileId),
    Read(FileId, Bytes, Bytes),
    Write(FileId, Bytes, Bytes),
    Fsync(FileId),
    Sync,
    Close(FileId),
    RemoveFile(FileId),
    Sleep(Nanos),
    Compute(Nanos),
    SetAffinity(Vec<u32>),
    SetOomScoreAdj(OomScoreAdj),
    Spawn { kind: ChildKind, name: String, body: Arc<Py<PyAny>>, arguments: Arc<Py<PyTuple>>, failures: Failures },
    Wait(<Thread as Processes>::Child),
    Barrier(String, u64),
    KernelAlloc(KernelAlloc),
    KernelFree(<Thread as KernelAllocator>::KernelMemory),
    DropCaches(DropCaches),
    Compact(Option<NodeId>),
    Reclaim(NodeId, Bytes, Option<u64>),
    SetNrHugepages(u64),
    PageNode(Area),
    MovePages(Area, NodeId),
    SetMempolicy(Mempolicy),
    Mbind(Area, Mempolicy, MbindFlags),
    GetMempolicy(Option<Area>),
    SetMempolicyHomeNode(Area, NodeId),
    MigratePages(NodeMask, NodeMask),
    SetMems(NodeMask, bool),
    MountTmpfs(String),
    RemountTmpfs(Mount, String),
    Statfs(Mount),
    CreateOn(Mount),
    Truncate(FileId, Bytes),
    Fallocate(FileId, Bytes, Bytes),
    PunchHole(FileId, Bytes, Bytes),
}

/// The answer to a system call.
pub(crate) enum Answer {
    Nothing,
    Truth(bool),
    Area(Area),
    Number(u64),
    Loads(order9_workloads::Loads),
    Child(<Thread as Processes>::Child),
    Ended { user: Nanos, system: Nanos },
    Memory(Option<<Thread as KernelAllocator>::KernelMemory>),
    Mempolicy(Mempolicy),
    Statfs(Statfs),
}

impl Asked {
    /// Name of the call.
    fn name(&self) -> &'static str {
        match self {
            Self::Mmap(_) => "mmap",
            Self::Munmap(_) => "munmap",
            Self::Mprotect(..) => "mprotect",
            Self::Mremap(..) => "mremap",
            Self::Madvise(..) => "madvise",
            Self::Mlock(_) => "mlock",
            Self::Munlock(_) => "munlock",
            Self::Mincore(_) => "mincore",
            Self::Touch(..) => "touch",
            Self::Fill(_) => "fill",
            Self::Load(..) => "load",
            Self::Pin(_) => "pin",
            Self::Unpin(_) => "unpin",
            Self::CreateFile(_) => "create_file",
            Self::Create => "create",
            Self::Open(_) => "open",
            Self::Read(..) => "read",
            Self::Write(..) => "write",
            Self::Fsync(_) => "fsync",
            Self::Sync => "sync",
            Self::Close(_) => "close",
            Self::RemoveFile(_) => "remove_file",
            Self::Sleep(_) => "sleep",
            Self::Compute(_) => "compute",
            Self::SetAffinity(_) => "set_affinity",
            Self::SetOomScoreAdj(_) => "set_oom_score_adj",
            Self::Spawn { .. } => "spawn",
            Self::Wait(_) => "wait",
            Self::Barrier(..) => "barrier",
            Self::KernelAlloc(_) => "kernel_alloc",
            Self::KernelFree(_) => "kernel_free",
            Self::DropCaches(_) => "drop_caches",
            Self::Compact(_) => "compact",
            Self::Reclaim(..) => "reclaim",
            Self::SetNrHugepages(_) => "set_nr_hugepages",
            Self::PageNode(_) => "page_node",
            Self::MovePages(..) => "move_pages",
            Self::SetMempolicy(_) => "set_mempolicy",
            Self::Mbind(..) => "mbind",
            Self::GetMempolicy(_) => "get_mempolicy",
            Self::SetMempolicyHomeNode(..) => "set_mempolicy_home_node",
            Self::MigratePages(..) => "migrate_pages",
            Self::SetMems(..) => "set_mems",
            Self::MountTmpfs(_) => "mount_tmpfs",
            Self::RemountTmpfs(..) => "remount_tmpfs",
            Self::Statfs(_) => "statfs",
            Self::CreateOn(_) => "create_on",
            Self::Truncate(..) => "truncate",
            Self::Fallocate(..) => "fallocate",
            Self::PunchHole(..) => "punch_hole",
        }
    }

    /// Makes the call.
    pub(crate) async fn perform(&self, sys: &Thread) -> Result<Answer, Stop> {
        let nothing = |()| Answer::Nothing;
        let file = |FileId(file): FileId| Answer::Number(file.into());
        match self {
            Self::Mmap(mapping) => sys.mmap(*mapping).await.map(Answer::Area),
            Self::Munmap(area) => sys.munmap(*area).await.map(nothing),
            Self::Mprotect(area, prot) => sys.mprotect(*area, *prot).await.map(nothing),
            Self::Mremap(area, length) => sys.mremap(*area, *length).await.map(Answer::Area),
            Self::Madvise(area, advice) => sys.madvise(*area, *advice).await.map(nothing),
            Self::Mlock(area) => sys.mlock(*area).await.map(nothing),
            Self::Munlock(area) => sys.munlock(*area).await.map(nothing),
            Self::Mincore(area) => sys.mincore(*area).await.map(Answer::Number),
            Self::Touch(area, access) => sys.touch(*area, *access).await.map(nothing),
            Self::Fill(area) => sys.fill(*area).await.map(nothing),
            Self::Load(area, loads) => sys.load(*area, *loads).await.map(Answer::Loads),
            Self::Pin(area) => sys.pin(*area).await.map(nothing),
            Self::Unpin(area) => sys.unpin(*area).await.map(nothing),
            Self::CreateFile(length) => sys.create_file(*length).await.map(file),
            Self::Create => sys.create().await.map(file),
            Self::Open(of) => sys.open(*of).await.map(nothing),
            Self::Read(of, offset, length) => sys.read(*of, *offset, *length).await.map(|of| Answer::Number(of.get())),
            Self::Write(of, offset, length) => sys.write(*of, *offset, *length).await.map(nothing),
            Self::Fsync(of) => sys.fsync(*of).await.map(nothing),
            Self::Sync => sys.sync().await.map(nothing),
            Self::Close(of) => sys.close(*of).await.map(nothing),
            Self::RemoveFile(of) => sys.remove_file(*of).await.map(nothing),
            Self::Sleep(time) => sys.sleep(*time).await.map(nothing),
            Self::Compute(time) => sys.compute(*time).await.map(nothing),
            Self::SetAffinity(cpus) => sys.set_affinity(cpus).await.map(nothing),
            Self::SetOomScoreAdj(adj) => sys.set_oom_score_adj(*adj).await.map(nothing),
            Self::Spawn { kind, name, body, arguments, failures } => {
                let (body, arguments, failures) = (Arc::clone(body), Arc::clone(arguments), failures.clone());
                let begin = move |sys: Thread| drive(sys, body, arguments, failures);
                sys.spawn(*kind, name, begin).await.map(Answer::Child)
            }
            Self::Wait(child) => {
                let ended = sys.wait(*child).await?;
                ended.result?;
                Ok(Answer::Ended { user: ended.times.user, system: ended.times.system })
            }
            Self::Barrier(name, threads) => sys.barrier(name, *threads).await.map(nothing),
            Self::KernelAlloc(what) => sys.kernel_alloc(*what).await.map(Answer::Memory),
            Self::KernelFree(memory) => sys.kernel_free(*memory).await.map(nothing),
            Self::DropCaches(what) => sys.drop_caches(*what).await.map(nothing),
            Self::Compact(node) => sys.compact(*node).await.map(nothing),
            Self::Reclaim(node, amount, swappiness) => {
                sys.reclaim(*node, *amount, *swappiness).await.map(Answer::Truth)
            }
            Self::SetNrHugepages(count) => {
                sys.set_nr_hugepages(PoolFile::NrHugepages, *count).await.map(Answer::Number)
            }
            Self::PageNode(area) => sys.page_node(*area).await.map(|node| Answer::Number(node.0.into())),
            Self::MovePages(area, node) => sys.move_pages(*area, *node).await.map(Answer::Number),
            Self::SetMempolicy(policy) => sys.set_mempolicy(here(sys, *policy)).await.map(nothing),
            Self::Mbind(area, policy, flags) => sys.mbind(*area, here(sys, *policy), *flags).await.map(nothing),
            Self::GetMempolicy(area) => sys.get_mempolicy(*area).await.map(Answer::Mempolicy),
            Self::SetMempolicyHomeNode(area, home) => sys.set_mempolicy_home_node(*area, *home).await.map(nothing),
            Self::MigratePages(from, to) => sys.migrate_pages(*from, *to).await.map(Answer::Number),
            Self::SetMems(mems, migrates) => sys.set_mems(*mems, *migrates).await.map(nothing),
            Self::MountTmpfs(options) => sys.mount_tmpfs(options).await.map(|Mount(of)| Answer::Number(of.into())),
            Self::RemountTmpfs(mount, options) => sys.remount_tmpfs(*mount, options).await.map(nothing),
            Self::Statfs(mount) => sys.statfs(*mount).await.map(Answer::Statfs),
            Self::CreateOn(mount) => sys.create_on(*mount).await.map(file),
            Self::Truncate(of, length) => sys.truncate(*of, *length).await.map(nothing),
            Self::Fallocate(of, offset, length) => sys.fallocate(*of, *offset, *length).await.map(nothing),
            Self::PunchHole(of, offset, length) => sys.punch_hole(*of, *offset, *length).await.map(nothing),
        }
    }
}

/// The policy with the nodes of this machine for "all".
fn here(sys: &Thread, policy: Mempolicy) -> Mempolicy {
    policy.on(sys.facts().nodes.len())
}

impl Answer {
    /// The answer as a value of Python.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Nothing => Ok(py.None().into_bound(py)),
            Self::Truth(truth) => truth.into_bound_py_any(py),
            Self::Area(area) => PyArea(area).into_bound_py_any(py),
            Self::Number(number) => number.into_bound_py_any(py),
            Self::Loads(loads) => PyLoads(loads).into_bound_py_any(py),
            Self::Child(child) => StartedChild(child).into_bound_py_any(py),
            Self::Ended { user, system } => (user.get(), system.get()).into_bound_py_any(py),
            Self::Memory(memory) => memory.map(TakenMemory).into_bound_py_any(py),
            Self::Mempolicy(policy) => policy.to_string().into_bound_py_any(py),
            Self::Statfs(Statfs { blocks, free }) => (blocks.get(), free.get()).into_bound_py_any(py),
        }
    }
}
