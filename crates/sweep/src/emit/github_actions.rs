//! GitHub Actions: a workflow with a matrix, <https://docs.github.com/en/actions/reference/workflow-syntax-for-github-actions>.

use super::{Job, quoted};

pub(super) fn file(job: &Job<'_>) -> String {
    let (parts, jobs) = (job.parts.get(), job.jobs);
    let plan = quoted(job.plan);
    let list: Vec<String> = (1..=parts).map(|part| part.to_string()).collect();
    let list = list.join(", ");
    format!(
        r#"# Runs a sweep in {parts} parts, and merges them: a workflow for .github/workflows. The cells of each part are kept between runs.
name: order9 sweep
on: workflow_dispatch
jobs:
  part:
    runs-on: ubuntu-latest
    strategy:
      fail-fast: false
      matrix:
        part: [{list}]
    steps:
      - uses: actions/checkout@v4
      - name: Have order9 on the PATH # Put its installation here.
        run: order9 --version
      - uses: actions/cache@v4
        with:
          path: cache
          key: order9-sweep-${{{{ matrix.part }}}}-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}
          restore-keys: order9-sweep-${{{{ matrix.part }}}}-
      - run: order9 sweep {plan} --shard ${{{{ matrix.part }}}}/{parts} --jobs {jobs} --cache cache -o part
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: part-${{{{ matrix.part }}}}
          path: part
  merge:
    needs: part
    runs-on: ubuntu-latest
    steps:
      - name: Have order9 on the PATH # Put its installation here.
        run: order9 --version
      - uses: actions/download-artifact@v4
        with:
          pattern: part-*
          path: parts
      - run: order9 merge parts/* -o all
      - uses: actions/upload-artifact@v4
        with:
          name: all
          path: all
"#
    )
}
