//! HyperQueue: a job definition file, <https://it4innovations.github.io/hyperqueue/stable/jobs/jobfile>.

use std::fmt::Write as _;

use order9_toml::quoted;

use super::Job;

pub(super) fn file(job: &Job<'_>) -> String {
    let (parts, jobs, memory) = (job.parts.get(), job.jobs, job.memory_mib());
    let command = |words: &[&str]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "# Runs a sweep in {parts} parts under HyperQueue, and merges them: hq job submit-file THIS-FILE\n\
         # A part that is lost begins anew with the cells that it has kept. Memory is in MiB, as workers report it.\n\
         name = \"order9-sweep\"\n"
    );
    let request = format!("[[task.request]]\nresources = {{ \"cpus\" = {jobs}, \"mem\" = {memory} }}\n");
    let folder = |part: u32| format!("{}/parts/{part}", job.output);
    for part in 1..=parts {
        let shard = format!("{part}/{parts}");
        let words = ["order9", "sweep", job.plan, "--shard", &shard, "--jobs", &jobs.to_string(), "-o", &folder(part)]
            .map(str::to_owned);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let _ = write!(text, "\n[[task]]\nid = {part}\ncommand = [{}]\n{request}", command(&words));
    }
    let folders: Vec<String> = (1..=parts).map(folder).collect();
    let all = format!("{}/all", job.output);
    let words: Vec<&str> =
        ["order9", "merge"].into_iter().chain(folders.iter().map(String::as_str)).chain(["-o", &all]).collect();
    let deps: Vec<String> = (1..=parts).map(|part| part.to_string()).collect();
    let _ =
        write!(text, "\n[[task]]\nid = {}\ndeps = [{}]\ncommand = [{}]\n", parts + 1, deps.join(", "), command(&words));
    text + &format!("[[task.request]]\nresources = {{ \"cpus\" = 1, \"mem\" = {memory} }}\n")
}
