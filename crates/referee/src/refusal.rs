//! Hosts on which nothing is run: those whose memory the command cannot see whole, or may not have.

use std::fs;
use std::path::Path;

use order9_host::memory_limit;
use order9_units::Bytes;

/// Reason against running on this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The user is not root.
    #[error("this changes settings of the kernel and fills memory: it needs root")]
    NotRoot,
    /// The user is not root, and wants to change settings only.
    #[error("this changes settings of the kernel: it needs root")]
    NotRootToSet,
    /// The user is not root, and wants memory to be compacted only.
    #[error("this compacts memory of the whole host: it needs root")]
    NotRootToCompact,
    /// The user is not root, and wants to look only.
    #[error("the state of every page frame is for root alone to read: it needs root")]
    NotRootToLook,
    /// Users are mapped: this is a container.
    #[error("this is a container: its root is not the host's, and neither settings nor memory of the host are its own")]
    UserNamespace,
    /// Processes of the kernel cannot be seen: this is a container.
    #[error("this is a container: the host's processes cannot be seen, so that nothing could tell who uses memory")]
    NoHostView,
    /// A control group limits memory, so that reclaim would be the group's and not the machine's.
    #[error(
        "a control group leaves {} MiB of memory to this process: reclaim would be the group's, which is other code than the machine's; run it \
         outside the group", .0.get() >> 20
    )]
    Limited(Bytes),
}

/// Refuses a host that is not one to run on.
///
/// # Errors
/// The first reason against it.
pub fn check_host() -> Result<(), Refusal> {
    check(Path::new("/"), rustix::process::geteuid().is_root(), memory_limit())
}

/// Refuses a host whose memory cannot be seen whole.
///
/// # Errors
/// The first reason.
pub fn check_view() -> Result<(), Refusal> {
    if !rustix::process::geteuid().is_root() {
        return Err(Refusal::NotRootToLook);
    }
    view(Path::new("/"))
}

/// Refuses a host whose memory is not this user's to compact.
///
/// # Errors
/// The first reason.
pub fn check_compaction() -> Result<(), Refusal> {
    if !rustix::process::geteuid().is_root() {
        return Err(Refusal::NotRootToCompact);
    }
    view(Path::new("/"))
}

/// Refuses a host whose settings are not this user's to change.
///
/// # Errors
/// The first reason.
pub fn check_rights() -> Result<(), Refusal> {
    if !rustix::process::geteuid().is_root() {
        return Err(Refusal::NotRootToSet);
    }
    view(Path::new("/"))
}

/// Refuses a host whose files are below `root`.
fn check(root: &Path, is_root: bool, limit: Option<Bytes>) -> Result<(), Refusal> {
    if !is_root {
        return Err(Refusal::NotRoot);
    }
    view(root)?;
    limit.map_or(Ok(()), |limit| Err(Refusal::Limited(limit)))
}

/// Refuses a container, by the files below `root`.
fn view(root: &Path) -> Result<(), Refusal> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let map: Vec<String> = read("proc/self/uid_map").split_whitespace().map(str::to_owned).collect();
    // A kernel without user namespaces has no such file.
    if !map.is_empty() && map != ["0", "0", "4294967295"] {
        return Err(Refusal::UserNamespace);
    }
    if read("proc/2/comm").trim() != "kthreadd" {
        return Err(Refusal::NoHostView);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_and_limits_are_told_from_hosts() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        };
        let check = |is_root, limit| check(root.path(), is_root, limit);
        assert_eq!(check(false, None), Err(Refusal::NotRoot));
        assert_eq!(check(true, None), Err(Refusal::NoHostView));
        write("proc/2/comm", "kthreadd\n");
        assert_eq!(check(true, None), Ok(()));
        write("proc/self/uid_map", "         0       1000          1\n");
        assert_eq!(check(true, None), Err(Refusal::UserNamespace));
        write("proc/self/uid_map", "         0          0 4294967295\n");
        assert_eq!(check(true, None), Ok(()));
        let limit = Bytes::from_gib(1);
        assert_eq!(check(true, Some(limit)), Err(Refusal::Limited(limit)));
    }
}
