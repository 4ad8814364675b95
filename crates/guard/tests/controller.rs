//! The controller against a host of numbers: what it decides, when it stops, and what it never does.

use order9_guard::{
    Action, Config, Controller, Decision, Goal, Lesson, NodeSeen, Observation, Share, Stalled, Took, Verdict,
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
    Controller::new(config()).with_savings()
}

fn config() -> Config {
    Config { goal: Goal::Count(500), ..Config::default() }
}

/// Makes the step that was decided on: it takes all its time on a CPU unless it ends before, and gains so much.
fn step(controller: &mut Controller, host: &mut Host, decision: &Decision, gain: u64, completed: bool) -> Lesson {
    let action = decision.action.expect("there is an action");
    let Action::Compact { node, at_most } = action else { panic!("{action:?}") };
    host.now += at_most.get();
    host.gain(node, gain);
    let took = Took { elapsed: at_most, cpu: at_most, stalled: Nanos::ZERO, completed, collapsed: 0 };
    controller.learn(action, &took, &host.seen())
}

/// The verdict on the first node a period later.
fn verdict_later(controller: &mut Controller, host: &mut Host, seconds: u64) -> Verdict {
    host.now += seconds * SECOND;
    controller.decide(&host.seen()).verdicts[0].1
}

#[test]
fn a_node_below_its_goal_is_compacted_in_steps_until_it_is_ready() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    for huge in [400, 500] {
        let decision = controller.decide(&host.seen());
        assert_eq!(step(&mut controller, &mut host, &decision, 100, false), Lesson::Worth { gain: 100, rest: None });
        assert_eq!(host.nodes[0].huge, huge);
        host.now += controller.pause().get();
    }
    assert!(matches!(controller.decide(&host.seen()).verdicts[0].1, Verdict::Ready { huge: 500, goal: 500, .. }));
    assert_eq!(controller.totals().compactions, 2);
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
        if controller.decide(&host.seen()).action.is_some() {
            acted = Some(host.nodes[0].huge);
            break;
        }
        host.nodes[0].huge -= 10;
        host.now += SECOND;
    }
    let huge = acted.expect("the goal comes nearer");
    assert!((550..=620).contains(&huge), "at {huge}: 10 a second are used, and 10 s are looked ahead");
}

#[test]
fn a_step_that_reaches_nothing_is_doubled_and_then_given_up() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let mut steps = Vec::new();
    loop {
        let decision = controller.decide(&host.seen());
        let Some(Action::Compact { at_most, .. }) = decision.action else {
            assert!(matches!(decision.verdicts[0].1, Verdict::NoCpu { .. }), "{decision:?}");
            host.now += SECOND;
            continue;
        };
        steps.push(at_most.get() / MS);
        match step(&mut controller, &mut host, &decision, 0, false) {
            Lesson::Longer { .. } => host.now += SECOND,
            lesson => break assert_eq!(lesson, Lesson::InVain { gain: 0, pause: Nanos::new(2 * SECOND) }),
        }
    }
    assert_eq!(steps[..4], [50, 100, 200, 400], "doubled");
    assert!(steps.len() >= 6 && steps.iter().all(|step| *step <= 1000), "{steps:?}");
    assert!(matches!(verdict_later(&mut controller, &mut host, 1), Verdict::BackOff { .. }));
}

#[test]
fn a_step_is_begun_with_a_part_of_its_time_unless_that_would_go_by_in_passing() {
    let first_step = |gains: &[u64]| {
        let (mut controller, mut host) = (controller(), Host::new(&[300]));
        controller.reconfigure(Config { goal: Goal::Count(2000), ..config() });
        for &gain in gains {
            let decision = controller.decide(&host.seen());
            step(&mut controller, &mut host, &decision, gain, false);
            host.now += SECOND;
        }
        // Savings are spent, and the next step begins as soon as it may.
        while let Decision { action: Some(_), .. } = controller.decide(&host.seen()) {
            let decision = controller.decide(&host.seen());
            step(&mut controller, &mut host, &decision, *gains.last().expect("there is a gain"), false);
        }
        loop {
            host.now += SECOND / 10;
            if let Some(Action::Compact { at_most, .. }) = controller.decide(&host.seen()).action {
                return at_most.get() / MS;
            }
        }
    };
    let short = first_step(&[10, 10]);
    assert!((12..=20).contains(&short), "{short} ms, where every step gained the same: nothing was passed");
    assert_eq!(first_step(&[40, 10]), 50, "three quarters of the last step were spent in passing");
}

