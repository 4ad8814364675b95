//! Slurm: <https://slurm.schedmd.com/sbatch.html>, <https://slurm.schedmd.com/job_array.html>.

use super::{Job, quoted};

pub(super) fn file(job: &Job<'_>) -> String {
    let (plan, output) = (quoted(job.plan), quoted(job.output));
    let (parts, jobs, memory) = (job.parts, job.jobs, job.memory_mib());
    // Variables reach the jobs by --export=ALL; between single quotes it is the job's shell that expands them.
    format!(
        r#"#!/bin/bash
# Runs a sweep in {parts} parts under Slurm, and merges them: bash THIS-FILE, on a host that submits jobs.
# A part that is requeued goes on with the cells that it has kept. The plan and the folder lie on a disk that all hosts share.
set -euo pipefail
export SWEEP_PLAN={plan} SWEEP_OUTPUT={output}
mkdir -p "$SWEEP_OUTPUT/parts" "$SWEEP_OUTPUT/logs"

parts=$(sbatch --parsable --job-name=order9-sweep --export=ALL --requeue \
  --array=1-{parts} --ntasks=1 --cpus-per-task={jobs} --mem={memory}M \
  --output="$SWEEP_OUTPUT/logs/%a.txt" \
  --wrap='exec order9 sweep "$SWEEP_PLAN" --shard "$SLURM_ARRAY_TASK_ID/{parts}" --jobs {jobs} -o "$SWEEP_OUTPUT/parts/$SLURM_ARRAY_TASK_ID"')

sbatch --job-name=order9-merge --export=ALL --dependency="afterok:${{parts%%;*}}" --kill-on-invalid-dep=yes \
  --ntasks=1 --cpus-per-task=1 --mem={memory}M --output="$SWEEP_OUTPUT/logs/merge.txt" \
  --wrap='exec order9 merge "$SWEEP_OUTPUT"/parts/* -o "$SWEEP_OUTPUT/all"'
"#
    )
}
