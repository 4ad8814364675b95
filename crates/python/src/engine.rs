//! [`Engine`]: the memory-management engine itself, for teaching, tests and exploration. One task has it to itself: nothing takes time,
//! and no daemon runs.

use std::collections::HashMap;

use order9_host::available_memory;
use order9_import::{Disk, import};
use order9_lab::export;
use order9_lab::machines::load;
use order9_mm::env::{Alone, Env as _, run};
use order9_mm::migrate::DriverPageId;
use order9_mm::policy::Policy as Switches;
use order9_mm::{Gfp, Mm, MmBuilder, NodeUse, Request, alloc_pages, tasks};
use order9_procfs::{render_buddyinfo, render_pagetypeinfo, render_zoneinfo, sysctl, vmstat};
use order9_snapshot::limits::Shortage;
use order9_units::{Bytes, Migratetype, NodeId, Order, Pfn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{
    AllocError, FreeError, LawBroken, MachineError, OrRaise as _, PolicyError, ScenarioError, SnapshotError, raised,
};
use crate::map::PyMap;
use crate::policy::Policy;
use crate::snapshot::PySnapshot;
use crate::sys::known_order;

/// The engine alone. `layout` is a Snapshot, the name of a machine, or an amount of memory such as "1G"; `policy` a Policy or its
/// name. Single pages of a movable request can be moved by compaction: moved() tells which went where.
#[pyclass(unsendable, module = "order9")]
pub(crate) struct Engine {
    world: Alone,
    cpus: Vec<NodeId>,
    /// Movable single pages by their frame now, as whose driver the caller acts.
    movable: HashMap<u64, DriverPageId>,
    /// Moves since they were last asked for.
    moves: Vec<(u64, u64)>,
    /// Migrations that `movable` knows of.
    migrated: u64,
}

/// Bytes of the host for each frame of an engine, page tables apart.
const PER_FRAME: u64 = 28;

impl Engine {
    fn request(&self, order: u8, gfp: &str, node: u16) -> PyResult<Request> {
        let gfp = Gfp::parse(gfp).map_err(|name| {
            PyValueError::new_err(format!(
                "gfp: no flag is called {name:?}, expected names such as \"GFP_KERNEL|__GFP_NORETRY\""
            ))
        })?;
        Ok(Request {
            order: known_order(order)?,
            gfp,
            node: NodeId(node),
            nodemask: None,
            uses: NodeUse::Ordinary,
            cpu: 0,
            note: 0,
        })
    }

    fn take(&mut self, request: &Request) -> Result<Pfn, order9_mm::AllocError> {
        let pfn = match self.world.with(|mm| mm.alloc_fast(request)) {
            Err(order9_mm::AllocError::NoneAboveWatermark) => {
                let taken = run(alloc_pages(&self.world, request));
                self.follow();
                taken?
            }
            decided => decided?,
        };
        if request.order == Order::ZERO && request.gfp.migratetype() == Some(Migratetype::Movable) {
            let id =
                self.world.with(|mm| mm.register_driver_page(pfn)).expect("a page that was just taken is nobody's");
            self.movable.insert(pfn.get(), id);
        }
        Ok(pfn)
    }

    fn give(&mut self, pfn: u64) -> PyResult<()> {
        if let Some(id) = self.movable.remove(&pfn) {
            self.world.with(|mm| mm.release_driver_page(id, 0));
            return Ok(());
        }
        self.world.with(|mm| mm.free(Pfn::new(pfn), 0)).or_raise::<FreeError>()
    }

    /// Finds movable pages again after compaction may have moved them.
    fn follow(&mut self) {
        let migrated = self.counter("pgmigrate_success");
        if migrated == self.migrated {
            return;
        }
        self.migrated = migrated;
        let place = |id| self.world.with(|mm| mm.driver_page(id).expect("a page that nobody has freed").get());
        let mut moved: Vec<(u64, u64, DriverPageId)> =
            self.movable.iter().map(|(&from, &id)| (from, place(id), id)).filter(|(from, to, _)| from != to).collect();
        moved.sort_unstable_by_key(|&(from, ..)| from);
        for (from, ..) in &moved {
            self.movable.remove(from);
        }
        self.movable.extend(moved.iter().map(|&(_, to, id)| (to, id)));
        self.moves.extend(moved.iter().map(|&(from, to, _)| (from, to)));
    }

    fn counter(&self, name: &str) -> u64 {
        self.world.with(|mm| vmstat(mm).find(|(known, _)| *known == name).map_or(0, |(_, value)| value))
    }

    fn text(&self, render: impl FnOnce(&Mm, &mut String) -> std::fmt::Result) -> String {
        let mut text = String::new();
        self.world.with(|mm| render(mm, &mut text)).expect("a text takes whatever is written");
        text
    }
}

/// Numbers as the bytes of an array.
fn array<'py>(py: Python<'py>, numbers: &[u64]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>())
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (layout, policy=None))]
    fn new(layout: &Bound<'_, PyAny>, policy: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let policy = match policy {
            None => Policy::built_in("linux-6.18")?,
            Some(policy) => match policy.extract::<PyRef<'_, Policy>>() {
                Ok(policy) => policy.clone(),
                Err(_) => Policy::built_in(&policy.extract::<String>()?)?,
            },
        };
        let (mm, cpus) = made(layout, policy.loaded.policy)?;
        let mut engine =
            Self { world: Alone::new(mm, 0), cpus, movable: HashMap::new(), moves: Vec::new(), migrated: 0 };
        engine.migrated = engine.counter("pgmigrate_success");
        Ok(engine)
    }

    /// Takes a block of 2**order pages, going as far as the flags allow: reclaim and compaction included. Gives its first frame.
    #[pyo3(signature = (order=0, gfp="GFP_KERNEL", node=0))]
    fn alloc(&mut self, order: u8, gfp: &str, node: u16) -> PyResult<u64> {
        let request = self.request(order, gfp, node)?;
        Ok(self.take(&request).or_raise::<AllocError>()?.get())
    }

    /// Frees the block that starts at this frame.
    fn free(&mut self, pfn: u64) -> PyResult<()> {
        self.give(pfn)
    }

    /// Takes up to `count` blocks; the frames that were had as the bytes of an array of 64-bit numbers.
    fn alloc_bytes<'py>(
        &mut self,
        py: Python<'py>,
        count: usize,
        order: u8,
        gfp: &str,
        node: u16,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let request = self.request(order, gfp, node)?;
        let taken: Vec<u64> = (0..count).map_while(|_| self.take(&request).ok().map(Pfn::get)).collect();
        Ok(array(py, &taken))
    }

    /// Frees the blocks whose first frames are the bytes of an array of 64-bit numbers. Says how many; the first that cannot be
    /// freed ends it.
    fn free_bytes(&mut self, pfns: &[u8]) -> PyResult<usize> {
        let (words, rest) = pfns.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(PyValueError::new_err("expected an array of 64-bit numbers"));
        }
        words.iter().try_for_each(|word| self.give(u64::from_ne_bytes(*word)))?;
        Ok(words.len())
    }

    /// Compacts all nodes, or one: the effect of writing to vm.compact_memory. Says how many pages were moved.
    #[pyo3(signature = (node=None))]
    fn compact(&mut self, node: Option<u16>) -> PyResult<u64> {
        let before = self.counter("pgmigrate_success");
        match node.map(NodeId) {
            None => run(tasks::compact_memory(&self.world)),
            Some(node) => {
                if !self.world.with(|mm| mm.frames().nodes().any(|known| known == node)) {
                    return Err(PyValueError::new_err(format!("node={node}: there is no such node")));
                }
                run(tasks::compact_node(&self.world, node));
            }
        }
        self.follow();
        Ok(self.counter("pgmigrate_success") - before)
    }

    /// Moves of movable pages since this was last asked: pairs of frames, from and to. A page that moved is freed by its new frame.
    fn moved(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.moves)
    }

    /// Recounts every law that the engine must obey; LawBroken where one does not hold, which is a bug.
    fn check(&self) -> PyResult<()> {
        self.world.with(|mm| mm.check()).or_raise::<LawBroken>()
    }

    /// Free blocks of each order, of all zones together.
    fn free_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; Order::COUNT];
        self.world.with(|mm| {
            for zone in mm.frames().zones() {
                counts.iter_mut().zip(zone.areas()).for_each(|(count, area)| *count += area.total());
            }
        });
        counts
    }

    /// Free pages of all zones, those on lists of CPUs apart.
    #[getter]
    fn free_pages(&self) -> u64 {
        self.free_counts().iter().zip(0..).map(|(count, order)| count << order).sum()
    }

    /// Text of /proc/buddyinfo.
    fn buddyinfo(&self) -> String {
        self.text(render_buddyinfo)
    }

    /// Text of /proc/pagetypeinfo.
    fn pagetypeinfo(&self) -> String {
        self.text(render_pagetypeinfo)
    }

    /// Text of /proc/zoneinfo.
    fn zoneinfo(&self) -> String {
        self.text(render_zoneinfo)
    }

    /// Fields of /proc/vmstat, by name.
    fn vmstat<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let fields: Vec<_> = self.world.with(|mm| vmstat(mm).collect());
        fields.into_iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    /// Reads a setting by its Linux name.
    fn get(&self, name: &str) -> PyResult<String> {
        self.world.with(|mm| sysctl::read(mm, name)).or_raise::<ScenarioError>()
    }

    /// Writes a setting by its Linux name.
    fn set(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = crate::convert::word(value)?;
        let written = self.world.with(|mm| sysctl::write(mm, name, &value));
        written.map_err(|error| raised::<ScenarioError>(&format!("{name} = {value}: {error}")))
    }

    /// The memory as it is now, as a snapshot: to be inspected, saved, or run on.
    fn snapshot(&self) -> PySnapshot {
        PySnapshot::new("an engine".to_owned(), self.world.with(|mm| export(mm, &self.cpus, &[])))
    }

    /// The map of all frames.
    fn map(&self, py: Python<'_>) -> PyResult<PyMap> {
        let snapshot = self.snapshot();
        PyMap::of(&snapshot.snapshot, &snapshot.view(py, None)?)
    }

    fn __repr__(&self) -> String {
        format!("Engine({} free pages)\n{}", self.free_pages(), self.buddyinfo().trim_end())
    }

    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.map(py)?._repr_svg_())
    }
}

