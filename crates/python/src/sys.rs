//! [`PySys`]: the system as a workload in Python sees it. Methods that take time make a [`Call`], to be yielded; all others answer at
//! once.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::ThreadId;

use order9_machine::Thread;
use order9_units::{Bytes, NodeId, NodeMask, Order};
use order9_workloads::{
    Access, Administration as _, Advice, ChildKind, DropCaches, FileId, KernelAlloc, KernelAllocator, KernelSize,
    Mapping, MbindFlags, Measuring as _, Mempolicy, Mount, Nodes as _, Of, OomScoreAdj, Processes, Prot,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::area::PyArea;
use crate::call::{Asked, Call};
use crate::convert::{bytes, nanos};
use crate::program::Failures;

thread_local! {
    /// Threads of programs that run on this thread of the host. Python may keep a sys for longer than its program runs, and on other
    /// threads, so it knows a number only.
    static THREADS: RefCell<Vec<Option<Thread>>> = const { RefCell::new(Vec::new()) };
}

/// The place of a thread in [`THREADS`], as long as its program runs. Never leaves the thread of the host.
pub(crate) struct Slot {
    at: usize,
    _here: std::marker::PhantomData<Rc<()>>,
}

impl Slot {
    pub(crate) fn of(thread: Thread) -> Self {
        let at = THREADS.with_borrow_mut(|threads| {
            let free = threads.iter().position(Option::is_none).unwrap_or(threads.len());
            threads.resize_with(threads.len().max(free + 1), || None);
            threads[free] = Some(thread);
            free
        });
        Self { at, _here: std::marker::PhantomData }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop(THREADS.with_borrow_mut(|threads| threads[self.at].take()));
    }
}

/// A thread or process that was started: sys.wait waits for its end.
#[pyclass(frozen, module = "order9", name = "Child", from_py_object)]
#[derive(Clone, Copy)]
pub(crate) struct StartedChild(pub(crate) <Thread as Processes>::Child);

/// Memory that the kernel has taken for itself: sys.kernel_free gives it back.
#[pyclass(frozen, module = "order9", name = "KernelMemory", from_py_object)]
#[derive(Clone, Copy)]
pub(crate) struct TakenMemory(pub(crate) <Thread as KernelAllocator>::KernelMemory);

/// The system, as seen by one thread of a workload. Calls that take time are to be yielded or awaited.
#[pyclass(frozen, module = "order9", name = "Sys")]
pub(crate) struct PySys {
    at: usize,
    host_thread: ThreadId,
    failures: Failures,
}

impl PySys {
    pub(crate) fn new(slot: &Slot, failures: Failures) -> Self {
        Self { at: slot.at, host_thread: std::thread::current().id(), failures }
    }

    fn with<R>(&self, ask: impl FnOnce(&Thread) -> R) -> PyResult<R> {
        let here = std::thread::current().id() == self.host_thread;
        let answer = THREADS.with_borrow(|threads| threads.get(self.at)?.as_ref().filter(|_| here).map(ask));
        answer.ok_or_else(|| PyRuntimeError::new_err("this sys is of a workload that does not run any more"))
    }
}

#[pymethods]
impl PySys {
    /// Time since the start of the machine, in nanoseconds.
    fn now(&self) -> PyResult<u64> {
        self.with(|sys| sys.now().get())
    }

    /// Records a latency or duration of `operation`, in nanoseconds.
    fn sample(&self, operation: &str, time: u64) -> PyResult<()> {
        self.with(|sys| sys.sample(operation, order9_units::Nanos::new(time)))
    }

    /// Records a rate of `operation`: how many per second.
    fn rate(&self, operation: &str, per_second: f64) -> PyResult<()> {
        finite(per_second).and_then(|value| self.with(|sys| sys.rate(operation, value)))
    }

    /// Records a share of `operation`, in percent.
    fn percent(&self, operation: &str, percent: f64) -> PyResult<()> {
        finite(percent).and_then(|value| self.with(|sys| sys.percent(operation, value)))
    }

    /// Records how many there are of `what`.
    fn count(&self, what: &str, count: f64) -> PyResult<()> {
        finite(count).and_then(|value| self.with(|sys| sys.count(what, value)))
    }

    /// Says that what follows belongs to this phase: counters are kept for each.
    fn phase(&self, name: &str) -> PyResult<()> {
        self.with(|sys| sys.phase(name))
    }

    /// Keeps the state of memory at this moment: Run.snapshot and Run.map give it back by this name.
    fn snapshot(&self, name: &str) -> PyResult<()> {
        self.with(|sys| sys.snapshot(name))
    }

    /// Start of the random stream called `name` of this thread, decided by the seed of the run: `random.Random(sys.seed("x"))`.
    fn seed(&self, name: &str) -> PyResult<u64> {
        self.with(|sys| sys.seed(name))
    }

    /// Memory, CPUs and nodes of the machine: a dict of memory (bytes), cpus, nodes (bytes of each), disk and available (bytes or None).
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = self.with(order9_workloads::Administration::facts)?;
        let dict = PyDict::new(py);
        dict.set_item("memory", facts.memory.get())?;
        dict.set_item("cpus", facts.cpus)?;
        dict.set_item("nodes", facts.nodes.iter().map(|of| of.get()).collect::<Vec<_>>())?;
        dict.set_item("disk", facts.disk.map(Bytes::get))?;
        dict.set_item("available", facts.available.map(Bytes::get))?;
        Ok(dict)
    }

    /// MemFree and MemAvailable of /proc/meminfo, in bytes.
    fn memory(&self) -> PyResult<(u64, u64)> {
        self.with(|sys| sys.memory()).map(|of| (of.free.get(), of.available.get()))
    }

    /// Number of the node of the CPU that runs this thread.
    fn node(&self) -> PyResult<u16> {
        self.with(|sys| sys.node().0)
    }

    /// Number of pages that the hugetlb pools hold.
    fn nr_hugepages(&self) -> PyResult<u64> {
        self.with(|sys| sys.nr_hugepages())
    }

    /// mmap: `of` is anon, shared, hugetlb, or file, file-shared or file-private with a `file` and an `offset`. Answers an Area.
    #[pyo3(signature = (length, of="anon", *, file=None, offset=None))]
    fn mmap(
        &self,
        length: &Bound<'_, PyAny>,
        of: &str,
        file: Option<u32>,
        offset: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Call> {
        let offset = offset.map_or(Ok(Bytes::ZERO), |offset| bytes(&offset))?;
        let named = || file.map(FileId).ok_or_else(|| PyValueError::new_err(format!("of={of:?} needs a file")));
        let of = match of {
            "anon" => Of::Anon,
            "shared" => Of::Shared,
            "hugetlb" => Of::Hugetlb { shared: false },
            "file" => Of::File(named()?, offset),
            "file-shared" => Of::FileShared(named()?, offset),
            "file-private" => Of::FilePrivate(named()?, offset),
            _ => return Err(unknown("of", of, "anon, shared, hugetlb, file, file-shared or file-private")),
        };
        Ok(Call(Asked::Mmap(Mapping { length: bytes(length)?, of })))
    }

    /// munmap.
    fn munmap(&self, area: &PyArea) -> Call {
        Call(Asked::Munmap(area.0))
    }

    /// mprotect: `prot` is none, read or read-write.
    fn mprotect(&self, area: &PyArea, prot: &str) -> PyResult<Call> {
        let prot = match prot {
            "none" => Prot::None,
            "read" => Prot::Read,
            "read-write" => Prot::ReadWrite,
            _ => return Err(unknown("prot", prot, "none, read or read-write")),
        };
        Ok(Call(Asked::Mprotect(area.0, prot)))
    }

    /// mremap with MREMAP_MAYMOVE. Answers the Area as it is afterwards.
    fn mremap(&self, area: &PyArea, length: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::Mremap(area.0, bytes(length)?)))
    }

    /// madvise: `advice` is dontneed, free, remove, hugepage, nohugepage or collapse.
    fn madvise(&self, area: &PyArea, advice: &str) -> PyResult<Call> {
        let advice = match advice {
            "dontneed" => Advice::DontNeed,
            "free" => Advice::Free,
            "remove" => Advice::Remove,
            "hugepage" => Advice::HugePage,
            "nohugepage" => Advice::NoHugePage,
            "collapse" => Advice::Collapse,
            _ => return Err(unknown("advice", advice, "dontneed, free, remove, hugepage, nohugepage or collapse")),
        };
        Ok(Call(Asked::Madvise(area.0, advice)))
    }

    /// mlock.
    fn mlock(&self, area: &PyArea) -> Call {
        Call(Asked::Mlock(area.0))
    }

    /// munlock.
    fn munlock(&self, area: &PyArea) -> Call {
        Call(Asked::Munlock(area.0))
    }

    /// mincore. Answers how many base pages of the area are in memory.
    fn mincore(&self, area: &PyArea) -> Call {
        Call(Asked::Mincore(area.0))
    }

    /// Accesses one word of every base page, upward: stores, or loads with `write=False`.
    #[pyo3(signature = (area, write=true))]
    fn touch(&self, area: &PyArea, write: bool) -> Call {
        Call(Asked::Touch(area.0, if write { Access::Write } else { Access::Read }))
    }

    /// Stores to every byte, upward.
    fn fill(&self, area: &PyArea) -> Call {
        Call(Asked::Fill(area.0))
    }

    /// Loads words at random, one after the other. Answers Loads.
    fn load(&self, area: &PyArea, loads: u64) -> Call {
        Call(Asked::Load(area.0, loads))
    }

    /// Pins the area for good, as for a device.
    fn pin(&self, area: &PyArea) -> Call {
        Call(Asked::Pin(area.0))
    }

    /// Ends a pin of this area.
    fn unpin(&self, area: &PyArea) -> Call {
        Call(Asked::Unpin(area.0))
    }

    /// Makes a file of `length` and writes all of it. Answers its number.
    fn create_file(&self, length: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::CreateFile(bytes(length)?)))
    }

    /// Makes an empty file, open. Answers its number.
    fn create(&self) -> Call {
        Call(Asked::Create)
    }

    /// open of a file that exists.
    fn open(&self, file: u32) -> Call {
        Call(Asked::Open(FileId(file)))
    }

    /// Reads from the file by pread, once; answers how many bytes came.
    fn read(&self, file: u32, offset: &Bound<'_, PyAny>, length: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::Read(FileId(file), bytes(offset)?, bytes(length)?)))
    }

    /// Writes to the file by pwrite, once; the file grows where it has to.
    fn write(&self, file: u32, offset: &Bound<'_, PyAny>, length: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::Write(FileId(file), bytes(offset)?, bytes(length)?)))
    }

    /// fsync.
    fn fsync(&self, file: u32) -> Call {
        Call(Asked::Fsync(FileId(file)))
    }

    /// sync.
    fn sync(&self) -> Call {
        Call(Asked::Sync)
    }

    /// close.
    fn close(&self, file: u32) -> Call {
        Call(Asked::Close(FileId(file)))
    }

    /// unlink.
    fn remove_file(&self, file: u32) -> Call {
        Call(Asked::RemoveFile(FileId(file)))
    }

    /// Sleeps for `time`: nanoseconds, or a text such as "10ms".
    fn sleep(&self, time: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::Sleep(nanos(time)?)))
    }

    /// Computes for `time` without touching memory of note.
    fn compute(&self, time: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::Compute(nanos(time)?)))
    }

    /// sched_setaffinity of this thread.
    fn set_affinity(&self, cpus: Vec<u32>) -> Call {
        Call(Asked::SetAffinity(cpus))
    }

    /// /proc/self/oom_score_adj: how soon the OOM killer takes this process and children that it starts later, from -1000 (never) to 1000.
    fn set_oom_score_adj(&self, adj: i64) -> PyResult<Call> {
        let beyond = || PyValueError::new_err(format!("adj={adj} is not between -1000 and 1000"));
        OomScoreAdj::new(adj).map(|adj| Call(Asked::SetOomScoreAdj(adj))).ok_or_else(beyond)
    }

    /// Starts a thread or process that runs `body(sys, *arguments)`: `kind` is thread, process, fork or kernel. Answers a Child.
    /// Python's own objects are common to all of them.
    #[pyo3(signature = (body, *arguments, kind="process", name=None))]
    fn spawn(
        &self,
        body: Bound<'_, PyAny>,
        arguments: Bound<'_, PyTuple>,
        kind: &str,
        name: Option<String>,
    ) -> PyResult<Call> {
        let kind = match kind {
            "thread" => ChildKind::Thread,
            "process" => ChildKind::Process,
            "fork" => ChildKind::Fork,
            "kernel" => ChildKind::Kernel,
            _ => return Err(unknown("kind", kind, "thread, process, fork or kernel")),
        };
        let named = || body.getattr("__name__").and_then(|name| name.extract());
        let name = name.map_or_else(named, Ok).unwrap_or_else(|_| "child".to_owned());
        let failures = self.failures.clone();
        let (body, arguments) = (Arc::new(body.unbind()), Arc::new(arguments.unbind()));
        Ok(Call(Asked::Spawn { kind, name, body, arguments, failures }))
    }

    /// Waits for the end of a child. Answers its CPU time in user space and in the kernel, in nanoseconds.
    fn wait(&self, child: StartedChild) -> Call {
        Call(Asked::Wait(child.0))
    }

    /// Waits until `threads` threads of this process wait at the barrier of this name.
    fn barrier(&self, name: String, threads: u64) -> Call {
        Call(Asked::Barrier(name, threads))
    }

    /// The kernel allocates a block of this `order` for itself, or an object of `size`. Answers KernelMemory, or None where it would
    /// have to go without.
    #[pyo3(signature = (*, order=None, size=None, reclaimable=false, atomic=false, node=None))]
    fn kernel_alloc(
        &self,
        order: Option<u8>,
        size: Option<Bound<'_, PyAny>>,
        reclaimable: bool,
        atomic: bool,
        node: Option<u16>,
    ) -> PyResult<Call> {
        let size = match (order, size) {
            (Some(order), None) => KernelSize::Block(known_order(order)?),
            (None, Some(size)) => KernelSize::Object(bytes(&size)?),
            _ => return Err(PyValueError::new_err("expected either order or size")),
        };
        Ok(Call(Asked::KernelAlloc(KernelAlloc { size, reclaimable, atomic, node: node.map(NodeId) })))
    }

    /// The kernel frees what it allocated.
    fn kernel_free(&self, memory: TakenMemory) -> Call {
        Call(Asked::KernelFree(memory.0))
    }

    /// Writes to /proc/sys/vm/drop_caches: 1 drops pages of files, 2 slab, 3 both.
    #[pyo3(signature = (what=3))]
    fn drop_caches(&self, what: u8) -> PyResult<Call> {
        let what = match what {
            1 => DropCaches::Pages,
            2 => DropCaches::Slab,
            3 => DropCaches::All,
            _ => return Err(unknown("what", &what.to_string(), "1, 2 or 3")),
        };
        Ok(Call(Asked::DropCaches(what)))
    }

    /// Writes 1 to /proc/sys/vm/compact_memory, or to the file of one node.
    #[pyo3(signature = (node=None))]
    fn compact(&self, node: Option<u16>) -> Call {
        Call(Asked::Compact(node.map(NodeId)))
    }

    /// Writes an amount and a swappiness, 0 to 200, to /sys/devices/system/node/nodeN/reclaim. Answers whether as much could be reclaimed.
    #[pyo3(signature = (node, amount, *, swappiness=None))]
    fn reclaim(&self, node: u16, amount: &Bound<'_, PyAny>, swappiness: Option<u64>) -> PyResult<Call> {
        match swappiness {
            Some(value) if value > 200 => Err(unknown("swappiness", &value.to_string(), "0 to 200")),
            _ => Ok(Call(Asked::Reclaim(NodeId(node), bytes(amount)?, swappiness))),
        }
    }

    /// Writes /proc/sys/vm/nr_hugepages. Answers how many pages the pools hold then.
    fn set_nr_hugepages(&self, count: u64) -> Call {
        Call(Asked::SetNrHugepages(count))
    }

    /// Answers the node of the first page of an area.
    fn page_node(&self, area: &PyArea) -> Call {
        Call(Asked::PageNode(area.0))
    }

    /// move_pages of an area to a node. Answers how many pages lie there then.
    fn move_pages(&self, area: &PyArea, node: u16) -> Call {
        Call(Asked::MovePages(area.0, NodeId(node)))
    }

    /// set_mempolicy: `policy` in words, such as "bind:0" or "interleave:0-1".
    fn set_mempolicy(&self, policy: &str) -> PyResult<Call> {
        Ok(Call(Asked::SetMempolicy(mempolicy(policy)?)))
    }

    /// mbind: the policy of an area. With `strict`, EIO where pages lie elsewhere; with `move`, they are moved first.
    #[pyo3(signature = (area, policy, *, strict=false, r#move=false))]
    fn mbind(&self, area: &PyArea, policy: &str, strict: bool, r#move: bool) -> PyResult<Call> {
        let flags = MbindFlags { strict, moves: r#move, moves_all: false };
        Ok(Call(Asked::Mbind(area.0, mempolicy(policy)?, flags)))
    }

    /// get_mempolicy. Answers the policy of the first page of an area, or of this thread, in words.
    #[pyo3(signature = (area=None))]
    fn get_mempolicy(&self, area: Option<&PyArea>) -> Call {
        Call(Asked::GetMempolicy(area.map(|area| area.0)))
    }

    /// set_mempolicy_home_node: the node on which the policy of an area looks first.
    fn set_mempolicy_home_node(&self, area: &PyArea, node: u16) -> Call {
        Call(Asked::SetMempolicyHomeNode(area.0, NodeId(node)))
    }

    /// migrate_pages of this process. Answers how many pages could not go.
    fn migrate_pages(&self, from_nodes: Vec<u16>, to_nodes: Vec<u16>) -> PyResult<Call> {
        Ok(Call(Asked::MigratePages(nodes(&from_nodes)?, nodes(&to_nodes)?)))
    }

    /// Nodes that the cpuset of this process has.
    fn mems_allowed(&self) -> PyResult<Vec<u16>> {
        self.with(|sys| sys.mems_allowed().iter().map(|NodeId(node)| node).collect())
    }

    /// Writes cpuset.mems of a cpuset that this process alone is in; with `migrate`, its pages follow.
    #[pyo3(signature = (mems, *, migrate=false))]
    fn set_mems(&self, mems: Vec<u16>, migrate: bool) -> PyResult<Call> {
        Ok(Call(Asked::SetMems(nodes(&mems)?, migrate)))
    }

    /// Text of /proc/self/numa_maps.
    fn numa_maps(&self) -> PyResult<String> {
        self.with(|sys| sys.numa_maps())
    }

    /// numa_hit, numa_miss and interleave_hit of every node.
    fn numastat(&self) -> PyResult<Vec<(u64, u64, u64)>> {
        self.with(|sys| sys.numastat().into_iter().map(|of| (of.hit, of.miss, of.interleave_hit)).collect())
    }

    /// mount of tmpfs with options as mount(8) takes them, such as "huge=always,size=1G". Answers the number of the mount.
    #[pyo3(signature = (options=""))]
    fn mount_tmpfs(&self, options: &str) -> Call {
        Call(Asked::MountTmpfs(options.to_owned()))
    }

    /// mount with MS_REMOUNT.
    fn remount_tmpfs(&self, mount: u16, options: String) -> Call {
        Call(Asked::RemountTmpfs(Mount(mount), options))
    }

    /// statfs of a mount of tmpfs. Answers its size and what is free, in base pages.
    fn statfs(&self, mount: u16) -> Call {
        Call(Asked::Statfs(Mount(mount)))
    }

    /// Makes an empty file on a mount of tmpfs, open. Answers its number.
    fn create_on(&self, mount: u16) -> Call {
        Call(Asked::CreateOn(Mount(mount)))
    }

    /// ftruncate of a file on tmpfs.
    fn truncate(&self, file: u32, length: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::Truncate(FileId(file), bytes(length)?)))
    }

    /// fallocate of a file on tmpfs.
    fn fallocate(&self, file: u32, offset: &Bound<'_, PyAny>, length: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::Fallocate(FileId(file), bytes(offset)?, bytes(length)?)))
    }

    /// fallocate of a file on tmpfs with FALLOC_FL_PUNCH_HOLE.
    fn punch_hole(&self, file: u32, offset: &Bound<'_, PyAny>, length: &Bound<'_, PyAny>) -> PyResult<Call> {
        Ok(Call(Asked::PunchHole(FileId(file), bytes(offset)?, bytes(length)?)))
    }
}

/// A memory policy in words.
fn mempolicy(policy: &str) -> PyResult<Mempolicy> {
    Mempolicy::parse(policy).ok_or_else(|| unknown("policy", policy, "a memory policy such as \"bind:0\""))
}

/// Nodes as a mask.
fn nodes(nodes: &[u16]) -> PyResult<NodeMask> {
    let bits = nodes.iter().try_fold(0_u64, |bits, &node| Some(bits | 1_u64.checked_shl(node.into())?));
    bits.map(NodeMask::from_bits).ok_or_else(|| unknown("nodes", &format!("{nodes:?}"), "numbers up to 63"))
}

/// A measured value, which has to be finite.
fn finite(value: f64) -> PyResult<f64> {
    if value.is_finite() { Ok(value) } else { Err(PyValueError::new_err(format!("{value}: expected a finite number"))) }
}

fn unknown(what: &str, found: &str, expected: &str) -> PyErr {
    PyValueError::new_err(format!("{what}={found:?}: expected {expected}"))
}

/// An order that blocks have.
pub(crate) fn known_order(order: u8) -> PyResult<Order> {
    Order::new(order).ok_or_else(|| {
        PyValueError::new_err(format!("order={order}: expected an order from 0 to {}", Order::MAX.get()))
    })
}
