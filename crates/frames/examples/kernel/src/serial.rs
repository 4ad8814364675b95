//! The serial port, and the end of the machine.

use core::arch::asm;
use core::fmt;

/// The first serial port of a PC.
pub struct Serial;

/// Writes a byte to a port of the machine.
fn out_byte(port: u16, byte: u8) {
    // SAFETY: the ports written to are the serial port and QEMU's exit device, which touch no memory.
    unsafe { asm!("out dx, al", in("dx") port, in("al") byte, options(nomem, nostack)) }
}

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| out_byte(0x3f8, byte));
        Ok(())
    }
}

/// Ends the machine: QEMU (`-device isa-debug-exit,iobase=0xf4`) exits with `2 * code + 1`.
pub fn exit(code: u8) -> ! {
    out_byte(0xf4, code);
    loop {
        core::hint::spin_loop();
    }
}
