//! Keyrings of the kernel, which no mount and no rule of Landlock covers.
//!
//! The session keyring is inherited by every process of a login, with what other programs keep in it:
//! tickets of Kerberos, keys of file systems, sign-ins of command-line tools. A keyring of its own would
//! not be enough: root, and every user without a user namespace, reaches the user's keyring from there.
//! So a child finds a kernel without keyrings (`ENOSYS`), which programs that use them know.

use std::io;

use seccompiler::{apply_filter, sock_filter};

/// Takes keyrings away from this process and all that it starts, for good.
///
/// # Errors
///
/// An error means that this system has no filters of system calls.
pub(super) fn deny() -> io::Result<()> {
    if ARCHITECTURES.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    apply_filter(&program()).map_err(io::Error::other)
}

/// Returns the filter: for each architecture that this kernel runs programs of, three numbers in a row
/// are refused. Only instructions by which the kernel can tell that all others are always allowed, so
/// that those cost nothing.
fn program() -> Vec<sock_filter> {
    let mut program = vec![statement(LOAD, ARCHITECTURE)];
    for (architecture, first) in ARCHITECTURES {
        program.extend([
            // To the next architecture.
            jump(EQUAL, *architecture, 0, 6),
            statement(LOAD, NUMBER),
            statement(AND, !X32),
            jump(AT_LEAST, *first, 0, 1),
            jump(ABOVE, *first + 2, 0, 1),
            statement(RETURN, ALLOWED),
            statement(RETURN, NOT_IMPLEMENTED),
        ]);
    }
    program.push(statement(RETURN, ALLOWED));
    program
}

const fn statement(code: u16, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

/// Continues so many instructions further on, by the outcome of a comparison.
const fn jump(code: u16, k: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter {
        code,
        jt: if_true,
        jf: if_false,
        k,
    }
}

/// Architectures by the kernel's audit number, each with the number of `add_key`; `request_key` and
/// `keyctl` follow it.
const ARCHITECTURES: &[(u32, u32)] = if cfg!(target_arch = "x86_64") {
    &[(0xc000_003e, 248), (0x4000_0003, 286)]
} else if cfg!(target_arch = "aarch64") {
    &[(0xc000_00b7, 217), (0x4000_0028, 309)]
} else if cfg!(target_arch = "riscv64") {
    &[(0xc000_00f3, 217)]
} else {
    &[]
};

/// Marks calls of programs with short pointers on x86-64; the numbers are otherwise the same.
const X32: u32 = 0x4000_0000;

/// Where the number of the call and the architecture are in what the kernel shows.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ABOVE: u16 = 0x25;
const RETURN: u16 = 0x06;

const ALLOWED: u32 = 0x7fff_0000;
/// `ENOSYS`, which has this number on all architectures above.
const NOT_IMPLEMENTED: u32 = 0x0005_0000 | 38;
