//! Lists the documents of the repository for `order9 doc`, which has them in the command.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders of documents, with what stands before the names of their pages.
const FOLDERS: [(&str, &str); 3] = [("docs", ""), ("docs/results", "results/"), ("docs/tutorials", "tutorials/")];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let mut list = String::from("&[\n");
    for (folder, prefix) in FOLDERS {
        println!("cargo::rerun-if-changed={}", root.join(folder).to_string_lossy());
        let mut paths: Vec<PathBuf> =
            fs::read_dir(root.join(folder))?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
        paths.sort();
        for path in paths {
            let stem = path.file_stem().expect("a file has a name").to_string_lossy();
            list.push_str(&format!("    ({:?}, include_str!({path:?})),\n", format!("{prefix}{stem}")));
        }
    }
    list.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("pages.rs"), list)
}
