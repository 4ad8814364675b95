//! The controller against a host of numbers: what it decides, when it stops, and what it never does.

use order9_guard::{
    Action, Balance, Config, Controller, Decision, Goal, Lesson, NodeSeen, Observation, Share, Stalled, Stop, Took,
    Verdict, Watch,
};
use order9_units::{Nanos, NodeId, Pages};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// A host whose memory changes as a test says.
#[derive(Clone)]
struct Host {
    now: u64,
    nodes: Vec<NodeSeen>,
    some: u64,
    full: u64,
    freed: u64,
}

fn node(id: u16, huge: u64, loose: u64) -> NodeSeen {
    let (memory, low) = (Pages::new(1 << 20), Pages::new(1000));
    NodeSeen { node: NodeId(id), memory, free: Pages::new(512 * huge + loose), huge, low }
}

impl Host {
    /// Nodes with so many free huge pages, and free memory for a thousand more.
    fn new(huge: &[u64]) -> Self {
        let nodes = huge.iter().zip(0..).map(|(&huge, id)| node(id, huge, 512_000)).collect();
        Self { now: 0, nodes, some: 0, full: 0, freed: 0 }
    }

    fn seen(&self) -> Observation {
        let stalled = Stalled { some: Nanos::new(self.some), full: Nanos::new(self.full) };
        let (at, freed) = (Nanos::new(self.now), Pages::new(self.freed));
        Observation { at, nodes: self.nodes.clone(), stalled: Some(stalled), freed }
    }

    /// Gathers free pages into huge ones.
    fn gain(&mut self, node: NodeId, huge: u64) {
        let of = &mut self.nodes[usize::from(node.0)];
        let most = (of.free.get() - 512 * of.huge) / 512;
        of.huge += huge.min(most);
    }
}

/// A controller with full budgets, and goals of 500 huge pages.
fn controller() -> Controller {
    Controller::new(config())
}

fn config() -> Config {
    Config { goal: Goal::Count(500), ..Config::default() }
}

/// The memory that a step meets: CPU time in which it gains nothing, huge pages for each 10 ms then, and the CPU time in which it is done.
#[derive(Clone, Copy, Debug)]
struct Work {
    passing_ms: u64,
    gain: u64,
    done_ms: u64,
}

const FOR_EVER: u64 = u64::MAX / MS;

/// Work without an end that gains so many huge pages in 10 ms.
const fn gaining(gain: u64) -> Work {
    Work { passing_ms: 0, gain, done_ms: FOR_EVER }
}

/// Makes the step that was decided on, on a CPU of its own, as the controller watches it.
fn step(controller: &mut Controller, host: &mut Host, decision: &Decision, work: Work) -> (Took, Lesson) {
    let action = decision.action.expect("there is an action");
    let Action::Compact { node, .. } = action else { panic!("{action:?}") };
    let (mut cpu, mut gained) = (0, 0);
    let broken_off = loop {
        match controller.watch(Nanos::new(cpu), &host.seen()) {
            Watch::Stops(stop) => break Some(stop),
            Watch::GoesOn { .. } if cpu >= work.done_ms * MS => break None,
            Watch::GoesOn { look_in } => {
                let time = look_in.get().min(work.done_ms * MS - cpu);
                (cpu, host.now) = (cpu + time, host.now + time);
                let all = work.gain * cpu.saturating_sub(work.passing_ms * MS) / (10 * MS);
                host.gain(node, all - gained);
                gained = all;
            }
        }
    };
    let [elapsed, cpu] = [Nanos::new(cpu); 2];
    let took = Took { elapsed, cpu, stalled: Nanos::ZERO, broken_off, collapsed: 0 };
    (took, controller.learn(action, &took, &host.seen()))
}

/// The verdict on the first node some time later.
fn verdict_later(controller: &mut Controller, host: &mut Host, seconds: u64) -> Verdict {
    host.now += seconds * SECOND;
    controller.decide(&host.seen()).verdicts[0].1
}

#[test]
fn a_node_below_its_goal_is_compacted_in_one_step_until_it_is_ready() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let decision = controller.decide(&host.seen());
    let (took, lesson) = step(&mut controller, &mut host, &decision, gaining(100));
    assert!(took.broken_off == Some(Stop::Goal) && took.cpu < Nanos::new(23 * MS), "{took:?}");
    assert_eq!(lesson, Lesson::Worth { gain: 200 });
    host.now += controller.pause().get();
    assert!(matches!(controller.decide(&host.seen()).verdicts[0].1, Verdict::Ready { huge: 500, goal: 500, .. }));
    assert_eq!(controller.totals().compactions, 1);
}

