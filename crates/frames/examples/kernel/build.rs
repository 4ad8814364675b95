//! Links the kernel as `link.ld` lays it out.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    println!("cargo:rustc-link-arg-bins=-T{folder}/link.ld");
    println!("cargo:rerun-if-changed=link.ld");
}
