//! Kubernetes: indexed Jobs, <https://kubernetes.io/docs/concepts/workloads/controllers/job/>.

use std::path::Path;

use super::{Job, quoted};

pub(super) fn file(job: &Job<'_>) -> String {
    let (parts, jobs, memory) = (job.parts, job.jobs, job.memory_mib());
    let name = Path::new(job.plan).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plan = quoted(&format!("/plan/{name}"));
    let key = serde_json::to_string(&name).expect("a text can be written as JSON");
    // A block scalar that says how far it is indented may begin with blanks.
    let text: String =
        job.text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }).collect();
    let part = command(&format!(
        r#"part=$((JOB_COMPLETION_INDEX + 1)); exec order9 sweep {plan} --shard "$part/{parts}" --jobs {jobs} -o "/sweep/parts/$part""#
    ));
    let merge = command("exec order9 merge /sweep/parts/* -o /sweep/all");
    let spec = |command: &str, cpus: usize| {
        format!(
            r#"      containers:
        - name: order9
          image: order9:latest # An image that has order9.
          command: ["/bin/sh", "-c", {command}]
          resources:
            requests: {{cpu: "{cpus}", memory: "{memory}Mi"}}
            limits: {{memory: "{memory}Mi"}}
          volumeMounts:
            - {{name: plan, mountPath: /plan}}
            - {{name: sweep, mountPath: /sweep}}
      volumes:
        - {{name: plan, configMap: {{name: order9-plan}}}}
        - {{name: sweep, persistentVolumeClaim: {{claimName: order9-sweep}}}}
"#
        )
    };
    format!(
        r#"# Runs a sweep in {parts} parts as an indexed Job, and merges them. A pod that is lost goes on with the cells that its part has kept.
# The claim order9-sweep is a volume that many nodes can write (ReadWriteMany). Files that the plan names go into the ConfigMap, too.
#
#   kubectl apply -f THIS-FILE
#   kubectl wait --for=condition=complete --timeout=-1s job/order9-sweep
#   kubectl patch job/order9-merge --type=merge -p '{{"spec":{{"suspend":false}}}}'
apiVersion: v1
kind: ConfigMap
metadata:
  name: order9-plan
data:
  {key}: |2
{text}---
apiVersion: batch/v1
kind: Job
metadata:
  name: order9-sweep
spec:
  completionMode: Indexed
  completions: {parts}
  parallelism: {parts}
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
{}---
apiVersion: batch/v1
kind: Job
metadata:
  name: order9-merge
spec:
  suspend: true
  template:
    spec:
      restartPolicy: OnFailure
{}"#,
        spec(&part, jobs.get()),
        spec(&merge, 1)
    )
}

/// A command as a string of YAML, which takes those of JSON.
fn command(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written as JSON")
}
