//! The files of /proc and /sys that the engine and the disks can show.

use std::fmt;

use order9_machine::{Engine, Tick};
use order9_procfs::sysctl::{self, SETTINGS, Setting};
use order9_record::ProcFile;

/// Function that writes one file.
type Render = fn(&Engine, &mut String) -> fmt::Result;

/// Files about the machine.
const FILES: [(&str, Render); 5] = [
    ("/proc/vmstat", |mm, out| order9_procfs::render_vmstat(mm, out)),
    ("/proc/zoneinfo", |mm, out| order9_procfs::render_zoneinfo(mm, out)),
    ("/proc/meminfo", |mm, out| order9_procfs::render_meminfo(mm, out)),
    ("/proc/buddyinfo", |mm, out| order9_procfs::render_buddyinfo(mm, out)),
    ("/proc/pagetypeinfo", |mm, out| order9_procfs::render_pagetypeinfo(mm, out)),
];

/// Files about the machine, as Linux shows them.
#[must_use]
pub fn machine_files(tick: &Tick<'_>) -> Vec<ProcFile> {
    let file = |(path, render): (&str, Render)| proc_file(path.to_owned(), |out| render(tick.engine, out));
    let disks = ProcFile { path: "/proc/diskstats".to_owned(), content: tick.diskstats() };
    FILES.into_iter().map(file).chain([disks]).collect()
}

/// Files about every node, below /sys/devices/system/node, as Linux shows them. Each walks the frames of its node.
#[must_use]
pub fn node_files(engine: &Engine) -> Vec<ProcFile> {
    let files = engine.frames().nodes().flat_map(|node| {
        let id = node;
        let path = |name: &str| format!("/sys/devices/system/node/node{id}/{name}");
        [
            proc_file(path("meminfo"), |out| order9_procfs::render_node_meminfo(engine, id, out)),
            proc_file(path("vmstat"), |out| order9_procfs::render_node_vmstat(engine, id, out)),
            proc_file(path("numastat"), |out| order9_procfs::render_numastat(engine, id, out)),
            proc_file(path("distance"), |out| order9_procfs::render_node_distance(engine, id, out)),
            proc_file(path("cpulist"), |out| order9_procfs::render_node_cpulist(engine, id, out)),
        ]
    });
    files.collect()
}

/// Every setting that can be read, as the file that it is on Linux.
#[must_use]
pub fn setting_files(engine: &Engine) -> Vec<ProcFile> {
    let file = |setting: &Setting| {
        Some(ProcFile { path: setting.path.to_owned(), content: sysctl::read(engine, setting.name).ok()? })
    };
    SETTINGS.iter().filter_map(file).collect()
}

/// Files about every living process, whose number is that of its address space, from 1 on.
#[must_use]
pub fn process_files(engine: &Engine) -> Vec<ProcFile> {
    let files = engine.spaces().flat_map(|(id, space)| {
        let path = |name: &str| format!("/proc/{}/{name}", id.index() + 1);
        [
            proc_file(path("smaps"), |out| order9_procfs::render_smaps(engine, space, out)),
            proc_file(path("smaps_rollup"), |out| order9_procfs::render_smaps_rollup(engine, space, out)),
            proc_file(path("numa_maps"), |out| order9_procfs::render_numa_maps(engine, space, out)),
            proc_file(path("status"), |out| order9_procfs::render_status(space, out)),
        ]
    });
    files.collect()
}

fn proc_file(path: String, render: impl FnOnce(&mut String) -> fmt::Result) -> ProcFile {
    let mut content = String::new();
    render(&mut content).expect("text can be written to memory");
    ProcFile { path, content }
}
