#!/bin/bash
# Runs a sweep in 3 parts under Slurm, and merges them: bash THIS-FILE, on a host that submits jobs.
# A part that is requeued goes on with the cells that it has kept. The plan and the folder lie on a disk that all hosts share.
set -euo pipefail
export SWEEP_PLAN='plans/my plan.toml' SWEEP_OUTPUT=out
mkdir -p "$SWEEP_OUTPUT/parts" "$SWEEP_OUTPUT/logs"

parts=$(sbatch --parsable --job-name=order9-sweep --export=ALL --requeue \
  --array=1-3 --ntasks=1 --cpus-per-task=2 --mem=378M \
  --output="$SWEEP_OUTPUT/logs/%a.txt" \
  --wrap='exec order9 sweep "$SWEEP_PLAN" --shard "$SLURM_ARRAY_TASK_ID/3" --jobs 2 -o "$SWEEP_OUTPUT/parts/$SLURM_ARRAY_TASK_ID"')

sbatch --job-name=order9-merge --export=ALL --dependency="afterok:${parts%%;*}" --kill-on-invalid-dep=yes \
  --ntasks=1 --cpus-per-task=1 --mem=378M --output="$SWEEP_OUTPUT/logs/merge.txt" \
  --wrap='exec order9 merge "$SWEEP_OUTPUT"/parts/* -o "$SWEEP_OUTPUT/all"'
