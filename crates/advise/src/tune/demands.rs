//! Variants of a demand: the same program, somewhat smaller and somewhat larger.

use order9_lab::Plan;
use order9_record::Inputs;
use order9_report::number::{duration, size};
use order9_units::{Bytes, Nanos, PAGEBLOCK_PAGES};
use order9_workloads::{Kind, Parameter, Value};

/// Factors of the variants, that as asked for first.
const FACTORS: [f64; 3] = [1.0, 0.8, 1.2];
/// Amounts of memory stay multiples of a huge page.
const HUGE: u64 = PAGEBLOCK_PAGES.bytes().get();

/// The experiment under each variant of its demand, with words for each. `inputs` are those of a run of `plan`, whose amounts of memory
/// hold for all variants and combinations: a default that goes by the available memory would change with settings.
pub(super) fn demands(plan: &Plan, inputs: &Inputs) -> Vec<(Plan, String)> {
    let plan = pinned(plan, inputs);
    let parameters = plan.workload.spec().parameters;
    let scalable = |parameter: &&Parameter| scaled(&plan, parameter, 2.0).is_some();
    let memory = parameters.iter().filter(|parameter| matches!(parameter.kind, Kind::Bytes { .. })).find(scalable);
    let time = || parameters.iter().filter(|parameter| parameter.kind == Kind::Time).find(scalable);
    let Some(parameter) = memory.or_else(time) else { return vec![(plan, "as asked for".to_owned())] };
    let variant = |factor| {
        let value = scaled(&plan, parameter, factor).expect("it scales");
        let text = match &value {
            Value::Bytes(bytes) => size(*bytes),
            Value::Time(time) => duration(*time),
            other => other.to_string(),
        };
        let mut variant = plan.clone();
        variant.chosen.insert(parameter.key, value);
        (variant, format!("{}={text}", parameter.key))
    };
    FACTORS.map(variant).into_iter().collect()
}

/// The plan with all amounts of memory chosen, as they came out on the machine.
fn pinned(plan: &Plan, inputs: &Inputs) -> Plan {
    let mut plan = plan.clone();
    for parameter in plan.workload.spec().parameters {
        let text = inputs.workload.parameters.get(parameter.key).and_then(|value| value.as_str());
        if let (Kind::Bytes { .. }, Some(Ok(bytes))) = (parameter.kind, text.map(str::parse)) {
            plan.chosen.insert(parameter.key, Value::Bytes(bytes));
        }
    }
    plan
}

/// The value of a parameter times `factor`; `None` where that is no other value.
fn scaled(plan: &Plan, parameter: &Parameter, factor: f64) -> Option<Value> {
    match (parameter.kind, plan.chosen.get(parameter.key)?) {
        (Kind::Bytes { min }, Value::Bytes(bytes)) if bytes.get() > 0 => {
            let exact = bytes.get() as f64 * factor;
            let whole = if factor == 1.0 { bytes.get() } else { (exact / HUGE as f64).round() as u64 * HUGE };
            Some(Value::Bytes(Bytes::new(whole).max(min)))
        }
        (Kind::Time, Value::Time(time)) if time.get() > 0 => {
            Some(Value::Time(Nanos::new((time.get() as f64 * factor).round() as u64)))
        }
        _ => None,
    }
}
