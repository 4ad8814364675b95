//! Packages of Debian by apt, which finds the mirror and checks what comes.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{KernelError, of_file};

/// Folder into which packages are unpacked.
pub(super) const UNPACKED: &str = "unpacked";
/// Beginning of packages with a kernel and nothing else.
const BINARY: &str = "linux-binary-unsigned-";

/// apt with lists and packages of its own.
pub(super) struct Apt {
    options: Vec<String>,
}

impl Apt {
    pub(super) fn new(folder: &Path, suite: &str) -> Result<Self, KernelError> {
        let apt = folder.join("apt");
        for part in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(apt.join(part)).map_err(of_file(&apt))?;
        }
        let mirror = mirror()?;
        let sources = apt.join(format!("{suite}.list"));
        fs::write(&sources, format!("deb {mirror} {suite} main\n")).map_err(of_file(&sources))?;
        let option = |name: &str, value: String| ["-o".to_owned(), format!("{name}={value}")];
        let options = [
            option("Dir::Etc::sourcelist", sources.display().to_string()),
            option("Dir::Etc::sourceparts", "-".to_owned()),
            option("Dir::State::lists", apt.join("lists").display().to_string()),
            option("Dir::Cache", apt.join("cache").display().to_string()),
            // Indexes of other things than packages are of no use here.
            option("Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false".to_owned()),
            option("Acquire::Languages", "none".to_owned()),
            option("APT::Sandbox::User", "root".to_owned()),
        ];
        Ok(Self { options: options.concat() })
    }

    fn run(&self, program: &'static str, arguments: &[&str], folder: &Path, what: &str) -> Result<String, KernelError> {
        let mut command = Command::new(program);
        command.args(&self.options).args(arguments).current_dir(folder).env("LC_ALL", "C");
        run(command, program, what)
    }

    pub(super) fn get(&self, arguments: &[&str], what: &str) -> Result<String, KernelError> {
        self.run("apt-get", arguments, Path::new("/"), what)
    }

    /// The newest package with a kernel of this series for virtual machines.
    pub(super) fn newest(&self, series: &str) -> Result<String, KernelError> {
        let pattern = format!(r"^linux-(image|binary-unsigned)-{}[.][^ ]*cloud-amd64$", series.replace('.', "[.]"));
        let found =
            self.run("apt-cache", &["search", "--names-only", &pattern], Path::new("/"), "the search for kernels")?;
        let names: Vec<&str> = found.lines().filter_map(|line| line.split(' ').next()).collect();
        // From 7.2 on the kernel is in a package of its own, and that of the old name holds nothing.
        let binary = names.iter().filter(|name| name.starts_with(BINARY));
        let newest = binary.max_by_key(|name| version(name)).or_else(|| names.iter().max_by_key(|name| version(name)));
        newest.map(|name| (*name).to_owned()).ok_or_else(|| KernelError::Failed {
            what: format!("Linux {series}"),
            said: "the mirror has no package with it".to_owned(),
        })
    }

    /// Takes a package and unpacks it below `folder`.
    pub(super) fn download(&self, package: &str, folder: &Path) -> Result<(), KernelError> {
        self.run("apt-get", &["download", package], folder, package)?;
        let mut files = fs::read_dir(folder).map_err(of_file(folder))?.flatten().map(|entry| entry.path());
        let file = files.find(|path| path.extension().is_some_and(|end| end == "deb"));
        let file =
            file.ok_or_else(|| KernelError::Failed { what: package.to_owned(), said: "no file came".to_owned() })?;
        let mut command = Command::new("dpkg-deb");
        command.arg("-x").arg(&file).arg(folder.join(UNPACKED));
        run(command, "dpkg-deb", package)?;
        fs::remove_file(&file).map_err(of_file(&file))
    }
}

fn run(mut command: Command, program: &'static str, what: &str) -> Result<String, KernelError> {
    let output = command.output().map_err(|error| KernelError::NoApt { program, error })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let said =
        errors.lines().rfind(|line| line.starts_with("E: ")).or(errors.lines().last()).unwrap_or("no reason given");
    Err(KernelError::Failed { what: what.to_owned(), said: said.to_owned() })
}

/// The first mirror of Debian among apt's sources.
fn mirror() -> Result<String, KernelError> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI)"]).env("LC_ALL", "C");
    let uris = run(command, "apt-get", "apt's sources")?;
    let is_debian = |uri: &&str| uri.trim_end_matches('/').ends_with("/debian");
    uris.lines().find(is_debian).map(str::to_owned).ok_or(KernelError::NoMirror)
}

/// Package with the modules of a kernel that comes without them.
pub(super) fn package_of_modules(kernel: &str) -> Option<String> {
    Some(format!("linux-modules-{}", kernel.strip_prefix(BINARY)?))
}

/// Numbers of a package's name, for comparison.
fn version(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_in_a_package_of_their_own_where_the_kernel_is() {
        let of = package_of_modules;
        assert_eq!(
            of("linux-binary-unsigned-7.2.13+deb14-cloud-amd64").as_deref(),
            Some("linux-modules-7.2.13+deb14-cloud-amd64")
        );
        assert_eq!(of("linux-image-6.12.107+deb13-cloud-amd64"), None);
    }

    #[test]
    fn the_newest_package_is_that_of_the_highest_numbers() {
        let names = ["linux-image-6.1.0-9-cloud-amd64", "linux-image-6.1.0-50-cloud-amd64"];
        assert_eq!(names.iter().max_by_key(|name| version(name)), Some(&names[1]));
        let names = ["linux-image-6.12.107+deb13-cloud-amd64", "linux-image-6.12.94+deb13-cloud-amd64"];
        assert_eq!(names.iter().max_by_key(|name| version(name)), Some(&names[0]));
    }
}
