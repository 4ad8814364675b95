//! A file of sysctl.d(5), which systemd-sysctl and sysctl(8) read at boot.

use super::{Form, HEADER, Kept, Kind};

pub(super) const PATH: &str = "/etc/sysctl.d/60-order9.conf";

pub(super) fn form(held: &[Kept]) -> Form {
    let lines: String = held.iter().map(|kept| format!("{} = {}\n", kept.name(), kept.value)).collect();
    Form { kind: Kind::SysctlD, path: Some(PATH.to_owned()), text: format!("{HEADER}{lines}") }
}

#[cfg(test)]
mod tests {
    use super::super::tests::kept;
    use super::*;

    #[test]
    fn a_line_for_each_setting() {
        let text = "# Written by `order9 apply`. `order9 undo` removes it.\n\
                    vm.compaction_proactiveness = 60\n\
                    vm.lowmem_reserve_ratio = 256 128 32\n";
        assert_eq!(form(&kept()[..2]).text, text);
    }
}
