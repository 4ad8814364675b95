//! Modules of a kernel: those that guests load for disks and swap, with what they depend on.
//!
//! Packages have no list of dependencies, which is made where a package is installed; but each module names its own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use order9_live::{FileSystem, Storage};

use super::{KernelError, find, of_file};

/// Modules for disks: their bus, and their driver.
const DISK: &[&str] = &["virtio_pci", "virtio_blk"];
/// Modules for swap to compressed memory: the compressor of old kernels, which zram does not depend on, and zram.
const ZRAM: &[&str] = &["lzo_rle", "zram"];
/// The largest module that is read, in bytes.
const SIZE_MAX: u64 = 64 << 20;

/// A module, as the kernel takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Name of the module, with `_` for `-`.
    pub name: String,
    /// Content of its file.
    pub content: Vec<u8>,
}

/// The modules beside a kernel. What is built into a kernel is no module.
#[derive(Clone, Debug)]
pub struct Modules {
    folder: PathBuf,
}

impl Modules {
    /// Name of the folder beside a kernel.
    pub const FOLDER: &'static str = "modules";

    /// Modules beside the kernel at `path`.
    #[must_use]
    pub fn beside(kernel: &Path) -> Self {
        Self { folder: kernel.with_file_name(Self::FOLDER) }
    }

    /// Whether there are any.
    #[must_use]
    pub fn are_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// Modules that `storage` needs, each after those that it depends on.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of(&self, storage: &Storage) -> Result<Vec<Module>, KernelError> {
        let file = |name: &str| self.folder.join(format!("{name}.ko"));
        let read = |name: &str| {
            let path = file(name);
            path.is_file().then(|| content(&path)).transpose()
        };
        with_dependencies(&needed(storage), &read)
    }
}

/// Names of the modules that storage needs, without dependencies.
fn needed(storage: &Storage) -> Vec<&'static str> {
    let mut names = Vec::new();
    if !storage.disks().is_empty() {
        names.extend(DISK);
    }
    if storage.files.is_some_and(|files| files.file_system == FileSystem::Xfs) {
        names.push("xfs");
    }
    if storage.swap.iter().any(|area| area.is_zram) {
        names.extend(ZRAM);
    }
    names
}

/// Keeps those modules of an unpacked package that guests may load, in the folder of the kernel.
pub(super) fn keep(unpacked: &Path, place: &Path) -> Result<(), KernelError> {
    let files = find(unpacked, &|name| module_name(name).is_some());
    let named = |wanted: &str| {
        let is_wanted = |path: &&PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            module_name(name).as_deref() == Some(wanted)
        };
        files.iter().find(is_wanted)
    };
    let all = [DISK, ZRAM, &["xfs"]].concat();
    let kept = with_dependencies(&all, &|name| named(name).map(|path| content(path)).transpose())?;
    let folder = place.join(Modules::FOLDER);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(of_file(&folder)(error)),
        _ => fs::create_dir(&folder).map_err(of_file(&folder))?,
    }
    kept.iter().try_for_each(|Module { name, content }| {
        let path = folder.join(format!("{name}.ko"));
        fs::write(&path, content).map_err(of_file(&path))
    })
}

/// Name of the module in a file of this name; `None` where no module is.
fn module_name(file: &str) -> Option<String> {
    let name = ENDINGS.iter().find_map(|ending| file.strip_suffix(ending))?;
    Some(name.replace('-', "_"))
}

/// Endings of modules: as they are, and compressed.
const ENDINGS: [&str; 3] = [".ko", ".ko.xz", ".ko.zst"];

/// A module as the kernel takes it, whatever its file is compressed by.
fn content(path: &Path) -> Result<Vec<u8>, KernelError> {
    let file = File::open(path).map_err(of_file(path))?;
    let reader: Box<dyn Read> = match path.extension().and_then(|ending| ending.to_str()) {
        Some("xz") => Box::new(lzma_rust2::XzReader::new(file, false)),
        Some("zst") => Box::new(zstd::Decoder::new(file).map_err(of_file(path))?),
        _ => Box::new(file),
    };
    let mut content = Vec::new();
    let length = reader.take(SIZE_MAX + 1).read_to_end(&mut content).map_err(of_file(path))?;
    if length as u64 > SIZE_MAX {
        return Err(of_file(path)(io::Error::other("it is larger than any module")));
    }
    Ok(content)
}

