//! The policy called `host`: that of the kernel on which the snapshot of a run was captured.
//!
//! What stands for it is said in the policy's summary, which every run under it has as a note, and which a manifest keeps.

use order9_policy::{Loaded, OfRelease, Release, load};
use order9_snapshot::{Snapshot, Source};

use super::error::Problem;
use super::plan::POLICY;
use crate::plan::Memory;

/// Name of the captured host's policy, where a policy is asked for.
pub(super) const HOST: &str = "host";
/// Differences that are told in words; of others, the switches are named.
const WORDS_MAX: usize = 6;

/// Whether there is a host to follow, and a release to know it by.
pub(super) fn is_known(memory: &Memory) -> bool {
    captured(memory).is_some_and(is_of_known_host)
}

/// Name of the policy that a map runs under where none is asked for: that of its host, where it is of one.
#[must_use]
pub fn policy_for(snapshot: &Snapshot) -> &'static str {
    if is_of_known_host(snapshot) { HOST } else { POLICY }
}

fn is_of_known_host(snapshot: &Snapshot) -> bool {
    is_of_host(snapshot) && !snapshot.machine.kernel_release.is_empty()
}

fn is_of_host(snapshot: &Snapshot) -> bool {
    matches!(snapshot.source, Source::Host | Source::Directory)
}

/// A sentence about what stands for the kernel of a host of which the snapshot does not say it.
pub(super) fn unknown(memory: &Memory, policy: &str) -> Option<String> {
    let is_silent = captured(memory)?.machine.kernel_release.is_empty();
    is_silent.then(|| {
        format!(
            "the snapshot does not say which kernel its host ran: it runs as {policy}, and other kernels do otherwise, as \
             `order9 policies diff` tells: --policy says which is meant"
        )
    })
}

/// The snapshot of a host.
fn captured(memory: &Memory) -> Option<&Snapshot> {
    match memory {
        Memory::Snapshot { snapshot, .. } if is_of_host(snapshot) => Some(snapshot),
        _ => None,
    }
}

/// The policy of the host whose memory a run starts from.
///
/// # Errors
/// Where there is no host, or following the nearest release would mislead.
pub(super) fn policy(memory: &Memory) -> Result<Loaded, Problem> {
    let snapshot = captured(memory).ok_or(Problem::NoHost)?;
    let text = &snapshot.machine.kernel_release;
    let refused = |why: String| Problem::HostKernel { release: order9_toml::shown(text), why };
    let release = Release::of(text).ok_or_else(|| refused("is no release of Linux".to_owned()))?;
    let (mut policy, mut summary) = match Release::with_updates(text) {
        Some(name) => {
            let policy = load(name)?;
            let summary = format!("the host's kernel is {text}, which runs as {name}");
            (policy, summary)
        }
        None => of_release(release, text)?,
    };
    if let Some(distribution) = distribution(text) {
        summary += &format!(". {distribution} has changes of later releases in its kernels, which this policy has not");
    }
    policy.name = format!("{HOST}-{}", policy.name);
    policy.summary = summary;
    Ok(policy)
}

/// The policy of a release, and a sentence about what stands for it.
fn of_release(release: Release, text: &str) -> Result<(Loaded, String), Problem> {
    let (oldest, newest) = Release::known();
    let OfRelease { policy, nearest, diff } = release.policy()?.ok_or_else(|| Problem::HostKernel {
        release: order9_toml::shown(text),
        why: format!("is older than every release that is modelled, the oldest of which is {oldest}"),
    })?;
    let mut summary = format!("the host's kernel is {text}");
    if release > newest {
        summary +=
            &format!(", newer than what is modelled: it runs as {}, without what has changed since", policy.name);
    } else if diff.differences.is_empty() {
        summary += &format!(", which runs as {}", policy.name);
    } else {
        let (told, named) = diff.differences.split_at(diff.differences.len().min(WORDS_MAX));
        let told: Vec<_> = told.iter().map(|difference| difference.words.as_str()).collect();
        let named: Vec<_> = named.iter().map(|difference| difference.key).collect();
        let named = if named.is_empty() { String::new() } else { format!("; and in {}", named.join(", ")) };
        summary += &format!(", which runs as {} but for this: {}{named}", nearest.name, told.join("; "));
    }
    Ok((policy, summary))
}

/// The note that names a policy of this title and summary in its runs.
pub(crate) fn note(policy: &Loaded) -> Option<String> {
    policy.name.starts_with(&format!("{HOST}-linux-")).then(|| policy.summary.clone())
}

/// The distribution that a release names, where it is one that keeps a number and changes what is behind it.
fn distribution(release: &str) -> Option<&'static str> {
    let marks = [(".el", "Red Hat Enterprise Linux"), ("-default", "SUSE Linux Enterprise"), (".amzn", "Amazon Linux")];
    marks.into_iter().find(|(mark, _)| release.contains(mark)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use order9_record::Digest;

    use super::*;

    fn memory(source: Source, release: &str) -> Memory {
        let mut snapshot = Snapshot { source, ..Snapshot::default() };
        release.clone_into(&mut snapshot.machine.kernel_release);
        Memory::Snapshot { path: "a.o9snap".to_owned(), digest: Digest::of_bytes(&[]), snapshot: Arc::new(snapshot) }
    }

    fn of(source: Source, release: &str) -> Result<Loaded, String> {
        policy(&memory(source, release)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn the_release_of_the_host_is_followed() {
        let exact = of(Source::Host, "6.18.44-cloud").expect("it is modelled");
        assert_eq!(
            (exact.name.as_str(), exact.summary.as_str()),
            ("host-linux-6.18-lts", "the host's kernel is 6.18.44-cloud, which runs as linux-6.18-lts")
        );
        let first = of(Source::Host, "6.18.2").expect("it is modelled");
        assert_eq!(first.summary, "the host's kernel is 6.18.2, which runs as linux-6.18");
        let between = of(Source::Directory, "5.14.0-427.el9.x86_64").expect("it is between two");
        assert_eq!(between.name, "host-linux-5.14");
        for part in ["which runs as linux-5.10 but for this: ", "Red Hat Enterprise Linux has changes"] {
            assert!(between.summary.contains(part), "{}", between.summary);
        }
        let newer = of(Source::Host, "7.3.0").expect("as the newest");
        assert!(newer.summary.contains("newer than what is modelled: it runs as linux-7.2"), "{}", newer.summary);
    }

    #[test]
    fn a_host_whose_kernel_nobody_knows_gets_a_note() {
        let of = |source, release: &str| unknown(&memory(source, release), "linux-6.18");
        let note = of(Source::Directory, "").expect("there is something to say");
        assert!(note.contains("runs as linux-6.18") && note.contains("--policy"), "{note}");
        assert_eq!((of(Source::Host, "5.14.0"), of(Source::Lab, "")), (None, None));
    }

    #[test]
    fn what_would_mislead_is_refused() {
        for (source, release, says) in [
            (
                Source::Host,
                "3.10.0-1160.el7.x86_64",
                "is older than every release that is modelled, the oldest of which is 4.4",
            ),
            (Source::Host, "FreeBSD", "is no release of Linux"),
            (Source::Lab, "6.18.0-order9", "no snapshot of a host"),
        ] {
            let error = of(source, release).expect_err("it is refused");
            assert!(error.contains(says) && error.contains("--policy"), "{error}");
        }
    }
}
