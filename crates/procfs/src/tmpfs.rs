//! Options of tmpfs as mount(8) takes them: `huge=`, `mpol=` and `size=`, in the words of tmpfs(5).
//!
//! Linux' Documentation/filesystems/tmpfs.rst.

use core::iter;

use order9_mm::mempolicy::{Mode, ModeFlags};
use order9_mm::{Errno, MountPolicy, ShmemHuge, TmpfsOptions, TmpfsSize};
use order9_units::NodeMask;

use crate::Words;
use crate::memparse::{memparse, number};

/// Parses mount options, which commas separate. A part that begins with a digit continues the option before it:
/// `mpol=bind:0,2`. The last of several values for one option counts.
///
/// # Errors
/// `EINVAL` for an option or a value that there is not.
pub fn tmpfs_options(words: &str) -> Result<TmpfsOptions, Errno> {
    let mut options = TmpfsOptions::default();
    for word in separate(words).filter(|word| !word.is_empty()) {
        match word.split_once('=').ok_or(Errno::Einval)? {
            ("huge", value) => options.huge = Some(ShmemHuge::find(value).ok_or(Errno::Einval)?),
            ("mpol", value) => options.mpol = Some(policy(value).ok_or(Errno::Einval)?),
            ("size", value) => options.size = Some(size(value).ok_or(Errno::Einval)?),
            _ => return Err(Errno::Einval),
        }
    }
    Ok(options)
}

/// The options of a list.
fn separate(words: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(words);
    iter::from_fn(move || {
        let all = rest?;
        let goes_on = |comma: usize| all.as_bytes().get(comma + 1).is_some_and(u8::is_ascii_digit);
        match all.match_indices(',').map(|(at, _)| at).find(|&comma| !goes_on(comma)) {
            Some(comma) => {
                rest = Some(&all[comma + 1..]);
                Some(&all[..comma])
            }
            None => rest.take(),
        }
    })
}

/// The size called `word`: of bytes, or with `%` of memory.
fn size(word: &str) -> Option<TmpfsSize> {
    match word.strip_suffix('%') {
        Some(percent) => number(percent).map(TmpfsSize::Percent),
        None => memparse(word).map(TmpfsSize::Bytes),
    }
}

/// The policy called `word`: `MODE[=FLAG][:NODES]`, with a mode in the words of /proc/PID/numa_maps and the flag `static` or
/// `relative`.
fn policy(word: &str) -> Option<MountPolicy> {
    let (mode, nodes) = word.split_once(':').map_or((word, None), |(mode, nodes)| (mode, Some(nodes)));
    let (mode, flag) = mode.split_once('=').map_or((mode, None), |(mode, flag)| (mode, Some(flag)));
    let mode = Mode::find(mode)?;
    let flags = match flag {
        None => ModeFlags::None,
        Some("static") => ModeFlags::Static,
        Some("relative") => ModeFlags::Relative,
        Some(_) => return None,
    };
    let single = |list: &str| list.bytes().all(|byte| byte.is_ascii_digit());
    if mode == Mode::Preferred && !nodes.is_none_or(single) {
        return None; // One node, and not as a list.
    }
    let nodes = match nodes {
        Some(list) => Some(NodeMask::parse(list).filter(|nodes| !nodes.is_empty())?),
        None => None,
    };
    Some(MountPolicy { mode, flags, nodes })
}

#[cfg(test)]
mod tests {
    use order9_units::Bytes;

    use super::*;

    #[test]
    fn sizes_are_bytes_binary_units_or_hundredths_of_memory() {
        for (word, expected) in [
            ("4097", TmpfsSize::Bytes(Bytes::new(4097))),
            ("8k", TmpfsSize::Bytes(Bytes::from_kib(8))),
            ("1M", TmpfsSize::Bytes(Bytes::from_kib(1024))),
            ("1g", TmpfsSize::Bytes(Bytes::from_gib(1))),
            ("0", TmpfsSize::Bytes(Bytes::ZERO)),
            ("50%", TmpfsSize::HALF),
            ("200%", TmpfsSize::Percent(200)),
        ] {
            assert_eq!(size(word), Some(expected), "{word}");
        }
        for word in ["", "%", "k", "-1", "+1", "1.5m", "1 k", "10x", "1mb", "99999999999g", "5%%", "½"] {
            assert_eq!(size(word), None, "{word}");
        }
    }

    #[test]
    fn options_are_separated_by_commas_and_the_last_one_counts() {
        let both = TmpfsOptions::from(ShmemHuge::Always).sized(TmpfsSize::Percent(10));
        assert_eq!(tmpfs_options("size=1m,huge=always,size=10%"), Ok(both));
        assert_eq!(tmpfs_options(""), Ok(TmpfsOptions::default()));
        let bound = TmpfsOptions { mpol: policy("bind:0-1,3"), ..both };
        assert_eq!(tmpfs_options("huge=always,mpol=bind:0-1,3,size=10%"), Ok(bound));
        for words in
            ["huge", "huge=deny", "size=all", "nosuch=1", "huge=always;size=1m", "mpol", "mpol=", "mpol=bind:0,,3"]
        {
            assert_eq!(tmpfs_options(words), Err(Errno::Einval), "{words}");
        }
    }

    #[test]
    fn policies_of_mounts_are_modes_with_flags_and_nodes() {
        let mask = |text| NodeMask::parse(text);
        for (word, mode, flags, nodes) in [
            ("default", Mode::Default, ModeFlags::None, None),
            ("local", Mode::Local, ModeFlags::None, None),
            ("prefer:3", Mode::Preferred, ModeFlags::None, mask("3")),
            ("bind=static:0-3,5", Mode::Bind, ModeFlags::Static, mask("0-3,5")),
            ("interleave", Mode::Interleave, ModeFlags::None, None),
            ("interleave=relative:0-1", Mode::Interleave, ModeFlags::Relative, mask("0-1")),
            ("prefer (many):0-1", Mode::PreferredMany, ModeFlags::None, mask("0-1")),
            ("weighted interleave:1", Mode::WeightedInterleave, ModeFlags::None, mask("1")),
        ] {
            assert_eq!(policy(word), Some(MountPolicy { mode, flags, nodes }), "{word}");
        }
        for word in
            ["", "bound:0", "bind:", "bind:a", "bind:1-0", "bind=fixed:0", "prefer:0-1", "prefer:0,1", "bind:64"]
        {
            assert_eq!(policy(word), None, "{word}");
        }
    }
}
