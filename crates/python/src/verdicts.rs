//! [`PyVerdicts`]: the statements of a published claim, held against runs.

use std::fs;
use std::path::Path;

use order9_html::claims::Claims;
use order9_lab::judge_claim;
use order9_report::claims::{Claim, Outcome, Verdict, parse};
use pyo3::prelude::*;

use crate::convert::{escaped, python};
use crate::errors::{ClaimError, OrRaise as _, raised};
use crate::results::Recorded;

/// Verdicts on the statements of a published claim.
#[pyclass(frozen, module = "order9", name = "Verdicts")]
pub(crate) struct PyVerdicts {
    claim: Claim,
    verdicts: Vec<Verdict>,
}

impl PyVerdicts {
    /// The verdicts as part of a page.
    pub(crate) fn section(&self, kernels: [&str; 2]) -> Claims {
        Claims::of(&self.claim, kernels, &self.verdicts)
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.outcome == outcome).count()
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::Fails => "does not hold",
        Outcome::NotMeasured => "not measured",
    }
}

#[pymethods]
impl PyVerdicts {
    /// Name of the claim.
    #[getter]
    fn claim(&self) -> &str {
        &self.claim.id
    }

    /// The published result in one sentence.
    #[getter]
    fn headline(&self) -> &str {
        &self.claim.headline
    }

    /// Number of statements that hold.
    #[getter]
    fn hold(&self) -> usize {
        self.count(Outcome::Holds)
    }

    /// Number of statements that do not hold.
    #[getter]
    fn fail(&self) -> usize {
        self.count(Outcome::Fails)
    }

    /// Number of statements that could not be measured in these runs.
    #[getter]
    fn not_measured(&self) -> usize {
        self.count(Outcome::NotMeasured)
    }

    /// Everything, as `order9 compare --claim --json` prints it below `verdicts`.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.verdicts)
    }

    fn __len__(&self) -> usize {
        self.verdicts.len()
    }

    fn __repr__(&self) -> String {
        let line =
            |verdict: &Verdict| format!("{:<14} {} ({})", word(verdict.outcome), verdict.statement, verdict.note);
        let head = format!(
            "{}: {} hold, {} do not, {} could not be measured",
            self.claim.id,
            self.hold(),
            self.fail(),
            self.not_measured()
        );
        std::iter::once(head).chain(self.verdicts.iter().map(line)).collect::<Vec<_>>().join("\n")
    }

    fn _repr_html_(&self) -> String {
        let row = |verdict: &Verdict| {
            let [outcome, statement, note] = [word(verdict.outcome), &verdict.statement, &verdict.note].map(escaped);
            format!("<tr><td>{outcome}</td><td>{statement}</td><td>{note}</td></tr>")
        };
        let rows: String = self.verdicts.iter().map(row).collect();
        format!("<p>{}</p><table><tbody>{rows}</tbody></table>", escaped(&self.claim.headline))
    }
}

/// Names of the built-in claims.
#[pyfunction]
pub(crate) fn claims() -> Vec<String> {
    order9_lab::reproduce::claims().into_iter().map(|claim| claim.id).collect()
}

/// The built-in claim of this name, or the one in a file.
pub(crate) fn find(name: &str) -> PyResult<Claim> {
    if name.contains('/') || name.ends_with(".toml") {
        let text = fs::read_to_string(name).map_err(|error| raised::<ClaimError>(&format!("{name}: {error}")))?;
        let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
        return parse(&file, &text).or_raise::<ClaimError>();
    }
    order9_lab::reproduce::claims().into_iter().find(|claim| claim.id == name).ok_or_else(|| {
        let known = claims();
        let nearest = order9_toml::proposal(order9_toml::nearest(name, known.iter().map(String::as_str)));
        raised::<ClaimError>(&format!("no claim is called '{name}'{nearest}; claims() names all"))
    })
}

/// Verdicts on the statements of `claim` in the first two policies.
pub(crate) fn judged(recorded: &Recorded, claim: Claim) -> PyResult<PyVerdicts> {
    let (about, name) = (claim.workload.as_deref().unwrap_or_default(), recorded.workload.name());
    if !about.starts_with(name) {
        return Err(raised::<ClaimError>(&format!("the claim is about the workload {about}, the runs are of {name}")));
    }
    let columns = recorded.columns();
    let [(_, baseline), (_, patched), ..] = columns.as_slice() else {
        return Err(raised::<ClaimError>(&"a claim compares two policies, the runs have one"));
    };
    // A single run of each policy is judged as one was published; several are judged by their means.
    let is_single = columns.iter().all(|(_, runs)| runs.len() == 1);
    let report = recorded.report(claim.generation, is_single);
    let machine = recorded.loaded.manifest.inputs.machine.name.as_str();
    let machines: Vec<_> = recorded.loaded.runs.iter().map(|run| (machine, run)).collect();
    let verdicts = judge_claim(&claim, &report, baseline, patched, &machines);
    Ok(PyVerdicts { claim, verdicts })
}
