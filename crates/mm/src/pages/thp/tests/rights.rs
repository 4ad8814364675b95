//! Effort of a fault for a huge page: every value of `defrag`, with and without advice, in every release that changed it.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use super::{CPU, HUGE, at, boot, pages, program};
use crate::policy::{DefragDefault, HugePlacement, Policy, ThpPolicy};
use crate::space::{Access, FaultStep, Madvise, Need};
use crate::thp::{HugeDefrag, khugepaged_gfp, zero_gfp};
use crate::{Gfp, Mm};

/// Rights in advised memory and in other memory, by the values of [`HugeDefrag::ALL`]: D reclaims and compacts, K wakes
/// kswapd, N gives up after one round, - does neither. `None`: there is no such value.
type Rights = [Option<[&'static str; 2]>; 5];

/// The releases in which the table changed.
fn releases() -> [(&'static str, ThpPolicy, Rights); 4] {
    let v4_11 = ThpPolicy::default();
    let v4_8 = ThpPolicy { defer_madvise: false, ..v4_11.clone() };
    let v4_6 = ThpPolicy { madvised_noretry: true, ..v4_8.clone() };
    let v4_4 = ThpPolicy { defrag: DefragDefault::Always, defer: false, ..v4_6.clone() };
    let never = Some(["-", "-"]);
    [
        ("4.4", v4_4, [Some(["DN", "DN"]), None, None, Some(["DN", "-"]), never]),
        ("4.6", v4_6, [Some(["DN", "DN"]), Some(["K", "K"]), None, Some(["DN", "-"]), never]),
        ("4.8", v4_8, [Some(["D", "DN"]), Some(["K", "K"]), None, Some(["D", "-"]), never]),
        ("4.11", v4_11, [Some(["D", "DN"]), Some(["K", "K"]), Some(["D", "K"]), Some(["D", "-"]), never]),
    ]
}

/// Flags with which a first write asks for a huge page, once after the other while there is none.
fn asks(mm: &mut Mm, advised: bool) -> Vec<Gfp> {
    let space = program(mm, HUGE);
    if advised {
        mm.madvise(space, at(0), pages(HUGE), Madvise::HugePage, CPU).expect("it is mapped");
    }
    let mut step = mm.fault_begin(space, at(7), Access::Write, CPU);
    let mut asked = Vec::new();
    while let FaultStep::NeedPage(fault) = step {
        let request = fault.request(CPU);
        step = match fault.need() {
            Need::HugePage => {
                asked.push(request.gfp);
                mm.pages.refuse(&fault, CPU, &mut mm.phys)
            }
            _ if !asked.is_empty() => break,
            _ => {
                let page = mm.alloc_fast(&request).expect("memory is free");
                mm.fault_finish(&fault, page, CPU)
            }
        };
    }
    asked
}

fn written(gfp: Gfp) -> String {
    let flags = [(Gfp::DIRECT_RECLAIM, 'D'), (Gfp::KSWAPD_RECLAIM, 'K'), (Gfp::NORETRY, 'N')];
    let text: String = flags.into_iter().filter(|&(flag, _)| gfp.has(flag)).map(|(_, letter)| letter).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

#[test]
fn rights_follow_mode_advice_and_release() {
    for (release, thp, rights) in releases() {
        for (mode, expected) in HugeDefrag::ALL.into_iter().zip(rights) {
            let mut mm = boot(Policy { thp: thp.clone(), ..Policy::default() });
            assert_eq!(thp.has_defrag(mode), expected.is_some(), "{release}, {mode:?}");
            let Some(expected) = expected else { continue };
            mm.phys.set_thp_defrag(mode);
            let asked = [true, false].map(|advised| written(asks(&mut mm, advised)[0]));
            assert_eq!(asked, expected, "{release}, {mode:?}: advised, not advised");
        }
    }
}

/// The attempts at huge pages of a fault with these rights on a machine of one node, by the table of placements; T asks one node
/// only, C compacts only.
fn placed(placement: HugePlacement, rights: &str) -> Vec<String> {
    let (all, direct) = (rights.trim_matches('-'), rights.contains('D'));
    let noretry = if all.contains('N') { all.to_owned() } else { format!("{all}N") };
    let retry = all.replace('N', "");
    let light = all.replace(['D', 'K'], "");
    let local = |rights: &str| format!("{rights}T");
    let then = |first: String, second: &str| if direct { vec![first, second.to_owned()] } else { vec![first] };
    use HugePlacement::{ForceLocal, MadvLocal, MpolProximity, Relax};
    match placement {
        HugePlacement::ThisNode => vec![local(all)],
        Relax | MadvLocal | ForceLocal | MpolProximity if direct => vec![all.to_owned()],
        Relax | MadvLocal | ForceLocal | MpolProximity => vec![local(all)],
        HugePlacement::NoRetry => vec![local(&noretry)],
        HugePlacement::CompactOnly | HugePlacement::CompactOnlyWmark => vec![format!("{noretry}TC")],
        HugePlacement::TwoStepLocal => then(local(all), &noretry),
        HugePlacement::TwoStep | HugePlacement::TwoStepStrict | HugePlacement::TwoStepThisNode => {
            then(local(&noretry), all)
        }
        HugePlacement::AnyNode => vec![all.to_owned()],
        HugePlacement::Proximity => vec![local(&retry)],
        HugePlacement::MultiOrder | HugePlacement::MultiOrderGuest => vec![local(&noretry)],
        HugePlacement::LocalBaseFirst => vec![local(all)],
        HugePlacement::Estimate => vec![local(&light)],
    }
}

#[test]
fn attempts_follow_release_mode_advice_and_placement() {
    let letter = |gfp: Gfp, flag, letter| if gfp.has(flag) { letter } else { "" };
    let one = |gfp: Gfp| {
        written(gfp).replace('-', "") + letter(gfp, Gfp::THISNODE, "T") + letter(gfp, Gfp::COMPACT_ONLY, "C")
    };
    for (release, thp, rights) in releases() {
        for &placement in HugePlacement::ALL {
            for (mode, expected) in
                HugeDefrag::ALL.into_iter().zip(rights).filter_map(|(mode, rights)| Some((mode, rights?)))
            {
                for (advised, rights) in [true, false].into_iter().zip(expected) {
                    let mut mm = boot(Policy { thp: ThpPolicy { placement, ..thp.clone() }, ..Policy::default() });
                    mm.phys.set_thp_defrag(mode);
                    let mut asked: Vec<String> = asks(&mut mm, advised).into_iter().map(one).collect();
                    // What an estimate tries next depends on what there is.
                    asked.truncate(if placement == HugePlacement::Estimate { 1 } else { asked.len() });
                    let case = format!("{release}, {placement:?}, {mode:?}, advised {advised}");
                    assert_eq!(asked, placed(placement, rights), "{case}");
                }
            }
        }
        let zero = zero_gfp(&thp);
        let noretry = if thp.madvised_noretry { "DN" } else { "D" };
        assert_eq!((written(zero).as_str(), zero.has(Gfp::THISNODE)), (noretry, false), "{release}: the page of zeros");
        for (defrag, rights) in [(true, noretry), (false, "-")] {
            assert_eq!(written(khugepaged_gfp(defrag, &thp)), rights, "{release}: khugepaged, defrag {defrag}");
        }
    }
}

#[test]
fn what_all_requests_have_in_common() {
    for mode in HugeDefrag::ALL {
        for advised in [true, false] {
            let mut mm = boot(Policy::default());
            mm.phys.set_thp_defrag(mode);
            let gfp = asks(&mut mm, advised)[0];
            assert!(gfp.has(Gfp::MOVABLE | Gfp::COMP | Gfp::NOMEMALLOC | Gfp::NOWARN | Gfp::THISNODE), "{mode:?}");
            assert!(!gfp.has(Gfp::RETRY_MAYFAIL) && !gfp.has(Gfp::HIGH), "{mode:?}");
        }
    }
}
