//! The stubs of the Python package name what the extension module has.

use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The word behind `mark` in a line, up to the first character that no name has.
fn named<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let rest = &line[line.find(mark)? + mark.len()..];
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// All files below a folder of sources.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Names of the methods and functions that the sources give to Python, but for those of protocols.
fn given() -> Vec<String> {
    let mut names = Vec::new();
    for path in sources(&folder().join("src")) {
        let text = read(&path);
        let mut is_given = false;
        for line in text.lines() {
            match line {
                "#[pymethods]" | "#[pyfunction]" => is_given = true,
                "}" => is_given = false,
                _ if is_given => {
                    let name = named(line, "fn ").filter(|name| !name.starts_with("__"));
                    names.extend(name.map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    names.retain(|name| name != "new");
    names
}

#[test]
fn the_stubs_name_every_method_and_function() {
    let stubs = read(&folder().join("../../python/order9/_order9.pyi"));
    let names = given();
    assert!(names.len() > 100, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !stubs.contains(&format!("def {name}("))).collect();
    assert!(missing.is_empty(), "not in the stubs: {missing:?}");
}

#[test]
fn the_package_names_every_exception_and_class() {
    let (module, package) =
        (read(&folder().join("src/lib.rs")), read(&folder().join("../../python/order9/__init__.py")));
    let exceptions = module.split("use crate::errors::{").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
    for name in exceptions.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        assert!(package.contains(&format!("\"{name}\"")), "{name} is not in __all__");
    }
}
