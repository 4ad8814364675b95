//! Whether the hypervisor of this machine takes free pages back, by which the first touch of them costs more than work of the kernel.
//!
//! Source: the virtio specification, section on the memory balloon device (`VIRTIO_BALLOON_F_REPORTING`).

use std::fs;

/// Place of the feature in the bits that the device and the driver agreed on.
const REPORTING: usize = 5;

/// Whether this is a virtual machine that reports free huge pages to its hypervisor, which takes their memory until they are
/// touched again.
#[must_use]
pub fn hypervisor_takes_free_pages() -> bool {
    let Ok(devices) = fs::read_dir("/sys/bus/virtio/drivers/virtio_balloon") else { return false };
    devices.flatten().any(|device| {
        let features = fs::read_to_string(device.path().join("features"));
        features.is_ok_and(|bits| reports(&bits))
    })
}

/// Whether a device reports free pages; bits are printed from the lowest on.
fn reports(features: &str) -> bool {
    features.as_bytes().get(REPORTING) == Some(&b'1')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feature_is_the_bit_of_the_specification() {
        assert!(reports("0110010100000000\n"));
        assert!(!reports("0110000100000000\n") && !reports("") && !reports("011"));
    }
}
