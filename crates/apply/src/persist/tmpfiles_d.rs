//! A file of tmpfiles.d(5): lines of type `w`, which write to files that are there.

use super::{Form, HEADER, Kept, Kind};

pub(super) const PATH: &str = "/etc/tmpfiles.d/order9.conf";

pub(super) fn form(held: &[Kept]) -> Form {
    let lines: String = held.iter().map(line).collect();
    Form { kind: Kind::TmpfilesD, path: Some(PATH.to_owned()), text: format!("{HEADER}{lines}") }
}

/// The line that writes a setting: mode, user, group and age have no meaning for a file of the kernel.
pub(super) fn line(kept: &Kept) -> String {
    format!("w {} - - - - {}\n", kept.path(), kept.value)
}

#[cfg(test)]
mod tests {
    use super::super::tests::kept;
    use super::*;

    #[test]
    fn a_line_for_each_setting() {
        let text = "# Written by `order9 apply`. `order9 undo` removes it.\n\
                    w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n\
                    w /sys/kernel/mm/transparent_hugepage/defrag - - - - defer+madvise\n";
        assert_eq!(form(&kept()[2..4]).text, text);
    }
}
