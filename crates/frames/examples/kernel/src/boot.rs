//! From the boot loader to Rust: PVH entry, page tables, long mode.
//!
//! A PVH loader (QEMU's `-kernel`, and hypervisors of Linux) jumps to the address in the ELF note in 32-bit protected mode, with a
//! pointer to its start info in `ebx`. Layout of both: xen/include/public/arch-x86/hvm/start_info.h, as documented in
//! "x86/HVM direct boot ABI" of the Xen project.

use core::arch::global_asm;

global_asm!(
    r#"
    .section .note.pvh, "a", @note
    .align 4
    .long 4
    .long 4
    .long 18                        // XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .align 4
    .long _start

    .section .text
    .code32
    .global _start
_start:
    cli
    mov esp, offset stack_top
    mov edi, ebx                    // first argument: the start info

    // The first 4 GiB are mapped to themselves, 2 MiB at a time.
    mov eax, offset pdpt
    or eax, 3
    mov [pml4], eax
    mov eax, offset directories
    or eax, 3
    mov ecx, 0
1:  mov [pdpt + ecx * 8], eax
    add eax, 4096
    inc ecx
    cmp ecx, 4
    jne 1b
    mov eax, 0x83                   // present, writable, large
    mov ecx, 0
2:  mov [directories + ecx * 8], eax
    add eax, 0x200000
    inc ecx
    cmp ecx, 2048
    jne 2b

    mov eax, offset pml4
    mov cr3, eax
    mov eax, cr4
    or eax, 0x20                    // PAE
    mov cr4, eax
    mov ecx, 0xc0000080             // EFER
    rdmsr
    or eax, 0x100                   // LME
    wrmsr
    mov eax, cr0
    or eax, 0x80000000              // PG
    mov cr0, eax
    lgdt [gdt_pointer]
    push 8
    mov eax, offset long_mode
    push eax
    retf

    .code64
long_mode:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov edi, edi                    // clears the upper half
    call kernel_main
3:  hlt
    jmp 3b

    .section .rodata
    .align 8
gdt:
    .quad 0
    .quad 0x00209a0000000000        // 64-bit code
gdt_pointer:
    .word 15
    .long gdt

    .section .bss
    .align 4096
pml4:        .skip 4096
pdpt:        .skip 4096
directories: .skip 4 * 4096
stack:       .skip 64 * 1024
stack_top:
    "#
);

/// Start info of a PVH loader: the memory map, and what this kernel does not read.
#[repr(C)]
pub struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    rsdp: u64,
    memory_map: u64,
    memory_map_entries: u32,
    reserved: u32,
}

/// A range of memory in the loader's memory map.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MapEntry {
    /// Address of the first byte.
    pub start: u64,
    /// Length in bytes.
    pub size: u64,
    /// Kind of the range: 1 is memory that can be used.
    pub kind: u32,
    reserved: u32,
}

impl StartInfo {
    const MAGIC: u32 = 0x336e_c578;

    /// The memory map.
    ///
    /// # Safety
    /// `self` is what the loader has passed, and memory below 4 GiB is mapped to itself.
    pub unsafe fn memory_map(&self) -> &'static [MapEntry] {
        assert!(self.magic == Self::MAGIC && self.version >= 1, "the loader gives a memory map");
        // SAFETY: the loader has put that many entries there, and nobody writes to them.
        unsafe { core::slice::from_raw_parts(self.memory_map as *const MapEntry, self.memory_map_entries as usize) }
    }
}
