//! A machine with prices that were measured on another: those of the host of a snapshot.

use std::fmt::Write as _;
use std::fs;

use order9_snapshot::Calibration;
use order9_units::PAGEBLOCK_PAGES;

use super::error::MachineError;
use super::{MachineSpec, load};

/// Ends the name of a machine some of whose prices were measured on a host.
const SUFFIX: &str = "+measured";

/// Time of looking at a frame above reading its 64 bytes, in ns: 16 cycles of 3.2 GHz. Source: as `prices.frame_scan` of the built-in
/// machines.
const LOOK_AT_FRAME: f64 = 5.0;

/// The machine called `name` with the prices that `host` holds in place of its own.
///
/// # Errors
/// As [`load`], or where no temporary file can be written.
pub fn load_measured(name: &str, host: &Calibration) -> Result<MachineSpec, MachineError> {
    let base = load(name)?;
    let mut text = format!("base = {:?}\nsummary = {:?}\n", name, base.summary);
    // What a huge fault does besides clearing is less than a hundredth of it.
    let part = PAGEBLOCK_PAGES.get() as f64;
    let huge = host.huge_fault.map(|price| {
        let how = "first touch of a huge page that was freed just now, by its 512 parts";
        ("clear_huge_part", price, price.ns() / part, how)
    });
    let [copy, clear, line] = [host.copy_page, host.clear_page, host.frame_scan];
    let always = [
        ("copy_page", copy, copy.ns(), "memcpy() per 4096 bytes between buffers beyond the caches"),
        ("clear_page", clear, clear.ns(), "memset() per 4096 bytes of a buffer beyond the caches"),
        (
            "frame_scan",
            line,
            line.ns() + LOOK_AT_FRAME,
            "reading each 64 bytes of a buffer beyond the caches, in sequence, to which 16 cycles come for looking at a frame",
        ),
    ];
    for (key, price, ns, how) in always.into_iter().chain(huge) {
        let source = format!("Measured on the host of the snapshot: {how}. Median of {}, {price}.", price.rounds);
        writeln!(text, "[prices.{key}]\nns = {ns:.3}\nsource = {source:?}").expect("text can be written");
    }
    let unwritable = |error: std::io::Error| MachineError::Temporary(error.to_string());
    let folder = tempfile::tempdir().map_err(unwritable)?;
    let path = folder.path().join("measured.toml");
    fs::write(&path, text).map_err(unwritable)?;
    let path = path.display().to_string();
    let mut machine = load(&path)?;
    machine.name = format!("{name}{SUFFIX}");
    let own = |file: &mut String| {
        if *file == path {
            file.clone_from(&machine.name);
        }
    };
    machine.chain.iter_mut().chain(machine.figures.iter_mut().map(|figure| &mut figure.set_in)).for_each(own);
    Ok(machine)
}

impl MachineSpec {
    /// The machine that other prices are from, where some were measured on a host.
    #[must_use]
    pub fn measured_over(&self) -> Option<&str> {
        self.name.strip_suffix(SUFFIX)
    }
}

#[cfg(test)]
mod tests {
    use order9_snapshot::Measured;

    use super::*;

    #[test]
    fn measured_prices_replace_those_of_the_base() {
        let measured = |ps| Measured { ps, lowest_ps: ps, highest_ps: ps, rounds: 9 };
        let host = Calibration {
            copy_page: measured(300_500),
            clear_page: measured(200_000),
            frame_scan: measured(2_100),
            shmem_page: None,
            huge_fault: Some(measured(153_600_000)),
            hypervisor_fault: None,
        };
        let (base, machine) = (load("epyc-vm").unwrap(), load_measured("epyc-vm", &host).unwrap());
        assert_eq!((machine.name.as_str(), machine.measured_over()), ("epyc-vm+measured", Some("epyc-vm")));
        assert_eq!(machine.prices.copy_page.get(), 300_500);
        assert_eq!(machine.prices.frame_scan.get(), 7_100);
        assert_eq!(machine.prices.clear_huge_part.get(), 300_000);
        assert_eq!(machine.prices.fault, base.prices.fault);
        assert_eq!(machine.summary, base.summary);
        let copy = machine.figures.iter().find(|figure| figure.key == "prices.copy_page").unwrap();
        assert_eq!(
            (copy.set_in.as_str(), machine.chain.last().unwrap().as_str()),
            ("epyc-vm+measured", "epyc-vm+measured")
        );
        assert!(load("epyc-vm").unwrap().measured_over().is_none() && load_measured("cray", &host).is_err());
    }
}
