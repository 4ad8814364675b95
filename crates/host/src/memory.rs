//! Memory that this process may still take: the host's available memory, limited by the limits of the process and of
//! its control group.

use std::fs;
use std::path::{Path, PathBuf};

use order9_units::Bytes;
use rustix::process::{Resource, getrlimit};

/// Memory that this process may still take; without end where the system does not tell.
#[must_use]
pub fn available_memory() -> Bytes {
    let limits = [of_host(), of_process(), of_control_groups()];
    Bytes::new(limits.into_iter().flatten().min().unwrap_or(u64::MAX))
}

/// Memory that a control group leaves to this process, where one limits it to less than the host has.
#[must_use]
pub fn memory_limit() -> Option<Bytes> {
    let host = of_host()?;
    // Version 1 writes a number that no machine has where there is no limit.
    of_control_groups().filter(|&left| left < host).map(Bytes::new)
}

/// `MemAvailable`: what can be had without swapping.
fn of_host() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// The limit of the address space (`ulimit -v`), less what is used of it.
fn of_process() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let used: u64 = text.split(' ').next()?.parse().ok()?;
    Some(limit.saturating_sub(used * rustix::param::page_size() as u64))
}

/// The least that a control group of this process, or one above it, leaves.
fn of_control_groups() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    text.lines().filter_map(of_hierarchy).min()
}

/// Memory that the groups named by one line of /proc/self/cgroup leave to this process. Lines are `0::/a/b` in version
/// 2, `5:memory:/a/b` in version 1.
fn of_hierarchy(line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (mount, files) = match controllers {
        "" => ("/sys/fs/cgroup", VERSION_2),
        "memory" => ("/sys/fs/cgroup/memory", VERSION_1),
        _ => return None,
    };
    let mount = Path::new(mount);
    let group: PathBuf = mount.join(path.trim_start_matches('/'));
    group.ancestors().take_while(|group| group.starts_with(mount)).filter_map(|group| left_in(group, &files)).min()
}

/// Names of a version's files: limit, use, and page cache that gives way.
type Files = [&'static str; 3];
const VERSION_2: Files = ["memory.max", "memory.current", "inactive_file"];
const VERSION_1: Files = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];

fn left_in(group: &Path, [limit, usage, cache]: &Files) -> Option<u64> {
    let number = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = stat.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse::<u64>().ok());
    // A group without a limit says `max`, or a number that no machine has.
    Some(number(limit)?.saturating_sub(number(usage)?).saturating_add(cache.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_some_memory_left_and_no_more_than_it_has() {
        let left = available_memory();
        assert!(left > Bytes::new(1 << 20) && left < Bytes::from_gib(1 << 20), "{left:?}");
    }

    #[test]
    fn a_group_leaves_its_limit_less_what_is_used_and_does_not_give_way() {
        let group = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(group.path().join(file), text).unwrap();
        assert_eq!(left_in(group.path(), &VERSION_2), None);
        write("memory.max", "1000000\n");
        write("memory.current", "700000\n");
        write("memory.stat", "anon 5\ninactive_file 50000\nactive_file 9\n");
        assert_eq!(left_in(group.path(), &VERSION_2), Some(350_000));
        write("memory.max", "max\n");
        assert_eq!(left_in(group.path(), &VERSION_2), None);
    }
}
