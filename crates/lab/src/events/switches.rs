//! Switches of CPUs as the tracepoint `sched_switch` has them.

use std::sync::Arc;

use order9_machine::TracedSwitch;
use order9_machine::time::{Switch, TaskId};
use order9_record as record;

/// Priority of every task: the scheduler of the lab knows no other.
const PRIO: u32 = 120;

/// The event of a switch. `nobody` is the task of an idle CPU.
pub(super) fn event(switch: &Switch, tasks: &[Arc<str>], nobody: &Arc<str>) -> record::Event {
    let Switch { at, cpu, prev, next } = *switch;
    let named = |task: Option<TaskId>| match task {
        Some(task) => (tasks[task.index()].clone(), task.index() as u32 + 1),
        None => (nobody.clone(), 0),
    };
    let ((prev_comm, prev_pid), (next_comm, next_pid)) = (named(prev.map(|(task, _)| task)), named(next));
    let state = prev.map_or(0, |(_, state)| state.number());
    record::Event {
        at,
        cpu: cpu.0.into(),
        pid: prev_pid,
        name: TracedSwitch::NAME.into(),
        fields: format!(
            "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={PRIO} prev_state={state} next_comm={next_comm} \
             next_pid={next_pid} next_prio={PRIO}"
        ),
        comm: prev_comm,
    }
}