/// An engine in the memory of a snapshot, of a machine, or of a machine with one node of this size, and the nodes of its CPUs.
fn made(layout: &Bound<'_, PyAny>, policy: Switches) -> PyResult<(Mm, Vec<NodeId>)> {
    if let Ok(snapshot) = layout.extract::<PyRef<'_, PySnapshot>>() {
        let mm = import(&snapshot.snapshot, policy, Disk::Absent).or_raise::<SnapshotError>()?.mm;
        let cpus = vec![NodeId(0); snapshot.snapshot.machine.cpus as usize];
        return Ok((mm, cpus));
    }
    let size = layout.extract::<u64>().map(Bytes::new).ok();
    let name = if size.is_some() { String::new() } else { layout.extract::<String>()? };
    let spec = match size.or_else(|| name.parse().ok()) {
        Some(size) => load("desktop-8g").and_then(|machine| machine.with_node_memory(size)),
        None => load(&name),
    };
    let spec = spec.or_raise::<MachineError>()?;
    Shortage::check(Bytes::new(spec.memory().get() / 4096 * PER_FRAME), available_memory())
        .or_raise::<MachineError>()?;
    let mm = MmBuilder::new(&spec.layout(), policy).or_raise::<MachineError>()?.boot();
    Ok((mm, spec.cpus()))
}

impl Policy {
    fn built_in(name: &str) -> PyResult<Self> {
        Ok(Self { loaded: order9_policy::load(name).or_raise::<PolicyError>()? })
    }
}
