//! Files of the weights of interleaving.

use order9_mm::policy::{MempolicyInterface, Policy};
use order9_mm::{Errno, Mm};
use order9_procfs::sysctl::{self, SettingError};
use order9_units::NodeId;

use super::boot_nodes;

const FOLDER: &str = "/sys/kernel/mm/mempolicy/weighted_interleave/";
const AUTO: &str = "/sys/kernel/mm/mempolicy/weighted_interleave/auto";

fn boot(mempolicy: MempolicyInterface) -> Mm {
    boot_nodes(Policy { mempolicy, ..Policy::default() }, 3, 1 << 13)
}

fn weights(mm: &Mm) -> [String; 3] {
    [0, 1, 2].map(|node| sysctl::read(mm, &format!("{FOLDER}node{node}")).expect("the node has memory"))
}

fn refused(written: Result<(), SettingError>) -> Option<Errno> {
    written.expect_err("it is refused").errno()
}

#[test]
fn files_hold_the_weights_of_nodes_with_memory() {
    let mut mm = boot(MempolicyInterface::WeightedInterleave);
    for (node, value) in [("0", "3"), ("2", "2\n")] {
        sysctl::write(&mut mm, &format!("{FOLDER}node{node}"), value).expect("the node has memory");
    }
    assert_eq!(weights(&mm), ["3\n", "1\n", "2\n"]);
    for (node, value, errno) in [("3", "1", Errno::Enoent), ("9", "1", Errno::Enoent), ("0", "256", Errno::Einval)] {
        let written = sysctl::write(&mut mm, &format!("{FOLDER}node{node}"), value);
        assert_eq!(refused(written), Some(errno), "node{node} = {value}");
    }
    for default in ["0", ""] {
        sysctl::write(&mut mm, "mempolicy/weighted_interleave/node0", default).expect("the default again");
        assert_eq!(weights(&mm)[0], "1\n");
    }
    let mut old = boot(MempolicyInterface::PreferredMany);
    assert_eq!(refused(sysctl::write(&mut old, &format!("{FOLDER}node0"), "1")), Some(Errno::Enoent), "6.9+");
}

#[test]
fn auto_says_whether_weights_follow_the_bandwidth() {
    let mut mm = boot(MempolicyInterface::WeightedInterleave);
    assert_eq!(sysctl::read(&mm, AUTO).expect_err("6.16+").errno(), Some(Errno::Enoent));
    assert_eq!(refused(sysctl::write(&mut mm, AUTO, "1")), Some(Errno::Enoent));
    let mut mm = boot(MempolicyInterface::AutoWeights);
    assert_eq!(sysctl::read(&mm, AUTO).as_deref(), Ok("true\n"));
    assert_eq!(refused(sysctl::write(&mut mm, AUTO, "1")), Some(Errno::Enodev), "no bandwidth is known");
    mm.set_node_bandwidth([(NodeId(0), 143_100), (NodeId(1), 143_100), (NodeId(2), 19_500)]);
    assert_eq!(weights(&mm), ["7\n", "7\n", "1\n"]);
    for wrong in ["0", "", "256"] {
        let written = sysctl::write(&mut mm, &format!("{FOLDER}node1"), wrong);
        assert_eq!(refused(written), Some(Errno::Einval), "there is no default any more");
    }
    assert_eq!(sysctl::read(&mm, AUTO).as_deref(), Ok("true\n"));
    sysctl::write(&mut mm, &format!("{FOLDER}node1"), "3").expect("the node has memory");
    assert_eq!((weights(&mm)[1].as_str(), sysctl::read(&mm, AUTO).as_deref()), ("3\n", Ok("false\n")));
    sysctl::write(&mut mm, AUTO, "Y\n").expect("the bandwidth is known");
    assert_eq!(weights(&mm), ["7\n", "7\n", "1\n"]);
    sysctl::write(&mut mm, AUTO, "no").expect("it is a switch");
    assert_eq!(refused(sysctl::write(&mut mm, AUTO, "perhaps")), Some(Errno::Einval));
}
