//! `order9 fleet query`: hands the facts to DuckDB, whichever way this host has it.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::folder::FleetFolder;
use crate::args::{QueryArgs, QueryFormat};
use crate::failure::Failure;

/// Views of the table, one for each level of rows.
const LEVELS: [(&str, &str); 4] = [("hosts", "host"), ("nodes", "node"), ("zones", "zone"), ("owners", "owner")];

/// The statement and the form of its answer, by Python's module.
const PROGRAM: &str = r#"
import json, sys
import duckdb
setup, sql, form = sys.argv[1:]
try:
    connection = duckdb.connect()
    connection.execute(setup)
    answer = connection.sql(sql)
    if answer is None:
        pass
    elif form == "table":
        print(answer)
    elif form == "csv":
        import csv
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(answer.columns)
        out.writerows(answer.fetchall())
    else:
        rows = [dict(zip(answer.columns, row)) for row in answer.fetchall()]
        print(json.dumps(rows, indent=2, default=str))
except duckdb.Error as error:
    sys.exit(str(error))
except BrokenPipeError:
    sys.stderr.close()
"#;

pub(crate) fn run(args: &QueryArgs) -> Result<(), Failure> {
    let facts = FleetFolder::open(&args.fleet)?.facts();
    let setup = setup(&facts)?;
    let mut command = command(args, &setup)?;
    let output = command.stdin(Stdio::null()).stdout(Stdio::inherit()).stderr(Stdio::piped()).spawn();
    let output = output.and_then(std::process::Child::wait_with_output).map_err(|error| failed(&error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    // The first line says what is wrong; the others show where.
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(failed(&lines.join("; ")))
}

fn failed(problem: &str) -> Failure {
    Failure::Usage(format!("duckdb: {problem}"))
}

/// Statements that make the views.
fn setup(facts: &Path) -> Result<String, Failure> {
    let path = facts.to_str().ok_or_else(|| Failure::file(facts, "its name is no UTF-8, which DuckDB demands"))?;
    let path = path.replace('\'', "''");
    let views =
        LEVELS.map(|(view, level)| format!("create view {view} as select * from facts where level = '{level}';"));
    Ok(format!("create view facts as select * from read_parquet('{path}'); {}", views.concat()))
}

/// The program `duckdb`, or Python where it has the module.
fn command(args: &QueryArgs, setup: &str) -> Result<Command, Failure> {
    if is_there(Command::new("duckdb").arg("--version")) {
        let form = match args.format {
            QueryFormat::Table => "-box",
            QueryFormat::Csv => "-csv",
            QueryFormat::Json => "-json",
        };
        let mut command = Command::new("duckdb");
        command.args(["-batch", "-bail", form, ":memory:", &format!("{setup} {}", args.sql)]);
        return Ok(command);
    }
    if is_there(Command::new("python3").args(["-c", "import duckdb"])) {
        let form = match args.format {
            QueryFormat::Table => "table",
            QueryFormat::Csv => "csv",
            QueryFormat::Json => "json",
        };
        let mut command = Command::new("python3");
        command.args(["-c", PROGRAM, setup, &args.sql, form]);
        return Ok(command);
    }
    Err(Failure::Usage(
        "DuckDB is needed to query a fleet: neither a program `duckdb` nor the module of python3 (pip install duckdb) is there; any \
         other reader of Parquet opens facts.parquet as well"
            .to_owned(),
    ))
}

fn is_there(command: &mut Command) -> bool {
    let run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match run {
        Ok(status) => status.success(),
        Err(error) => error.kind() != io::ErrorKind::NotFound && error.kind() != io::ErrorKind::PermissionDenied,
    }
}
