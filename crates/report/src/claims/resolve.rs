//! Statements as they are written, resolved to the rows that they select.

use super::raw::{RawRelation, RawStatement};
use super::{Bound, CellRef, Field, Op, Reading, Reference, Relation, RowKey, Statement, Term};

/// The printed numbers a statement can be about, in the order of the file.
type Printed<'a> = &'a [(RowKey, Reading)];

/// Checks that a statement selects rows which have the numbers it compares. The error says what was expected.
pub(super) fn statement(raw: RawStatement, printed: Printed<'_>) -> Result<Statement, String> {
    let rows = selected(&raw, printed)?;
    let relation = relation(&raw, printed)?;
    let need = need(&raw, &relation, rows.len())?;
    for row in &rows {
        can_be_judged(row, reading(row, printed)?, raw.left, &relation)?;
    }
    Ok(Statement { rows, left: raw.left, relation, need, level: raw.level, note: raw.note })
}

fn can_be_judged(row: &RowKey, reading: Reading, left: Field, relation: &Relation) -> Result<(), String> {
    match relation {
        Relation::Significant => {
            reading.significant().map(|_| ()).ok_or_else(|| format!("{row} carries no mark of significance"))
        }
        Relation::Order(_, Term::Of(Reference::Baseline)) | Relation::Ratio(_, Reference::Baseline, _) => {
            has_field(row, reading, left)?;
            has_field(row, reading, Field::Baseline)
        }
        Relation::Order(..) | Relation::Ratio(..) => has_field(row, reading, left),
    }
}

fn has_field(row: &RowKey, reading: Reading, field: Field) -> Result<(), String> {
    reading.field(field).map(|_| ()).ok_or_else(|| format!("{row} has no number called {field}"))
}

fn reading(row: &RowKey, printed: Printed<'_>) -> Result<Reading, String> {
    let found = printed.iter().find(|(key, _)| key == row).map(|&(_, reading)| reading);
    found.ok_or_else(|| {
        let wanted = row.to_string();
        let names = printed.iter().map(|(key, _)| key.to_string());
        let distance = |name: &String| strsim::damerau_levenshtein(name, &wanted);
        match names.min_by_key(distance) {
            Some(nearest) => format!("there is no number for {wanted}; the nearest name is {nearest}"),
            None => format!("there is no number for {wanted}, nor for anything else"),
        }
    })
}

/// The rows of the metric and, if given, the statistic, that `param` names.
fn selected(raw: &RawStatement, printed: Printed<'_>) -> Result<Vec<RowKey>, String> {
    let stat = raw.stat.as_deref().unwrap_or_default();
    let named = |params: &[String]| {
        let rows = params.iter().map(|param| RowKey::new(&raw.metric, stat, param));
        rows.map(|row| reading(&row, printed).map(|_| row)).collect()
    };
    match (raw.param.as_str(), &raw.params) {
        ("list", Some(params)) if !params.is_empty() => named(params),
        ("list", _) => Err("`param = \"list\"` needs the key `params` with the values".to_owned()),
        (_, Some(_)) => Err("the key `params` needs `param = \"list\"`".to_owned()),
        ("all", None) => {
            let matches = |key: &RowKey| key.metric == raw.metric && raw.stat.as_ref().is_none_or(|_| key.stat == stat);
            let rows: Vec<_> = printed.iter().map(|(key, _)| key).filter(|key| matches(key)).cloned().collect();
            if rows.is_empty() {
                reading(&RowKey::new(&raw.metric, stat, "all"), printed).map(|_| rows)
            } else {
                Ok(rows)
            }
        }
        (param, None) => named(&[param.to_owned()]),
    }
}

fn relation(raw: &RawStatement, printed: Printed<'_>) -> Result<Relation, String> {
    let order = |op| match (reference(raw, printed)?, raw.value) {
        (None, Some(value)) => Ok(Relation::Order(op, Term::Number(value))),
        (Some(reference), None) => Ok(Relation::Order(op, Term::Of(reference))),
        (None, None) => Err("`than = \"value\"` needs the key `value`".to_owned()),
        (Some(_), Some(_)) => Err("the key `value` needs `than = \"value\"` or a relation of ratios".to_owned()),
    };
    let ratio = |bound| match (reference(raw, printed)?, raw.value) {
        (Some(reference), Some(value)) => Ok(Relation::Ratio(bound, reference, value)),
        (None, _) => Err("a ratio needs `than` to name its divisor: \"baseline\" or a cell".to_owned()),
        (Some(_), None) => Err("a ratio needs its bound in the key `value`".to_owned()),
    };
    match raw.relation {
        RawRelation::Less => order(Op::Less),
        RawRelation::AtMost => order(Op::AtMost),
        RawRelation::Greater => order(Op::Greater),
        RawRelation::AtLeast => order(Op::AtLeast),
        RawRelation::RatioAtMost => ratio(Bound::AtMost),
        RawRelation::RatioAtLeast => ratio(Bound::AtLeast),
        RawRelation::SignificantAtLeast if raw.than == "value" && raw.left == Field::Patched => {
            Ok(Relation::Significant)
        }
        RawRelation::SignificantAtLeast => {
            Err("`significant>=` needs `left = \"patched\"` and `than = \"value\"`".to_owned())
        }
    }
}

/// The reference that `than` names; `None` if it is the number in `value`.
fn reference(raw: &RawStatement, printed: Printed<'_>) -> Result<Option<Reference>, String> {
    match raw.than.as_str() {
        "value" => Ok(None),
        "baseline" if raw.left == Field::Baseline => Err("the baseline is compared with itself".to_owned()),
        "baseline" => Ok(Some(Reference::Baseline)),
        than => {
            let cell = CellRef::parse(than);
            let expected = || format!("expected \"baseline\", \"value\" or metric|stat|param|field, found {than:?}");
            let cell = cell.ok_or_else(expected)?;
            has_field(&cell.row, reading(&cell.row, printed)?, cell.field)?;
            Ok(Some(Reference::Cell(cell)))
        }
    }
}

/// Number of the `rows` rows in which the relation must hold.
fn need(raw: &RawStatement, relation: &Relation, rows: usize) -> Result<usize, String> {
    let within = |need: usize| {
        let wrong = || format!("it must hold in {need} rows, but there are {rows}: expected 1 to {rows}");
        (1..=rows).contains(&need).then_some(need).ok_or_else(wrong)
    };
    match (relation, raw.hold, raw.value) {
        (Relation::Significant, Some(_), _) => {
            Err("`significant>=` takes its number from `value`, not `hold`".to_owned())
        }
        (Relation::Significant, None, Some(value)) if value.fract() == 0.0 && value >= 0.0 => within(value as usize),
        (Relation::Significant, None, _) => Err("`significant>=` needs a whole number in the key `value`".to_owned()),
        (_, hold, _) => hold.map_or(Ok(rows), within),
    }
}
