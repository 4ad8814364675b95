//! Weights of interleaving: /sys/kernel/mm/mempolicy/weighted_interleave/nodeN (6.9+), and `auto` beside them, by which they follow
//! from the bandwidth of each node (6.16+).
//!
//! Linux' Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave.

use alloc::format;
use alloc::string::String;

use order9_mm::Mm;
use order9_mm::policy::{MempolicyInterface, Policy};
use order9_units::NodeId;

use super::{Setting, SettingError};

/// Begin of the path and of the name of a node's weight, in front of its number.
const PREFIXES: [&str; 2] = ["/sys/kernel/mm/mempolicy/weighted_interleave/node", "mempolicy/weighted_interleave/node"];

/// The node whose weight `name` names, and the setting that stands for all of them.
pub(super) fn of_node(name: &str) -> Option<(NodeId, &'static Setting)> {
    let node = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    Some((NodeId(node.parse().ok()?), Setting::find(&format!("{}0", PREFIXES[1]))?))
}

/// The content of `auto`; `None` where the kernel has no such file.
pub(super) fn read_auto(mm: &Mm) -> Option<String> {
    has_auto(mm.policy()).then(|| format!("{}\n", mm.pages().mempolicies().weights_follow_bandwidth()))
}

/// Writes to the file `auto`.
pub(super) fn write_auto(mm: &mut Mm, setting: &'static Setting, value: &str) -> Result<(), SettingError> {
    if !has_auto(mm.policy()) {
        return Err(SettingError::Absent(setting));
    }
    let on = switch(value).ok_or(SettingError::Invalid(setting))?;
    mm.set_weights_follow_bandwidth(on).map_err(|_| SettingError::NoBandwidth(setting))
}

/// The content of the file with the weight of a node.
pub(super) fn read(mm: &Mm, node: NodeId, setting: &'static Setting) -> Result<String, SettingError> {
    exists(mm, node, setting)?;
    Ok(format!("{}\n", mm.pages().mempolicies().interleave_weight(node)))
}

/// Writes the weight of a node.
pub(super) fn write(mm: &mut Mm, node: NodeId, setting: &'static Setting, value: &str) -> Result<(), SettingError> {
    exists(mm, node, setting)?;
    let weight = match value.trim_ascii() {
        "" => Some(0),
        value => setting.values.parse_sysfs(value).and_then(|numbers| u8::try_from(numbers[0]).ok()),
    };
    // There is no default any more once weights may follow the bandwidth.
    let weight = weight.filter(|&weight| weight > 0 || !has_auto(mm.policy()));
    mm.pages_mut().mempolicies_mut().set_interleave_weight(node, weight.ok_or(SettingError::Invalid(setting))?);
    Ok(())
}

fn has_auto(policy: &Policy) -> bool {
    policy.mempolicy >= MempolicyInterface::AutoWeights
}

fn exists(mm: &Mm, node: NodeId, setting: &'static Setting) -> Result<(), SettingError> {
    if mm.policy().mempolicy < MempolicyInterface::WeightedInterleave {
        return Err(SettingError::Absent(setting));
    }
    if mm.phys().memory_nodes().has(node) { Ok(()) } else { Err(SettingError::Unknown) }
}

/// A switch as files of /sys read it: by its first letter, `on` and `off` by their second.
fn switch(text: &str) -> Option<bool> {
    match text.as_bytes() {
        [b'y' | b'Y' | b't' | b'T' | b'1', ..] | [b'o' | b'O', b'n' | b'N', ..] => Some(true),
        [b'n' | b'N' | b'f' | b'F' | b'0', ..] | [b'o' | b'O', b'f' | b'F', ..] => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_by_their_first_letters() {
        for (text, on) in
            [("Y\n", true), ("true", true), ("1", true), ("on", true), ("no", false), ("0", false), ("Off", false)]
        {
            assert_eq!(switch(text), Some(on), "{text}");
        }
        assert_eq!(["", "2", "auto", "o"].map(switch), [None; 4]);
    }
}
