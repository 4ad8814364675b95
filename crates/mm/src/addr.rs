//! The address space of a program: its end, where mappings may lie, and the pages that a system call names.

use order9_units::{Bytes, Pages};

use crate::Errno;

pub use order9_units::{VirtAddr, Vpn, VpnRange};

/// End of the address space of a program on x86-64 with four levels of page tables: `TASK_SIZE`.
pub const TASK_END: Vpn = Vpn::new(0x7_ffff_ffff);

/// Mappings are placed below this: the top of the address space without the least room Linux keeps for a stack, 128 MiB,
/// and without address randomisation.
pub(crate) const MMAP_BASE: Vpn = Vpn::new(TASK_END.get() - ((128 << 20) >> 12));

/// No mapping lies below this: the default of `vm.mmap_min_addr`.
pub(crate) const MMAP_MIN: Vpn = Vpn::new(16);

/// The range a system call names: `length` is rounded up to whole pages.
///
/// # Errors
/// `EINVAL` where `addr` is not page-aligned, `beyond` where the range ends above the address space.
pub(crate) fn range_of_call(addr: VirtAddr, length: Bytes, beyond: Errno) -> Result<VpnRange, Errno> {
    if !addr.is_page_aligned() {
        return Err(Errno::Einval);
    }
    let pages = Pages::from_bytes_ceil(length);
    let fits = addr.vpn() <= TASK_END && pages <= TASK_END - addr.vpn();
    if fits { Ok(VpnRange::of(addr.vpn(), pages)) } else { Err(beyond) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_name_whole_pages() {
        let page = VirtAddr::new(0x1000);
        let range = |addr, bytes| range_of_call(addr, Bytes::new(bytes), Errno::Enomem);
        assert_eq!(range(page, 4097), Ok(VpnRange::of(Vpn::new(1), Pages::new(2))));
        assert_eq!(range(VirtAddr::new(0x1001), 1), Err(Errno::Einval));
        assert_eq!(range(page, u64::MAX), Err(Errno::Enomem));
        assert_eq!(range(TASK_END.addr(), 1), Err(Errno::Enomem));
        assert_eq!(range(TASK_END.addr(), 0), Ok(VpnRange::of(TASK_END, Pages::ZERO)));
    }
}
