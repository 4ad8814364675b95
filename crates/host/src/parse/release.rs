//! /proc/sys/kernel/osrelease: which kernel it is, without what the people who built it added.
//!
//! A release such as `6.8.12-acme-web7+` can name a company or a host. An analysis asks for the version, whether it is a
//! candidate, and which distribution's: enterprise kernels have mechanisms of releases long after their number says, and of
//! those the build tells which.

use super::{ParseError, lines};

/// Suffixes that tell how a kernel was built, without their numbers.
const FLAVOURS: &[&str] = &["generic", "lowlatency", "amd64", "aws", "azure", "gcp", "default", "WSL2", "arch1", "pve"];
/// Ends of a part that name a distribution, with the number of its release: `el9_4`, `fc40`, `amzn2023`.
const DISTRIBUTIONS: &[&str] = &["el", "fc", "amzn", "bpo", "deb"];

/// Whether a release is kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Version,
    Everything,
}

/// Reads the release.
pub(crate) fn parse(text: &str, keep: Keep) -> Result<String, ParseError> {
    const EXPECTED: &str = "a kernel release, such as 6.12.3";
    const RELEASE_MAX: usize = 64;
    let mut all = lines(text);
    let Some(line) = all.next() else { return Err(ParseError::Malformed { line: 1, expected: EXPECTED }) };
    let release = line.text.trim();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+~".contains(&byte);
    let version = version(release).filter(|_| release.len() <= RELEASE_MAX && release.bytes().all(plain));
    match (version, all.next()) {
        (Some(version), None) if keep == Keep::Version => Ok(cut(version, &release[version.len()..])),
        (Some(_), None) => Ok(release.to_owned()),
        _ => Err(line.malformed(EXPECTED)),
    }
}

/// The two or three numbers that `release` begins with.
fn version(release: &str) -> Option<&str> {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let version = release[..end].trim_end_matches('.');
    let numbers: Vec<_> = version.split('.').collect();
    let fits = (2..=3).contains(&numbers.len()) && numbers.iter().all(|part| (1..=5).contains(&part.len()));
    fits.then_some(version)
}

/// The version with what is known of the parts behind it.
fn cut(version: &str, behind: &str) -> String {
    let mut kept = version.to_owned();
    let parts: Vec<&str> = behind.split(['-', '.', '+', '~']).filter(|part| !part.is_empty()).collect();
    if let Some(candidate) = parts.iter().find(|part| is_numbered(part, "rc")) {
        kept.push_str(&format!("-{candidate}"));
    }
    if let Some(distribution) = parts.iter().find_map(|part| distribution(part)) {
        let build = parts.first().filter(|part| distribution.starts_with("el") && is_number(part));
        kept.push_str(&build.map_or(String::new(), |build| format!("-{build}")));
        kept.push_str(&format!(".{distribution}"));
    } else if let Some(flavour) = parts.iter().find(|part| FLAVOURS.contains(part)) {
        kept.push_str(&format!("-{flavour}"));
    }
    kept
}

/// `el9` of `el9_4`, `el9uek` of itself.
fn distribution(part: &str) -> Option<&str> {
    let class = part.split('_').next().unwrap_or_default();
    let plain = class.strip_suffix("uek").unwrap_or(class);
    DISTRIBUTIONS.iter().any(|name| is_numbered(plain, name)).then_some(class)
}

fn is_numbered(part: &str, name: &str) -> bool {
    part.strip_prefix(name).is_some_and(is_number)
}

fn is_number(part: &str) -> bool {
    (1..=6).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_part_is_cut_and_the_distribution_stays() {
        let cases = [
            ("6.18.44-fc-v669\n", "6.18.44"),
            ("6.8.12-acme-web7+", "6.8.12"),
            ("6.19.0-rc4-next-20260101-g1234abc", "6.19.0-rc4"),
            ("5.14.0-503.11.1.el9_5.x86_64", "5.14.0-503.el9"),
            ("5.15.0-206.153.7.el9uek.x86_64", "5.15.0-206.el9uek"),
            ("3.10.0-1160.el7.x86_64", "3.10.0-1160.el7"),
            ("6.5.6-300.fc39.x86_64", "6.5.6.fc39"),
            ("6.1.61-85.141.amzn2023.x86_64", "6.1.61.amzn2023"),
            ("5.15.0-91-generic", "5.15.0-generic"),
            ("6.1.0-18-amd64", "6.1.0-amd64"),
            ("6.1.0-0.deb11.21-amd64", "6.1.0.deb11"),
            ("4.4", "4.4"),
        ];
        for (release, expected) in cases {
            assert_eq!(parse(release, Keep::Version).as_deref(), Ok(expected), "{release}");
            assert_eq!(parse(release, Keep::Everything).as_deref(), Ok(release.trim()));
        }
    }

    #[test]
    fn other_texts_are_no_releases() {
        let long = format!("6.1.{}", "1".repeat(70));
        for text in ["", "hunter2", "6", "6.x", "6.1.2\nsecret", "6.1.2 secret", "6.1-\u{1b}[2J", "123456.1", &long] {
            for keep in [Keep::Version, Keep::Everything] {
                assert!(parse(text, keep).is_err(), "{text}");
            }
        }
    }
}
