//! The schema of exported tables: names, columns, types. CSV, JSON Lines and Parquet share it; docs/export.md describes it.

use serde::Serialize;

/// Version of the schema. It goes up when a column changes its meaning or goes; columns and tables may be added without.
pub const VERSION: u32 = 1;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// UTF-8; empty where there is nothing to say.
    Text,
    /// Whole number from 0 to 2^64 - 1.
    Number,
    /// Whole number, or nothing.
    MaybeNumber,
    /// Floating-point number of 64 bits, finite.
    Real,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name; a unit stands at its end.
    pub name: &'static str,
    /// Type of the values.
    #[serde(rename = "type")]
    pub kind: Kind,
}

/// A table of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Name, and name of the file without its ending.
    pub name: &'static str,
    /// Columns in their order.
    pub columns: &'static [Column],
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Of a column of text.
    Text(&'a str),
    /// Of a column of numbers.
    Number(u64),
    /// Of a column of fractions.
    Real(f64),
    /// No number.
    Nothing,
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: Kind::Text }
}

const fn number(name: &'static str) -> Column {
    Column { name, kind: Kind::Number }
}

const fn maybe(name: &'static str) -> Column {
    Column { name, kind: Kind::MaybeNumber }
}

const fn real(name: &'static str) -> Column {
    Column { name, kind: Kind::Real }
}

/// One row for each cell of a run: one policy, one seed.
pub const RUNS: Table = Table {
    name: "runs",
    columns: &[
        text("workload"),
        text("machine"),
        text("policy"),
        number("seed"),
        text("digest"),
        text("outcome"),
        text("message"),
        number("user_ns"),
        number("system_ns"),
        number("elapsed_ns"),
    ],
};

/// One row for each sample.
pub const SAMPLES: Table = Table {
    name: "samples",
    columns: &[text("policy"), number("seed"), text("operation"), number("at_ns"), real("value"), text("unit")],
};

/// One row for each value of a counter, at both ends of phases and over time.
pub const COUNTERS: Table = Table {
    name: "counters",
    columns: &[
        text("policy"),
        number("seed"),
        number("at_ns"),
        text("phase"),
        text("edge"),
        text("counter"),
        number("value"),
        text("meaning"),
    ],
};

/// One row for each event.
pub const EVENTS: Table = Table {
    name: "events",
    columns: &[
        text("policy"),
        number("seed"),
        number("at_ns"),
        number("cpu"),
        text("comm"),
        number("pid"),
        text("event"),
        text("fields"),
    ],
};

/// One row for each fact of a snapshot.
pub const FACTS: Table = Table {
    name: "facts",
    columns: &[
        text("snapshot"),
        maybe("node"),
        text("zone"),
        text("fact"),
        maybe("order"),
        text("migratetype"),
        number("value"),
        text("unit"),
    ],
};

/// All tables, those of runs first.
pub const TABLES: [Table; 5] = [RUNS, SAMPLES, COUNTERS, EVENTS, FACTS];

/// The schema as `schema.json`, which stands beside exported tables.
#[must_use]
pub fn to_json() -> String {
    #[derive(Serialize)]
    struct Schema {
        schema: &'static str,
        version: u32,
        tables: [Table; 5],
    }
    let schema = Schema { schema: "order9 export", version: VERSION, tables: TABLES };
    serde_json::to_string_pretty(&schema).expect("names can be written as JSON") + "\n"
}
