//! Any text as the kernel's command line: it is refused in one line, or a machine boots with it and every law holds.

use order9_mm::policy::{HugeInterface, Policy};
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_procfs::command_line::CommandLine;
use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

/// Boots machines of old and new rules with `text`.
pub(crate) fn run(text: &str) {
    let line = match CommandLine::parse(text) {
        Ok(line) => line,
        Err(error) => {
            // Blanks separate parameters, so that no error can hold the end of a line; other control characters are the caller's.
            let message = error.to_string();
            return assert!(!message.contains(['\n', '\r']), "{message:?}");
        }
    };
    for sizes in [false, true] {
        let mut policy = Policy::default();
        if sizes {
            policy.thp.interface = HugeInterface::Sizes;
        }
        if line.first_absent(&policy.thp).is_some() {
            continue;
        }
        let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(16 << 8));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").boot();
        line.boot(&mut mm);
        mm.check().unwrap_or_else(|violation| panic!("{violation}"));
    }
}