#[test]
fn pauses_grow_while_compaction_is_in_vain_and_end_where_memory_changes() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let mut pauses = Vec::new();
    for _ in 0..12 {
        // So that budgets never decide.
        host.now += 3600 * SECOND;
        let decision = controller.decide(&host.seen());
        let Lesson::InVain { pause, .. } = step(&mut controller, &mut host, &decision, 1, true) else {
            panic!("one huge page for 50 ms")
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
fn a_node_that_was_compacted_whole_rests() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let decision = controller.decide(&host.seen());
    let lesson = step(&mut controller, &mut host, &decision, 50, true);
    assert_eq!(lesson, Lesson::Worth { gain: 50, rest: Some(Nanos::new(2 * SECOND)) });
    assert!(matches!(verdict_later(&mut controller, &mut host, 1), Verdict::BackOff { .. }));
    assert!(matches!(verdict_later(&mut controller, &mut host, 2), Verdict::Compact { .. }));
}

#[test]
fn nothing_is_done_where_it_would_harm_or_be_of_no_use() {
    let verdict = |change: &dyn Fn(&mut Host), config: Config| {
        let (mut controller, mut host) = (Controller::new(config).with_savings(), Host::new(&[300]));
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
fn stall_time_is_paid_back_before_the_next_step() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let decision = controller.decide(&host.seen());
    let action = decision.action.expect("it is short");
    host.gain(NodeId(0), 20);
    host.now += 50 * MS;
    let stalled = Nanos::new(900 * MS);
    let took = Took { elapsed: Nanos::new(50 * MS), cpu: Nanos::new(50 * MS), stalled, completed: false, collapsed: 0 };
    controller.learn(action, &took, &host.seen());
    assert!(matches!(verdict_later(&mut controller, &mut host, 1), Verdict::NoStall { .. }), "600 ms were saved up");
    assert!(matches!(verdict_later(&mut controller, &mut host, 3600), Verdict::Compact { .. }));
}

#[test]
fn spare_huge_pages_collapse_ranges_where_that_is_allowed() {
    let config = Config { may_collapse: true, ..config() };
    let (mut controller, mut host) = (Controller::new(config).with_savings(), Host::new(&[530]));
    let action = controller.decide(&host.seen()).action.expect("30 are spare");
    assert!(matches!(action, Action::Collapse { pages: 30, .. }));
    host.now += MS;
    let took =
        Took { elapsed: Nanos::new(MS), cpu: Nanos::new(MS), stalled: Nanos::ZERO, completed: true, collapsed: 0 };
    assert!(matches!(controller.learn(action, &took, &host.seen()), Lesson::InVain { .. }));
    host.now += SECOND;
    assert_eq!(controller.decide(&host.seen()).action, None, "it backs off");
    assert_eq!(self::controller().decide(&host.seen()).action, None, "it is not allowed by default");
}

#[test]
fn another_configuration_holds_at_once_and_keeps_what_was_spent() {
    let (mut controller, mut host) = (controller(), Host::new(&[300]));
    let decision = controller.decide(&host.seen());
    step(&mut controller, &mut host, &decision, 0, true);
    controller.reconfigure(Config { goal: Goal::Count(100), ..config() });
    assert!(matches!(verdict_later(&mut controller, &mut host, 1), Verdict::Ready { goal: 100, .. }));
    assert_eq!(controller.totals().compactions, 1);
}

proptest! {
    /// Whatever happens, the CPU budget is kept, no step is longer than allowed, and nothing is done under pressure or below
    /// the low marks.
    #[test]
    fn budgets_and_refusals_hold_on_any_host(
        events in prop::collection::vec((0_u64..2000, 0_u64..600, 0_u64..400, any::<bool>(), 0_u64..3000), 1..200),
        share in 0_u32..30,
    ) {
        let config = Config { cpu: Share::percent(f64::from(share)), ..config() };
        let (mut controller, mut host) = (Controller::new(config.clone()), Host::new(&[300]));
        for (pause, huge, some, completed, gain) in events {
            host.now += pause * MS;
            host.some += some * MS / 4;
            host.freed += 1000;
            host.nodes[0] = node(0, huge, 100 * gain);
            let before = host.seen();
            let decision = controller.decide(&before);
            if let Some(Action::Compact { at_most, .. }) = decision.action {
                prop_assert!(at_most <= config.step_max);
                prop_assert!(before.nodes[0].free >= before.nodes[0].low);
                let is_compact = matches!(decision.verdicts[0].1, Verdict::Compact { .. });
                prop_assert!(is_compact);
                step(&mut controller, &mut host, &decision, gain / 100, completed);
            }
            let most = config.cpu.of(Nanos::new(host.now)).get() + 1;
            prop_assert!(controller.totals().cpu.get() <= most, "{} of {most}", controller.totals().cpu.get());
        }
    }
}