#[test]
fn a_step_is_looked_at_when_the_goal_is_near() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let decision = controller.decide(&host.seen());
    let (took, _) = step(&mut controller, &mut host, &decision, gaining(75));
    let most = Nanos::new(29 * MS);
    assert!(took.cpu <= most, "{took:?}: 27 ms are enough, and a look every 20 ms would have come at 40");
}

#[test]
fn the_node_that_is_furthest_from_its_goal_comes_first() {
    let (mut controller, host) = (controller(), Host::new(&[400, 100, 500]));
    let Decision { verdicts, action } = controller.decide(&host.seen());
    assert!(matches!(action, Some(Action::Compact { node: NodeId(1), .. })));
    let words: Vec<_> = verdicts.iter().map(|(_, verdict)| verdict.word()).collect();
    assert_eq!(words, ["next", "compact", "ready"]);
}

#[test]
fn a_need_is_met_before_it_comes() {
    let (mut controller, mut host) = (controller(), Host::new(&[800]));
    let mut acted = None;
    for _ in 0..60 {
        let decision = controller.decide(&host.seen());
        if decision.action.is_some() {
            acted = Some(host.nodes[0].huge);
            step(&mut controller, &mut host, &decision, gaining(10));
            break;
        }
        host.nodes[0].huge -= 10;
        host.now += SECOND;
    }
    let huge = acted.expect("the goal comes nearer");
    assert!((550..=620).contains(&huge), "at {huge}: 10 a second are used, and 10 s are looked ahead");
    let then = host.nodes[0].huge;
    assert!((640..=710).contains(&then), "{then}: what is used in the next 20 s is there");
}

#[test]
fn a_step_that_gains_nothing_is_broken_off_later_each_time() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let mut costs = Vec::new();
    for _ in 0..4 {
        // So that budgets never decide.
        host.now += 3600 * SECOND;
        let decision = controller.decide(&host.seen());
        let (took, lesson) = step(&mut controller, &mut host, &decision, gaining(0));
        assert_eq!(took.broken_off, Some(if costs.len() < 3 { Stop::Vain } else { Stop::Cpu }));
        assert!(matches!(lesson, Lesson::InVain { gain: 0, .. }), "{lesson:?}");
        costs.push(took.cpu.get() / MS);
    }
    // Four times the 20 ms of the fewest huge pages that count and the 6 ms in which 2048 pageblocks are passed, or half of the step before.
    assert_eq!(costs, [112, 312, 712, 1200], "at the look after");
}

#[test]
fn a_step_that_no_longer_gains_is_broken_off() {
    let (mut controller, mut host) = (controller(), Host::new(&[0]));
    let decision = controller.decide(&host.seen());
    host.nodes[0] = node(0, 0, 100 * 512);
    let (took, lesson) = step(&mut controller, &mut host, &decision, gaining(50));
    assert_eq!(took.broken_off, Some(Stop::Vain), "there is nothing more after 20 ms");
    assert!(took.cpu < Nanos::new(160 * MS), "{took:?}");
    assert_eq!(lesson, Lesson::InVain { gain: 100, pause: Nanos::new(2 * SECOND) });
}

#[test]
fn a_step_that_passes_what_was_done_is_not_in_vain_and_the_next_one_has_time_for_that() {
    let (mut controller, mut host) = (controller(), Host::new(&[0]));
    let decision = controller.decide(&host.seen());
    let work = Work { passing_ms: 40, gain: 1, done_ms: FOR_EVER };
    let (took, lesson) = step(&mut controller, &mut host, &decision, Work { gain: 4, ..work });
    assert_eq!((took.broken_off, lesson.gain()), (Some(Stop::Cpu), 464), "1.2 s were saved up");
    let begun = loop {
        host.now += SECOND / 10;
        if let Some(Action::Compact { at_most, .. }) = controller.decide(&host.seen()).action {
            break at_most.get() / MS;
        }
    };
    assert!((208..=212).contains(&begun), "{begun} ms: four times 20, and 32, the last look before those 40");
}

#[test]
fn pauses_grow_while_compaction_is_in_vain_and_end_where_memory_changes() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let done = Work { passing_ms: 0, gain: 1, done_ms: 10 };
    let mut pauses = Vec::new();
    for _ in 0..12 {
        host.now += 3600 * SECOND;
        let decision = controller.decide(&host.seen());
        let (_, Lesson::InVain { pause, .. }) = step(&mut controller, &mut host, &decision, done) else {
            panic!("one huge page for 10 ms")
        };
        pauses.push(pause.get() / SECOND);
    }
    assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
    assert!(matches!(verdict_later(&mut controller, &mut host, 60), Verdict::BackOff { .. }));
    let free = host.nodes[0].free;
    host.nodes[0].free = free + Pages::new(30_000);
    assert!(matches!(verdict_later(&mut controller, &mut host, 1), Verdict::Compact { .. }), "a program has left");
}