/// Reads the module of a name; `None` where there is none.
type Reader<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<u8>>, KernelError>;

/// The modules of these names and all that they depend on, which come first.
fn with_dependencies(names: &[&str], read: Reader<'_>) -> Result<Vec<Module>, KernelError> {
    let (mut seen, mut modules) = (BTreeSet::new(), Vec::new());
    names.iter().try_for_each(|name| add(name, read, &mut seen, &mut modules))?;
    Ok(modules)
}

fn add(
    name: &str,
    read: Reader<'_>,
    seen: &mut BTreeSet<String>,
    modules: &mut Vec<Module>,
) -> Result<(), KernelError> {
    if !seen.insert(name.to_owned()) {
        return Ok(());
    }
    let Some(content) = read(name)? else { return Ok(()) };
    dependencies(&content).iter().try_for_each(|name| add(name, read, seen, modules))?;
    modules.push(Module { name: name.to_owned(), content });
    Ok(())
}

/// Names of the modules that a module depends on: it says them in its section `.modinfo`, texts that end with a zero each.
fn dependencies(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let Some(at) = module.windows(FIELD.len()).position(|window| window == FIELD) else { return Vec::new() };
    let names = module[at + FIELD.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(names);
    names.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use order9_live::{FileDisk, SwapArea};

    use super::*;

    fn module(depends: &str) -> Vec<u8> {
        format!("\x7fELF..\0license=GPL\0depends={depends}\0name=x\0").into_bytes()
    }

    fn names(modules: &[Module]) -> Vec<&str> {
        modules.iter().map(|module| module.name.as_str()).collect()
    }

    #[test]
    fn modules_of_a_package_are_kept_with_what_they_depend_on() {
        let folder = tempfile::tempdir().expect("a directory");
        let (unpacked, place) = (folder.path().join("unpacked"), folder.path().join("6.1"));
        fs::create_dir_all(unpacked.join("lib/modules/6.1/kernel/drivers")).expect("it can be made");
        fs::create_dir(&place).expect("it can be made");
        let write = |name: &str, content: &[u8]| {
            fs::write(unpacked.join("lib/modules/6.1/kernel/drivers").join(name), content).expect("it can be written");
        };
        write("virtio_blk.ko", &module("virtio-ring,virtio"));
        write("virtio_ring.ko", &module("virtio"));
        write("virtio.ko", &module(""));
        write("zram.ko.zst", &zstd::encode_all(module("zsmalloc").as_slice(), 3).expect("memory"));
        write("lzo-rle.ko", &module(""));
        write("btrfs.ko", &module("virtio"));
        keep(&unpacked, &place).expect("they are read");
        keep(&unpacked, &place).expect("and once more");
        let kept = Modules::beside(&place.join("vmlinuz"));
        assert!(kept.are_there() && !Modules::beside(&unpacked.join("vmlinuz")).are_there());

        let zram = SwapArea { size: 1 << 20, is_zram: true };
        let swap = Storage { files: None, swap: vec![zram] };
        assert_eq!(names(&kept.of(&swap).expect("they are read")), ["lzo_rle", "zram"]);
        let files = Some(FileDisk { size: 1 << 30, file_system: FileSystem::Ext4 });
        let disk = kept.of(&Storage { files, swap: Vec::new() }).expect("they are read");
        assert_eq!(names(&disk), ["virtio", "virtio_ring", "virtio_blk"]);
        assert_eq!(disk[2].content, module("virtio-ring,virtio"));
        assert!(kept.of(&Storage::default()).expect("nothing is read").is_empty());
    }

    #[test]
    fn modules_that_need_each_other_are_read_once() {
        let read = |name: &str| Ok(Some(module(if name == "a" { "b" } else { "a" })));
        assert_eq!(names(&with_dependencies(&["a"], &read).expect("they are read")), ["b", "a"]);
    }
}
