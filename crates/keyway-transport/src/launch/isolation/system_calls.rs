//! System calls that a child does not have: they reach what no mount and no rule of Landlock covers.
//!
//! - Keyrings of the kernel. The session keyring is inherited by every process of a login, with what
//!   other programs keep in it: tickets of Kerberos, keys of file systems, sign-ins of command-line
//!   tools. A keyring of its own would not be enough: root, and every user without a user namespace,
//!   reaches the user's keyring from there. So a child finds a kernel without keyrings (`ENOSYS`), which
//!   programs that use them know.
//! - For a confined child, sockets of other families than those of the internet, of this machine's
//!   tree and of its network settings. `AF_VSOCK` leads to the host of a virtual machine from every
//!   network namespace. `io_uring` would open them past any filter, so it is not there either.

use std::io;

use seccompiler::{apply_filter, sock_filter};

/// Takes them away from this process and all that it starts, for good.
///
/// # Errors
///
/// An error means that this system has no filters of system calls.
pub(super) fn deny(is_confined: bool) -> io::Result<()> {
    if ARCHITECTURES.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    apply_filter(&program(is_confined)).map_err(io::Error::other)
}

/// Returns the filter. For all other calls it has only instructions by which the kernel can tell that
/// they are always allowed, so that those cost nothing.
fn program(is_confined: bool) -> Vec<sock_filter> {
    let mut program = vec![statement(LOAD, ARCHITECTURE)];
    for architecture in ARCHITECTURES {
        let rules = rules(architecture, is_confined);
        let length = u8::try_from(rules.len()).unwrap_or(u8::MAX);
        // To the next architecture.
        program.push(jump(EQUAL, architecture.audit, 0, length));
        program.extend(rules);
    }
    program.push(statement(RETURN, ALLOWED));
    program
}

