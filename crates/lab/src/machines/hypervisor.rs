//! The hypervisor below a machine that is a guest: whether it takes free memory back, and what the first touch costs then.

use order9_machine::cost::Picos;
use order9_snapshot::Calibration;

use super::MachineSpec;
use super::figure::{FIGURES, Figure, HYPERVISOR_FAULT};

impl MachineSpec {
    /// The machine with memory that was captured on a host of these prices. Whether free memory is taken back there is said by the
    /// capture: prices may be those of another machine. The price is that of the machine where it has one.
    pub(crate) fn below_memory_of(mut self, host: Option<&Calibration>) -> Self {
        let has_own = self.prices.hypervisor_fault > Picos::ZERO;
        match host.and_then(|host| host.hypervisor_fault) {
            None => {
                self.prices.hypervisor_fault = Picos::ZERO;
                self.figures.retain(|figure| figure.key != HYPERVISOR_FAULT);
            }
            Some(_) if has_own && self.measured_over().is_none() => {}
            Some(price) => {
                let how = Calibration::HYPERVISOR_FAULT_METHOD;
                let info = FIGURES.iter().find(|info| info.key == HYPERVISOR_FAULT).expect("a price of the lab");
                self.prices.hypervisor_fault = Picos::new(price.ps);
                self.figures.retain(|figure| figure.key != HYPERVISOR_FAULT);
                self.figures.push(Figure {
                    info,
                    key: info.key.clone(),
                    value: price.ps,
                    source: format!("On the host of the snapshot. {how}. Median of {}, {price}.", price.rounds),
                    set_in: self.name.clone(),
                });
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use order9_snapshot::Measured;

    use super::*;
    use crate::machines::{load, load_measured};

    #[test]
    fn a_capture_says_whether_free_memory_is_taken_back() {
        let measured = |ps| Measured { ps, lowest_ps: ps, highest_ps: ps, rounds: 9 };
        let host = |hypervisor_fault| Calibration {
            copy_page: measured(300_500),
            clear_page: measured(200_000),
            frame_scan: measured(2_100),
            shmem_page: None,
            huge_fault: None,
            hypervisor_fault,
        };
        let (taken, kept) = (host(Some(measured(5_000_000_000))), host(None));
        let price = |machine: MachineSpec| {
            let shown = machine.figures.iter().filter(|figure| figure.key == HYPERVISOR_FAULT).count();
            (machine.prices.hypervisor_fault.get(), shown)
        };
        let guest = || load("epyc-vm").expect("it is built in");
        let own = price(guest());
        assert!(own.0 > 0 && own.1 == 1, "it is such a guest");
        assert_eq!(price(guest().below_memory_of(None)), (0, 0));
        assert_eq!(price(guest().below_memory_of(Some(&kept))), (0, 0));
        assert_eq!(price(guest().below_memory_of(Some(&taken))), own, "whoever names prices wants these");
        let measured = load_measured("epyc-vm", &taken).expect("it is built in");
        assert_eq!(price(measured.below_memory_of(Some(&taken))), (5_000_000_000, 1));
        let other = load("xeon-1s").expect("it is built in");
        assert_eq!(price(other.below_memory_of(Some(&taken))), (5_000_000_000, 1));
    }
}
