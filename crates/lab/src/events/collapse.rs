//! Events of collapse, with the fields of Linux.

use order9_machine::CollapseEvent;

pub(super) fn fields(event: &CollapseEvent) -> String {
    match event {
        CollapseEvent::ScanPmd { pfn, writable, referenced, none_or_zero, unmapped, status, .. } => format!(
            "scan_pfn={:#x}, writable={}, referenced={referenced}, none_or_zero={none_or_zero}, status={status}, \
             unmapped={unmapped}",
            pfn.map_or(u64::MAX, |pfn| pfn.get()),
            u8::from(*writable),
        ),
        CollapseEvent::ScanFile { pfn, file, present, swap, result, .. } => format!(
            "scan_pfn={:#x}, filename={}, present={present}, swap={swap}, result={result}",
            pfn.map_or(u64::MAX, |pfn| pfn.get()),
            file.index(),
        ),
        CollapseEvent::CollapseFile { pfn, file, index, addr, result, .. } => format!(
            "hpage_pfn={:#x}, index={index}, addr={:x}, is_shmem=1, filename={}, nr=512, result={result}",
            pfn.map_or(u64::MAX, |pfn| pfn.get()),
            addr.get(),
            file.index(),
        ),
        CollapseEvent::HugePage { isolated, status, .. } => {
            format!("isolated={}, status={status}", u8::from(*isolated))
        }
        CollapseEvent::Isolate { pfn, none_or_zero, referenced, writable, status } => format!(
            "scan_pfn={:#x}, none_or_zero={none_or_zero}, referenced={referenced}, writable={}, status={status}",
            pfn.get(),
            u8::from(*writable),
        ),
        CollapseEvent::Swapin { swapped_in, referenced, ret, .. } => {
            format!("swapped_in={swapped_in}, referenced={referenced}, ret={}", u8::from(*ret))
        }
    }
}
