//! Settings that the kernel changes when another one is written. Whoever puts a setting back puts these back, too.

/// Settings of which the kernel makes one 0 where the other is written: the way back to a 0 is to write the other one.
const EXCLUSIVE: [(&str, &str); 3] = [
    ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"),
    ("/proc/sys/vm/dirty_background_bytes", "/proc/sys/vm/dirty_background_ratio"),
    ("/proc/sys/vm/overcommit_kbytes", "/proc/sys/vm/overcommit_ratio"),
];
/// Directory of settings of transparent huge pages.
const THP: &str = "/sys/kernel/mm/transparent_hugepage/";
/// Memory that is kept free, in kB.
const MIN_FREE_KBYTES: &str = "/proc/sys/vm/min_free_kbytes";

/// The setting that excludes the one at `path`.
#[must_use]
pub fn excluded(path: &str) -> Option<&'static str> {
    let other = |&(one, other): &(&'static str, &'static str)| match path {
        path if path == one => Some(other),
        path if path == other => Some(one),
        _ => None,
    };
    EXCLUSIVE.iter().find_map(other)
}

/// The settings that the kernel may change when the one at `path` is written.
pub fn companions(path: &str) -> impl Iterator<Item = &'static str> + use<> {
    excluded(path).into_iter().chain(wants_khugepaged(path).then_some(MIN_FREE_KBYTES))
}

/// Whether khugepaged starts or ends by the setting at `path`, for `enabled` of any size. khugepaged wants memory kept free.
fn wants_khugepaged(path: &str) -> bool {
    let words = path.strip_prefix(THP).and_then(|rest| rest.strip_suffix("enabled"));
    words.is_some_and(|size| size.is_empty() || size.starts_with("hugepages-") && size.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_change_others_along() {
        let of = |path: &str| companions(path).collect::<Vec<_>>();
        assert_eq!(of("/proc/sys/vm/dirty_bytes"), ["/proc/sys/vm/dirty_ratio"]);
        assert_eq!(of("/proc/sys/vm/overcommit_ratio"), ["/proc/sys/vm/overcommit_kbytes"]);
        assert_eq!(of(&format!("{THP}enabled")), [MIN_FREE_KBYTES]);
        assert_eq!(of(&format!("{THP}hugepages-64kB/enabled")), [MIN_FREE_KBYTES]);
        for alone in ["defrag", "shmem_enabled", "hugepages-64kB/shmem_enabled", "khugepaged/enabled"] {
            assert_eq!(of(&format!("{THP}{alone}")), [""; 0], "{alone}");
        }
    }
}