fn rules(numbers: &Architecture, is_confined: bool) -> Vec<sock_filter> {
    let mut rules = vec![
        statement(LOAD, NUMBER),
        statement(AND, !X32),
        jump(AT_LEAST, numbers.add_key, 0, 2),
        jump(ABOVE, numbers.add_key + 2, 1, 0),
        statement(RETURN, NOT_IMPLEMENTED),
    ];
    if is_confined {
        rules.extend([
            jump(EQUAL, IO_URING_SETUP, 0, 1),
            statement(RETURN, NOT_IMPLEMENTED),
        ]);
        // Its arguments are in memory, where no filter looks.
        if let Some(socketcall) = numbers.socketcall {
            rules.extend([
                jump(EQUAL, socketcall, 0, 4),
                statement(LOAD, FIRST_ARGUMENT),
                jump(EQUAL, SOCKETCALL_SOCKET, 0, 1),
                statement(RETURN, NOT_IMPLEMENTED),
                statement(RETURN, ALLOWED),
            ]);
        }
        let [unix, internet, internet6, settings] = FAMILIES;
        rules.extend([
            jump(EQUAL, numbers.socket, 0, 6),
            statement(LOAD, FIRST_ARGUMENT),
            jump(EQUAL, unix, 4, 0),
            jump(EQUAL, internet, 3, 0),
            jump(EQUAL, internet6, 2, 0),
            jump(EQUAL, settings, 1, 0),
            statement(RETURN, NO_FAMILY),
        ]);
    }
    rules.push(statement(RETURN, ALLOWED));
    rules
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

/// The numbers of calls for one kind of programs that a kernel runs.
struct Architecture {
    /// How the kernel's audit calls it.
    audit: u32,
    /// `request_key` and `keyctl` follow it.
    add_key: u32,
    socket: u32,
    /// One call for all that sockets do, in older programs.
    socketcall: Option<u32>,
}

const fn architecture(audit: u32, add_key: u32, socket: u32) -> Architecture {
    Architecture {
        audit,
        add_key,
        socket,
        socketcall: None,
    }
}

const ARCHITECTURES: &[Architecture] = if cfg!(target_arch = "x86_64") {
    &[
        architecture(0xc000_003e, 248, 41),
        Architecture {
            socketcall: Some(102),
            ..architecture(0x4000_0003, 286, 359)
        },
    ]
} else if cfg!(target_arch = "aarch64") {
    &[
        architecture(0xc000_00b7, 217, 198),
        architecture(0x4000_0028, 309, 281),
    ]
} else if cfg!(target_arch = "riscv64") {
    &[architecture(0xc000_00f3, 217, 198)]
} else {
    &[]
};

/// `AF_UNIX`, `AF_INET`, `AF_INET6` and `AF_NETLINK`, which lists the addresses of this machine.
const FAMILIES: [u32; 4] = [1, 2, 10, 16];
/// The same on all architectures above.
const IO_URING_SETUP: u32 = 425;
const SOCKETCALL_SOCKET: u32 = 1;

/// Marks calls of programs with short pointers on x86-64; the numbers are otherwise the same.
const X32: u32 = 0x4000_0000;

/// Where the number of the call, the architecture and the lower half of the first argument are in what
/// the kernel shows; all architectures above have the lower half first.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ABOVE: u16 = 0x25;
const RETURN: u16 = 0x06;

const ALLOWED: u32 = 0x7fff_0000;
/// `SECCOMP_RET_ERRNO` with `ENOSYS` and `EAFNOSUPPORT`, 38 and 97 on all architectures above.
const NOT_IMPLEMENTED: u32 = 0x0005_0026;
const NO_FAMILY: u32 = 0x0005_0061;

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    /// What the kernel answers to a call: nothing if it goes through.
    fn answer(
        program: &[sock_filter],
        [architecture, number, argument]: [u32; 3],
    ) -> Option<Errno> {
        let (mut at, mut value) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let is_true = match code {
                LOAD if k == NUMBER => {
                    value = number;
                    true
                }
                LOAD if k == ARCHITECTURE => {
                    value = architecture;
                    true
                }
                LOAD if k == FIRST_ARGUMENT => {
                    value = argument;
                    true
                }
                AND => {
                    value &= k;
                    true
                }
                RETURN if k == ALLOWED => return None,
                RETURN => {
                    assert_eq!(k & !0xffff, 0x0005_0000, "an error and nothing else");
                    return i32::try_from(k & 0xffff).ok().map(Errno::from_raw_os_error);
                }
                EQUAL => value == k,
                AT_LEAST => value >= k,
                ABOVE => value > k,
                other => panic!("{other}"),
            };
            at += 1 + usize::from(if is_true { jt } else { jf });
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_child_has_no_keyrings_and_a_confined_one_sockets_of_usual_families_alone() {
        const NATIVE: u32 = 0xc000_003e;
        const OF_32_BITS: u32 = 0x4000_0003;
        const VSOCK: u32 = 40;
        let (absent, refused) = (Some(Errno::NOSYS), Some(Errno::AFNOSUPPORT));
        for (call, of_any, of_confined) in [
            ([NATIVE, 0, 0], None, None),
            ([NATIVE, 247, 0], None, None),
            ([NATIVE, 248, 0], absent, absent),
            ([NATIVE, 250, 0], absent, absent),
            ([NATIVE, 251, 0], None, None),
            ([NATIVE, X32 | 249, 0], absent, absent),
            ([NATIVE, 425, 0], None, absent),
            ([NATIVE, 41, 1], None, None),
            ([NATIVE, 41, 2], None, None),
            ([NATIVE, 41, 10], None, None),
            ([NATIVE, 41, 16], None, None),
            ([NATIVE, 41, VSOCK], None, refused),
            ([NATIVE, X32 | 41, VSOCK], None, refused),
            ([NATIVE, 42, VSOCK], None, None),
            ([NATIVE, 102, 1], None, None),
            ([OF_32_BITS, 285, 0], None, None),
            ([OF_32_BITS, 286, 0], absent, absent),
            ([OF_32_BITS, 288, 0], absent, absent),
            ([OF_32_BITS, 289, 0], None, None),
            ([OF_32_BITS, 425, 0], None, absent),
            ([OF_32_BITS, 359, 1], None, None),
            ([OF_32_BITS, 359, VSOCK], None, refused),
            // One call for all that sockets do: opening one is refused, using one is not.
            ([OF_32_BITS, 102, 1], None, absent),
            ([OF_32_BITS, 102, 3], None, None),
            ([OF_32_BITS, 248, 0], None, None),
        ] {
            assert_eq!(answer(&program(false), call), of_any, "{call:x?}");
            assert_eq!(answer(&program(true), call), of_confined, "{call:x?}");
        }
    }
}
