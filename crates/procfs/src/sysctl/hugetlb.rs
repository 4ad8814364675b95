//! Files of hugetlb pools: those of the machine, and those of each node, which are like three of them.

use alloc::format;
use alloc::string::String;

use order9_mm::Mm;
use order9_mm::hugetlb::{HugetlbPool, PoolSize};
use order9_units::NodeId;

use super::{Access, HugetlbFile, Knob, Model, Setting, SettingError, value};

/// The node whose pool has a file at `path`, and the setting of the machine that it is like.
pub(super) fn of_node(path: &str) -> Option<(NodeId, &'static Setting)> {
    let (node, file) =
        path.strip_prefix("/sys/devices/system/node/node")?.split_once("/hugepages/hugepages-2048kB/")?;
    let exists = ["nr_hugepages", "free_hugepages", "surplus_hugepages"].contains(&file);
    let setting = Setting::find(&format!("hugetlb/{file}")).filter(|_| exists)?;
    Some((NodeId(node.parse().ok()?), setting))
}

/// The number in a file of the pools of all nodes.
pub(super) fn number(mm: &Mm, file: HugetlbFile) -> u64 {
    match file {
        HugetlbFile::NrOvercommit => mm.tunables().nr_overcommit_hugepages,
        file => number_of(mm.pages().hugetlb().hugetlb_pool(), file),
    }
}

/// The content of a file of the pool of a node.
pub(super) fn read(mm: &Mm, node: NodeId, setting: &'static Setting) -> Result<String, SettingError> {
    known(mm, node)?;
    let Model::Engine(Knob::Hugetlb(file)) = setting.model else { return Err(SettingError::NotModelled(setting)) };
    Ok(value::render(&[number_of(mm.pages().hugetlb().hugetlb_pool_of(node), file)]))
}

/// The pool size that writing `value` to the setting `name` asks for; `None` where that setting is no size of a pool.
///
/// Whoever can wait takes the steps of [`PoolResize`](order9_mm::hugetlb::PoolResize) with it, as a program on Linux does that
/// writes to the file. [`super::write`] takes free memory alone.
///
/// # Errors
/// As [`super::write`], for a size of a pool.
pub fn pool_size(mm: &Mm, name: &str, value: &str) -> Result<Option<PoolSize>, SettingError> {
    let (node, setting) = match of_node(name) {
        Some((node, setting)) => {
            known(mm, node)?;
            (Some(node), setting)
        }
        None => match Setting::find(name) {
            Some(setting) if setting.model == Model::Engine(Knob::Hugetlb(HugetlbFile::Nr)) => (None, setting),
            _ => return Ok(None),
        },
    };
    if setting.access == Access::ReadOnly {
        return Err(SettingError::ReadOnly(setting));
    }
    let numbers = setting.numbers(value).ok_or(SettingError::Invalid(setting))?;
    Ok(Some(PoolSize { pages: numbers[0].unsigned_abs(), node }))
}

fn known(mm: &Mm, node: NodeId) -> Result<(), SettingError> {
    if node.index() < mm.frames().nodes().len() { Ok(()) } else { Err(SettingError::Unknown) }
}

const fn number_of(pool: HugetlbPool, file: HugetlbFile) -> u64 {
    match file {
        HugetlbFile::Nr => pool.total,
        HugetlbFile::Free => pool.free,
        HugetlbFile::Resv => pool.reserved,
        HugetlbFile::Surplus => pool.surplus,
        HugetlbFile::NrOvercommit => 0,
    }
}
