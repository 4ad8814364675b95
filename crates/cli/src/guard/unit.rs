//! The systemd unit of a guard, with the least rights that its configuration needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use order9_guard::{GuardFile, Listen};
use order9_units::NodeId;

use super::host::file_of;
use crate::failure::{Failure, io_sentence};

/// Place of the configuration where nobody names one.
const CONFIG: &str = "/etc/order9/guard.toml";

/// Folder in which DAMON is set up.
const DAMON: &str = "/sys/kernel/mm/damon/admin";

/// The text of the unit.
pub(super) fn unit(config: Option<&Path>, file: &GuardFile) -> Result<String, Failure> {
    let program =
        std::env::current_exe().map_err(|error| Failure::Usage(format!("this program: {}", io_sentence(&error))))?;
    let config = match config {
        Some(path) => fs::canonicalize(path).map_err(|error| Failure::file(path, io_sentence(&error)))?,
        None => PathBuf::from(CONFIG),
    };
    let may_collapse = file.config.may_collapse;
    // Root needs no capability to write a file of its own. To collapse memory of others it has to trace and to steer them.
    let capabilities = if may_collapse { "CAP_SYS_PTRACE CAP_SYS_NICE" } else { "" };
    let calls = if may_collapse { "SystemCallFilter=process_madvise pidfd_open\n" } else { "" };
    let is_private = |path: &Path| ["/home", "/root", "/run/user"].iter().any(|home| path.starts_with(home));
    let homes = if is_private(&program) || is_private(&config) { "read-only" } else { "yes" };
    let (families, network) = match file.listen {
        Some(Listen::Tcp(_)) => ("AF_UNIX AF_INET AF_INET6", "no"),
        Some(Listen::Unix(_)) => ("AF_UNIX", "yes"),
        None => ("none", "yes"),
    };
    let written: String = written(file).iter().map(|path| format!("ReadWritePaths={}\n", escaped(path))).collect();
    Ok(format!(
        "[Unit]\n\
         Description=order9 guard: keeps huge pages ready\n\
         Documentation=man:order9-guard(1)\n\
         \n\
         [Service]\n\
         ExecStart={} guard --config {}\n\
         ExecReload=kill -HUP $MAINPID\n\
         Restart=on-failure\n\
         # 2 is a configuration or a host that no restart mends.\n\
         RestartPreventExitStatus=2\n\
         MemoryMax=128M\n\
         TasksMax=16\n\
         OOMScoreAdjust=-500\n\
         UMask=0022\n\
         \n\
         # Rights: the files that are written, and no others.\n\
         {written}\
         RuntimeDirectory=order9\n\
         RuntimeDirectoryPreserve=yes\n\
         CapabilityBoundingSet={capabilities}\n\
         AmbientCapabilities=\n\
         NoNewPrivileges=yes\n\
         ProtectSystem=strict\n\
         ProtectHome={homes}\n\
         ProtectKernelTunables=yes\n\
         ProtectKernelModules=yes\n\
         ProtectKernelLogs=yes\n\
         ProtectControlGroups=yes\n\
         ProtectClock=yes\n\
         ProtectHostname=yes\n\
         PrivateTmp=yes\n\
         PrivateDevices=yes\n\
         PrivateNetwork={network}\n\
         RestrictAddressFamilies={families}\n\
         RestrictNamespaces=yes\n\
         RestrictRealtime=yes\n\
         RestrictSUIDSGID=yes\n\
         LockPersonality=yes\n\
         MemoryDenyWriteExecute=yes\n\
         RemoveIPC=yes\n\
         KeyringMode=private\n\
         SystemCallArchitectures=native\n\
         SystemCallFilter=@system-service\n\
         SystemCallFilter=~@privileged @resources\n\
         {calls}\
         SystemCallErrorNumber=EPERM\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        escaped(&program),
        escaped(&config),
    ))
}

/// Files that the guard writes. What is replaced by renaming needs its folder.
fn written(file: &GuardFile) -> BTreeSet<PathBuf> {
    let folder = |path: &PathBuf| path.parent().map(Path::to_owned);
    let socket = if let Some(Listen::Unix(path)) = &file.listen { folder(path) } else { None };
    // The runtime directory is given anyway.
    let socket = socket.filter(|folder| folder != Path::new("/run/order9"));
    let damon = Some(PathBuf::from(DAMON)).filter(|damon| file.config.may_collapse && damon.exists());
    nodes().map(file_of).chain(damon).chain(file.textfile.as_ref().and_then(folder)).chain(socket).collect()
}

/// Nodes of this host that can be compacted; the first one where none can.
fn nodes() -> impl Iterator<Item = NodeId> {
    let entries = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let nodes = entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok().map(NodeId));
    let nodes: BTreeSet<NodeId> = nodes.filter(|node| file_of(*node).exists()).collect();
    if nodes.is_empty() { BTreeSet::from([NodeId(0)]) } else { nodes }.into_iter()
}

/// A path as units have it.
fn escaped(path: &Path) -> String {
    let text = order9_escape::path(path).replace('%', "%%");
    if text.contains([' ', '"', '\\', '\'']) {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        text
    }
}
