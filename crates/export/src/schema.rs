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

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Value of a column of text.
    Text(&'a str),
    /// Value of a column of whole numbers.
    Number(u64),
    /// Value of a column of floating-point numbers.
    Real(f64),
    /// Missing value of a column that may have none.
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

/// Table of the cells of a run: a row for each policy and seed.
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

/// Table of all samples of a run.
pub const SAMPLES: Table = Table {
    name: "samples",
    columns: &[text("policy"), number("seed"), text("operation"), number("at_ns"), real("value"), text("unit")],
};

/// Table of the values of counters, at both ends of phases and over time.
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

/// Table of recorded events.
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

/// Table of what a snapshot says: memory of zones, watermarks, free blocks, pageblocks, /proc/vmstat.
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
