//! Weights of weighted interleaving: /sys/kernel/mm/mempolicy/weighted_interleave/nodeN. 6.9+.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use order9_units::NodeId;

use crate::Mm;
use crate::policy::MempolicyInterface;
use crate::sysctl::{Setting, SettingError};
use crate::trace::Tracer;

/// Begin of the path and of the name of a node's weight, in front of its number.
const PREFIXES: [&str; 2] = ["/sys/kernel/mm/mempolicy/weighted_interleave/node", "mempolicy/weighted_interleave/node"];

/// For how many pages in a row a node is asked; 1 where nobody has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weights(BTreeMap<NodeId, u8>);

impl Weights {
    pub(super) fn of(&self, node: NodeId) -> u8 {
        self.0.get(&node).copied().unwrap_or(1)
    }

    /// 0 means the default again.
    fn set(&mut self, node: NodeId, weight: u8) {
        if weight == 0 {
            self.0.remove(&node);
        } else {
            self.0.insert(node, weight);
        }
    }
}

/// The node whose weight `name` names, and the setting that stands for all of them.
pub(crate) fn weight_of_node(name: &str) -> Option<(NodeId, &'static Setting)> {
    let node = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    Some((NodeId(node.parse().ok()?), Setting::find(&format!("{}0", PREFIXES[1]))?))
}

impl<T: Tracer> Mm<T> {
    /// The content of the file with the weight of a node.
    pub(crate) fn read_weight(&self, node: NodeId, setting: &'static Setting) -> Result<String, SettingError> {
        self.has_weight(node, setting)?;
        Ok(format!("{}\n", self.user.mempolicies.weights.of(node)))
    }

    /// Writes the weight of a node: for pages from now on.
    pub(crate) fn write_weight(
        &mut self,
        node: NodeId,
        setting: &'static Setting,
        value: &str,
    ) -> Result<(), SettingError> {
        self.has_weight(node, setting)?;
        let weight = match value.trim_ascii() {
            "" => Some(0),
            value => setting.values.parse_sysfs(value).and_then(|numbers| u8::try_from(numbers[0]).ok()),
        };
        self.user.mempolicies.weights.set(node, weight.ok_or(SettingError::Invalid(setting))?);
        Ok(())
    }

    fn has_weight(&self, node: NodeId, setting: &'static Setting) -> Result<(), SettingError> {
        if self.policy.mempolicy < MempolicyInterface::WeightedInterleave {
            return Err(SettingError::Absent(setting));
        }
        if self.memory_nodes().has(node) { Ok(()) } else { Err(SettingError::Unknown) }
    }
}