#[test]
fn a_step_that_came_to_its_end_is_followed_by_another_one_until_that_is_in_vain() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let decision = controller.decide(&host.seen());
    let work = Work { passing_ms: 0, gain: 10, done_ms: 50 };
    let (took, lesson) = step(&mut controller, &mut host, &decision, work);
    assert_eq!((took.broken_off, lesson), (None, Lesson::Worth { gain: 50 }));
    host.now += SECOND;
    let decision = controller.decide(&host.seen());
    let (_, lesson) = step(&mut controller, &mut host, &decision, Work { gain: 0, ..work });
    assert_eq!(lesson, Lesson::InVain { gain: 0, pause: Nanos::new(2 * SECOND) });
    assert!(matches!(verdict_later(&mut controller, &mut host, 1), Verdict::BackOff { .. }));
}

#[test]
fn nothing_is_done_where_it_would_harm_or_be_of_no_use() {
    let verdict = |change: &dyn Fn(&mut Host), config: Config| {
        let (mut controller, mut host) = (Controller::new(config), Host::new(&[300]));
        controller.decide(&Host::new(&[500]).seen());
        change(&mut host);
        let decision = {
            host.now += SECOND;
            controller.decide(&host.seen())
        };
        assert_eq!(decision.action, None);
        decision.verdicts[0].1
    };
    let some = |host: &mut Host| host.some = 1100 * MS;
    assert!(matches!(verdict(&some, config()), Verdict::Pressure { .. }));
    let full = |host: &mut Host| host.full = 300 * MS;
    assert!(matches!(verdict(&full, config()), Verdict::Pressure { .. }));
    let low = |host: &mut Host| host.nodes[0] = node(0, 0, 900);
    assert!(matches!(verdict(&low, config()), Verdict::LowMemory { .. }));
    let used = |host: &mut Host| host.nodes[0] = node(0, 300, 1500);
    assert!(matches!(verdict(&used, config()), Verdict::NothingToGain { possible: 2 }));
    let same = |_: &mut Host| {};
    assert_eq!(verdict(&same, Config { may_compact: false, ..config() }), Verdict::NotAllowed);
    assert!(matches!(verdict(&same, Config { cpu: Share::percent(0.0), ..config() }), Verdict::NoCpu { .. }));
}

#[test]
fn a_step_is_broken_off_as_soon_as_the_host_suffers() {
    let stop = |change: &dyn Fn(&mut Host), config: Config| {
        let (mut controller, mut host) = (Controller::new(config), Host::new(&[300]));
        controller.decide(&host.seen());
        host.now += 10 * MS;
        assert!(matches!(controller.watch(Nanos::new(9 * MS), &host.seen()), Watch::GoesOn { .. }));
        change(&mut host);
        host.now += 10 * MS;
        controller.watch(Nanos::new(19 * MS), &host.seen())
    };
    let some = |host: &mut Host| host.some = 1100 * MS;
    assert_eq!(stop(&some, Config { stall: Share::percent(50.0), ..config() }), Watch::Stops(Stop::Pressure));
    assert_eq!(stop(&|host| host.some = 700 * MS, config()), Watch::Stops(Stop::Stall), "600 ms were saved up");
    assert_eq!(stop(&|host| host.nodes[0] = node(0, 0, 900), config()), Watch::Stops(Stop::LowMemory));
    assert_eq!(stop(&|host| host.nodes.clear(), config()), Watch::Stops(Stop::LowMemory), "the node is offline");
    assert_eq!(stop(&|host| host.now += 10 * SECOND, config()), Watch::Stops(Stop::Long));
    assert_eq!(stop(&|host| host.gain(NodeId(0), 200), config()), Watch::Stops(Stop::Goal));
}

#[test]
fn stall_time_is_paid_back_before_the_next_step() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let decision = controller.decide(&host.seen());
    let action = decision.action.expect("it is short");
    host.gain(NodeId(0), 20);
    host.now += 50 * MS;
    let stalled = Nanos::new(900 * MS);
    let [elapsed, cpu] = [Nanos::new(50 * MS); 2];
    let took = Took { elapsed, cpu, stalled, broken_off: Some(Stop::Stall), collapsed: 0 };
    controller.learn(action, &took, &host.seen());
    assert!(matches!(verdict_later(&mut controller, &mut host, 1), Verdict::NoStall { .. }), "600 ms were saved up");
    assert!(matches!(verdict_later(&mut controller, &mut host, 3600), Verdict::Compact { .. }));
}

