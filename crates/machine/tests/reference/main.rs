//! Random programs of tasks run on the executor and on a simulator that takes no short cut: same operations at the same
//! times in the same order on the same CPUs, same answers, same accounts.

mod naive;
mod program;

use proptest::prelude::*;

use program::{Outcome, execute, programs};

fn check_laws(outcome: &Outcome) {
    assert!(
        outcome.log.windows(2).all(|pair| pair[0].0 <= pair[1].0),
        "code ran at an earlier time: {:?}",
        outcome.log
    );
    for (task, stats) in outcome.tasks.iter().enumerate() {
        let lived = stats.ended.map_or(outcome.end, order9_units::Nanos::get) - stats.spawned.get();
        assert_eq!(stats.accounted().get(), lived, "time of task {task}: {stats:?}");
    }
    for (cpu, stats) in outcome.cpus.iter().enumerate() {
        assert_eq!((stats.busy + stats.idle).get(), outcome.end, "time of CPU {cpu}: {stats:?}");
    }
    let on_cpus: u64 = outcome.cpus.iter().map(|cpu| cpu.busy.get()).sum();
    let of_tasks = outcome.tasks.iter().map(|task| task.user + task.system + task.spin + task.switching);
    assert_eq!(on_cpus, of_tasks.sum::<order9_units::Nanos>().get(), "busy time of CPUs and of tasks");
}

/// Many more than usual: they are short. `PROPTEST_CASES` asks for even more.
fn cases() -> u32 {
    ProptestConfig::default().cases * 40
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn running_ahead_changes_nothing(program in programs()) {
        let (outcome, _) = execute(&program, &[]);
        check_laws(&outcome);
        prop_assert_eq!(outcome, naive::simulate(&program));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn a_run_in_pieces_is_the_same_run(program in programs(), mut stops in prop::collection::vec(0_u64..150, 0..6)) {
        let (whole, digest) = execute(&program, &[]);
        stops.sort_unstable();
        // Past the end of the foreground tasks, a timed run goes on with the daemons.
        stops.retain(|stop| *stop < whole.end);
        prop_assert_eq!(execute(&program, &stops), (whole, digest));
    }
}
