//! Owners of memory, by name: processes and mapped files, control groups, code and users in the kernel.

use order9_snapshot::owners::{Held, Holdings, KernelUseKind};

use super::Page;
use crate::number::{grouped, size};
use crate::table::{Table, ending};

/// Owners of each kind that are shown.
const SHOWN: usize = 10;
/// Columns of a name.
const NAME_WIDTH: usize = 36;

/// Adds a section with processes and files, control groups, code of the kernel, and users in the kernel.
pub(super) fn sections(owners: &Holdings, page: &mut Page) {
    let (width, colour) = (page.canvas.width, page.canvas.colour);
    let table = |name: &str, rows: Vec<Vec<String>>| {
        let mut table = Table::new([name, "memory", "pageblocks", "alone", "stays"]);
        rows.into_iter().for_each(|row| table.row(row));
        if table.is_empty() { String::new() } else { table.without_empty_columns().render(width, colour) + "\n" }
    };
    let users = owners.users.iter().take(SHOWN).map(|of| row(ending(&of.owner.to_string(), NAME_WIDTH), of)).collect();
    let cgroups = owners.cgroups.iter().take(SHOWN).map(|of| row(ending(&of.owner, NAME_WIDTH), of)).collect();
    let callers = owners.callers.iter().take(SHOWN);
    let callers = callers.map(|of| row(ending(&of.owner.to_string(), NAME_WIDTH), of)).collect();
    let mut kernel = Table::new(["in the kernel", "memory", "kind"]);
    for of in owners.kernel.iter().take(SHOWN) {
        let kind = match of.kind {
            KernelUseKind::Slab => "slab cache",
            KernelUseKind::Vmalloc => "vmalloc",
        };
        kernel.row(vec![of.name.clone(), size(of.pages.bytes()), kind.to_owned()]);
    }
    let kernel = if kernel.is_empty() { String::new() } else { kernel.render(width, colour) };
    let notes: String = owners.notes.iter().map(|note| format!(" Note: {note}.")).collect();
    let note = page.note(&format!(
        "pageblocks: those, huge pages left out, in which the owner has a page; alone: nobody else has one there; stays: a page there \
         cannot be moved. No owner is known of {}.{notes}",
        size(owners.unknown.bytes())
    ));
    let text = [
        table("process or mapped file", users),
        table("control group", cgroups),
        table("allocated in the kernel by", callers),
        kernel,
        note,
    ]
    .concat();
    page.section("Who holds memory", &text);
}

fn row<T>(name: String, of: &Held<T>) -> Vec<String> {
    vec![name, size(of.pages.bytes()), grouped(of.pageblocks), grouped(of.alone), grouped(of.stays)]
}