#[test]
fn spare_huge_pages_collapse_ranges_where_that_is_allowed() {
    let config = Config { may_collapse: true, ..config() };
    let (mut controller, mut host) = (Controller::new(config), Host::new(&[530]));
    let action = controller.decide(&host.seen()).action.expect("30 are spare");
    assert!(matches!(action, Action::Collapse { pages: 30, .. }));
    host.now += MS;
    let [elapsed, cpu] = [Nanos::new(MS); 2];
    let took = Took { elapsed, cpu, stalled: Nanos::ZERO, broken_off: None, collapsed: 0 };
    assert!(matches!(controller.learn(action, &took, &host.seen()), Lesson::InVain { .. }));
    host.now += SECOND;
    assert_eq!(controller.decide(&host.seen()).action, None, "it backs off");
    assert_eq!(self::controller().decide(&host.seen()).action, None, "it is not allowed by default");
}

#[test]
fn another_configuration_holds_at_once_and_keeps_what_was_spent() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let decision = controller.decide(&host.seen());
    step(&mut controller, &mut host, &decision, gaining(0));
    controller.reconfigure(Config { goal: Goal::Count(100), ..config() });
    assert!(matches!(verdict_later(&mut controller, &mut host, 1), Verdict::Ready { goal: 100, .. }));
    assert_eq!(controller.totals().compactions, 1);
}

#[test]
fn a_guard_that_starts_anew_has_what_the_one_before_left() {
    let (mut first, mut host) = (controller(), Host::new(&[300]));
    let decision = first.decide(&host.seen());
    step(&mut first, &mut host, &decision, Work { passing_ms: 0, gain: 2, done_ms: FOR_EVER });
    let left = first.balance();
    assert!((0..=220 * MS as i64).contains(&left.cpu) && left.stall == 600 * MS as i64, "{left:?}");
    assert_eq!(left.spent(), Balance::EMPTY);
    let next = |passed: u64| controller().with_balance(left, Nanos::new(passed * SECOND)).balance().cpu;
    assert_eq!((next(0), next(10)), (left.cpu, left.cpu + 200 * MS as i64));
    assert_eq!(next(3600), 1200 * MS as i64, "no more than can be saved up");
    let debt = Balance { cpu: -5, stall: 7 };
    assert_eq!((debt.spent().cpu, controller().with_balance(debt, Nanos::ZERO).balance()), (-5, debt));
}

proptest! {
    /// Whatever happens, the CPU budget is kept, and nothing is done under pressure or below the low marks.
    #[test]
    fn budgets_and_refusals_hold_on_any_host(
        events in prop::collection::vec((0_u64..2000, 0_u64..600, 0_u64..400, 0_u64..3000, 0_u64..60, 1_u64..900), 1..200),
        share in 0_u32..30,
    ) {
        let config = Config { cpu: Share::percent(f64::from(share)), ..config() };
        let (mut controller, mut host) = (Controller::new(config.clone()), Host::new(&[300]));
        let mut spent: Vec<(u64, u64)> = Vec::new();
        for (pause, huge, some, gain, passing_ms, done_ms) in events {
            host.now += pause * MS;
            host.some += some * MS / 4;
            host.freed += 1000;
            host.nodes[0] = node(0, huge, 100 * gain);
            let before = host.seen();
            let decision = controller.decide(&before);
            if decision.action.is_some() {
                prop_assert!(before.nodes[0].free >= before.nodes[0].low);
                let is_compact = matches!(decision.verdicts[0].1, Verdict::Compact { .. });
                prop_assert!(is_compact);
                let (begun, spent_before) = (host.now, controller.totals().cpu.get());
                spent.push((begun, spent_before));
                step(&mut controller, &mut host, &decision, Work { passing_ms, gain: gain / 100, done_ms });
            }
            // Over every window that begins with a step and ends now: the share, the savings, and the least time between two looks.
            let now = controller.totals().cpu.get();
            for (begun, before) in &spent {
                let most = config.cpu.of(Nanos::new(host.now - begun) + config.save).get() + 2 * MS + 1000;
                prop_assert!(now - before <= most, "{} of {most} since {begun}", now - before);
            }
        }
    }
}
