//! Whether the running kernel would take a value, asked before anything is written.

use std::io;

use order9_journal::current;
use order9_procfs::sysctl::{Access, Values};
use order9_toml::{nearest, shown};

use crate::error::Refusal;
use crate::releases::{Release, came, largest};
use crate::root::Root;
use crate::target::Target;

/// The value that the setting has now, if it can be written and takes `value`.
pub(crate) fn check(root: &Root, target: &Target, value: &str) -> Result<String, Refusal> {
    let Target { name, path, setting } = target;
    match setting.access {
        Access::ReadOnly => return Err(Refusal::ReadOnly(name.clone())),
        Access::WriteOnly => return Err(Refusal::NoValue(name.clone(), path.clone())),
        Access::ReadWrite => {}
    }
    let release = root.release();
    let text = root.read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Refusal::Absent { name: name.clone(), release: release.clone(), came: came(setting.name) }
        }
        _ => Refusal::Unreadable { path: root.shown(path), error },
    })?;
    let words = match setting.values {
        Values::Words(words) => Some(listed(&text).unwrap_or_else(|| words.to_vec())),
        _ => None,
    };
    let most = release.and_then(|release| largest(setting.name, Release::parse(&release)?));
    // The kernel leaves unread what stands behind the numbers of a file; nothing that is kept may hold more than numbers.
    let room = if let Values::Numbers(count) = setting.values { count } else { 1 };
    let is_whole = value.split_whitespace().count() <= room;
    let is_too_large = || most.is_some_and(|most| value.parse().is_ok_and(|number: i64| number > most));
    let takes = match &words {
        Some(words) if words.contains(&value) => return Ok(current(&text).to_owned()),
        Some(words) => format!("one of {}", words.join(", ")),
        None if is_whole && setting.admits(value) && !is_too_large() => return Ok(current(&text).to_owned()),
        None => most.map_or_else(|| setting.values.to_string(), |most| format!("at most {most} in this kernel")),
    };
    let nearest = nearest(value, words.into_iter().flatten()).map(str::to_owned);
    Err(Refusal::Value { name: name.clone(), value: shown(value), takes, nearest })
}

/// The words that a file lists of which one is chosen; `None` where it lists none.
fn listed(text: &str) -> Option<Vec<&str>> {
    text.contains('[').then(|| text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::directory(directory.path());
        for (path, text) in [
            ("/proc/sys/kernel/osrelease", "4.9.1\n"),
            ("/proc/sys/vm/swappiness", "60\n"),
            ("/proc/sys/vm/lowmem_reserve_ratio", "256\t256\t32\t0\n"),
            // As 4.9 lists them.
            ("/sys/kernel/mm/transparent_hugepage/defrag", "always defer [madvise] never\n"),
        ] {
            root.put(path, text).expect("it can be written");
        }
        (directory, root)
    }

    fn checked(root: &Root, name: &str, value: &str) -> Result<String, String> {
        check(root, &Target::find(name).expect("a setting"), value).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn what_the_kernel_takes_is_told_from_its_own_files() {
        let (_directory, root) = root();
        assert_eq!(checked(&root, "vm.swappiness", "100").as_deref(), Ok("60"));
        assert_eq!(checked(&root, "thp/defrag", "defer").as_deref(), Ok("madvise"));
        assert_eq!(checked(&root, "vm.lowmem_reserve_ratio", "256 32").as_deref(), Ok("256\t256\t32\t0"));
    }

    #[test]
    fn every_refusal_says_what_would_do() {
        let (_directory, root) = root();
        for (name, value, sentence) in [
            ("vm.swappiness", "101", "vm.swappiness takes at most 100 in this kernel, not '101'"),
            ("vm.swappiness", "many", "vm.swappiness takes at most 100 in this kernel, not 'many'"),
            ("vm.swappiness", "10 and more", "vm.swappiness takes at most 100 in this kernel, not '10 and more'"),
            (
                "vm.lowmem_reserve_ratio",
                "x",
                "vm.lowmem_reserve_ratio takes up to 4 numbers, separated by blanks, not 'x'",
            ),
            (
                "thp/defrag",
                "defer+madvise",
                "thp/defrag takes one of always, defer, madvise, never, not 'defer+madvise'",
            ),
            (
                "thp/defrag",
                "madvize",
                "thp/defrag takes one of always, defer, madvise, never, not 'madvize'; did you mean madvise?",
            ),
            ("thp/hpage_pmd_size", "1", "thp/hpage_pmd_size is read-only"),
            (
                "vm.compact_memory",
                "1",
                "writing vm.compact_memory starts something that nobody could take back: write it by hand, to \
                 /proc/sys/vm/compact_memory",
            ),
            ("vm.defrag_mode", "1", "vm.defrag_mode does not exist in this kernel, 4.9.1: it came with Linux 6.15"),
            (
                "vm.watermark_scale_factor",
                "10",
                "vm.watermark_scale_factor does not exist in this kernel, 4.9.1: Linux has it from 4.6 on, so this kernel was built \
                 without it",
            ),
            ("vm.page-cluster", "3", "vm.page-cluster does not exist in this kernel, 4.9.1"),
        ] {
            assert_eq!(checked(&root, name, value), Err(sentence.to_owned()));
        }
    }
}
