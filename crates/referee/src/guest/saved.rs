//! The whole state of a guest, saved once and resumed for every run: all start from the very same memory.

use std::path::PathBuf;
use std::time::Duration;

use order9_live::ToGuest;
use serde_json::json;
use tempfile::TempDir;

use super::accel::Accel;
use super::error::GuestError;
use super::images::Images;
use super::machine::{Guest, GuestSpec, Port};
use super::qemu::Qemu;

/// The state of a guest that waits for an order.
pub struct Saved {
    spec: GuestSpec,
    accel: Accel,
    kernel: String,
    state: PathBuf,
    images: Images,
    _folder: TempDir,
}

/// Time in which a state is written or read.
const TIME: Duration = Duration::from_secs(600);

impl Guest {
    /// Ends the guest and keeps its state.
    ///
    /// # Errors
    /// Where QEMU cannot write the state.
    pub fn save(mut self) -> Result<Saved, GuestError> {
        let folder = tempfile::tempdir().map_err(GuestError::file(std::env::temp_dir()))?;
        let state = folder.path().join("state");
        let mut monitor = self.qemu.monitor()?;
        monitor.command("stop", &json!({}))?;
        // Saving is to be quick: QEMU sends 128 MiB a second by default.
        monitor.command("migrate-set-parameters", &json!({ "max-bandwidth": 1_u64 << 40 }))?;
        monitor.command("migrate", &json!({ "uri": format!("exec:cat > {}", state.display()) }))?;
        monitor.migrated(TIME)?;
        let Self { spec, accel, kernel, images, .. } = self;
        Ok(Saved { spec, accel, kernel, state, images, _folder: folder })
    }

    /// Switches the guest off.
    pub fn off(mut self) {
        // QEMU ends with this value in any case.
        let _ = self.order(&ToGuest::PowerOff);
    }
}

impl Saved {
    /// A guest in this state.
    ///
    /// # Errors
    /// Where QEMU cannot start or read the state.
    pub fn resume(&self) -> Result<Guest, GuestError> {
        let mut qemu = Qemu::start(&self.spec, self.accel, &self.images, true)?;
        let mut monitor = qemu.monitor()?;
        let port = Port::new(qemu.port()?);
        monitor.command("migrate-incoming", &json!({ "uri": format!("exec:cat {}", self.state.display()) }))?;
        monitor.migrated(TIME)?;
        monitor.command("cont", &json!({}))?;
        let (spec, accel, kernel) = (self.spec.clone(), self.accel, self.kernel.clone());
        Ok(Guest { spec, accel, qemu, port, images: self.images.clone(), kernel })
    }
}
