//! Accesses during whose allocations something else happens to the page.

use order9_mm::space::{Access, FaultStep};

use super::{CPU, Pair, addr};
use crate::model::{BASE, Source};
use crate::op::{Op, Race};

impl Pair {
    /// Every allocation of the access is followed by something else before its page is handed in.
    pub(super) fn raced_touch(&mut self, at: usize, vpn: u64, access: Access, race: Race) {
        let id = self.spaces[at];
        let mut step = self.mm.fault_begin(id, addr(vpn), access, CPU);
        let mut raced = false;
        while let FaultStep::NeedPage(fault) = step {
            let page = self.page_for(&fault);
            if !raced {
                self.race(at, vpn, access, race);
                raced = true;
            }
            step = self.mm.fault_finish(&fault, page, CPU);
            self.mm.check().expect("laws hold between the steps of a fault");
        }
        if step == FaultStep::Retry {
            self.touch(at, vpn, access);
        } else {
            self.judge(at, vpn, access, &step);
        }
    }

    fn race(&mut self, at: usize, vpn: u64, access: Access, race: Race) {
        let page = vpn - BASE;
        match race {
            Race::Munmap => self.apply(self.in_space(at, |space| Op::Munmap { space, page, pages: 1 })),
            Race::DontNeed => {
                let advice = order9_mm::space::Madvise::DontNeed;
                self.apply(self.in_space(at, |space| Op::Madvise { space, page, pages: 1, advice }));
            }
            Race::Touch => self.touch(at, vpn, access),
            Race::Fork => self.fork(at),
            Race::Punch => {
                if let Source::File { file, index, .. } = self.model.space(at)[&vpn].source {
                    let open_before = self.model.files[..file].iter().filter(|file| file.open).count();
                    self.apply(Op::Punch { file: open_before, index, pages: 1 });
                }
            }
            Race::Exit => self.apply(self.in_space(at, |space| Op::Exit { space })),
        }
    }
}
