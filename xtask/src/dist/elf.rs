//! What a Linux binary says of itself: the libc that it needs and how it is protected.
//!
//! Read from the file, since that is what people run: flags of a linker may be ignored by another.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{
    DF_1_NOW, DF_1_PIE, DF_BIND_NOW, DT_FLAGS, DT_FLAGS_1, ET_DYN, FileHeader64, PF_X,
    PT_GNU_RELRO, PT_GNU_STACK,
};
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _};

use crate::error::XtaskError;

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Elf {
    /// The newest version of a glibc symbol that it needs, as `[2, 17]`.
    pub(super) glibc: Option<[u32; 2]>,
    pub(super) size: u64,
    protections: BTreeSet<Protection>,
    /// Names of its builder's that it holds.
    names: Vec<String>,
}

/// What makes a fault of the program harder to exploit.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Protection {
    /// It can be loaded anywhere.
    Position,
    /// Relocations become read-only after they were applied.
    Relro,
    /// All of them are applied at the start, so that none is left for later.
    BindNow,
    /// Data on the stack cannot be run.
    Stack,
}

impl Elf {
    /// Reads `binary`, and looks for any of `secrets` in it.
    pub(super) fn read(binary: &Path, secrets: &[PathBuf]) -> Result<Self, XtaskError> {
        let data = fs::read(binary).map_err(XtaskError::file(binary))?;
        Self::parse(&data, secrets).map_err(|source| XtaskError::Elf {
            path: binary.to_owned(),
            source,
        })
    }

    fn parse(data: &[u8], secrets: &[PathBuf]) -> Result<Self, object::Error> {
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let mut elf = Self {
            size: data.len() as u64,
            ..Self::default()
        };
        let mut protect = |with: Protection, is_on: bool| {
            if is_on {
                elf.protections.insert(with);
            }
        };
        for segment in header.program_headers(endian, data)? {
            match segment.p_type(endian) {
                PT_GNU_RELRO => protect(Protection::Relro, true),
                PT_GNU_STACK => {
                    protect(Protection::Stack, segment.p_flags(endian).0 & PF_X.0 == 0);
                }
                _ => {}
            }
            for entry in segment.dynamic(endian, data)?.unwrap_or_default() {
                let value = entry.val(endian);
                match entry.tag(endian) {
                    DT_FLAGS => protect(Protection::BindNow, value & DF_BIND_NOW.0 != 0),
                    DT_FLAGS_1 => {
                        protect(Protection::BindNow, value & DF_1_NOW.0 != 0);
                        let is_shared = header.e_type(endian) == ET_DYN;
                        protect(Protection::Position, is_shared && value & DF_1_PIE.0 != 0);
                    }
                    _ => {}
                }
            }
        }
        elf.glibc = newest_glibc(header, endian, data)?;
        elf.names = found(data, secrets);
        Ok(elf)
    }

    /// Returns the protections that it lacks, each as a fault.
    pub(super) fn unprotected(&self) -> Vec<String> {
        let absent = EXPECTED
            .iter()
            .filter(|(protection, _)| !self.protections.contains(protection));
        absent.map(|(_, fault)| (*fault).to_owned()).collect()
    }

    /// Returns what keeps it from being released to systems with `glibc`.
    pub(super) fn faults(&self, glibc: Option<[u32; 2]>) -> Vec<String> {
        let mut faults = self.unprotected();
        if self.size > LARGEST {
            let most = LARGEST / (1024 * 1024);
            faults.push(format!("it is larger than {most} MiB"));
        }
        if let Some([major, minor]) = self.glibc.filter(|needed| Some(*needed) > glibc) {
            faults.push(format!("it needs glibc {major}.{minor}"));
        }
        let names = self.names.iter();
        faults.extend(names.map(|name| format!("it holds the builder's path `{name}`")));
        faults
    }
}

/// Returns the newest `GLIBC_x.y` among the versions of symbols that are needed.
fn newest_glibc(
    header: &FileHeader64<Endianness>,
    endian: Endianness,
    data: &[u8],
) -> Result<Option<[u32; 2]>, object::Error> {
    let sections = header.sections(endian, data)?;
    let Some((mut needed, strings)) = sections.gnu_verneed(endian, data)? else {
        return Ok(None);
    };
    let strings = sections.strings(endian, data, strings)?;
    let mut newest = None;
    while let Some((_, mut versions)) = needed.next()? {
        while let Some(version) = versions.next()? {
            let name = version.name(endian, strings)?;
            newest = newest.max(std::str::from_utf8(name).ok().and_then(glibc));
        }
    }
    Ok(newest)
}

/// Reads `GLIBC_2.17`, and `GLIBC_2.2.5` as 2.2.
fn glibc(name: &str) -> Option<[u32; 2]> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.');
    let mut next = || numbers.next()?.parse().ok();
    Some([next()?, next()?])
}

fn found(data: &[u8], secrets: &[PathBuf]) -> Vec<String> {
    // With the slash that follows it: `/root` alone is in `notifications/roots`.
    let texts = secrets.iter().map(|path| format!("{}/", path.display()));
    texts
        .filter(|text| memchr::memmem::find(data, text.as_bytes()).is_some())
        .collect()
}

/// Each protection, and what is wrong without it.
const EXPECTED: [(Protection, &str); 4] = [
    (Protection::Position, "it is not position-independent"),
    (
        Protection::Relro,
        "its relocations stay writable (no RELRO)",
    ),
    (
        Protection::BindNow,
        "its symbols are bound late (no full RELRO)",
    ),
    (Protection::Stack, "its stack is executable"),
];
/// In bytes: 15 MiB, and 3 for PostgreSQL and PKCS#11.
const LARGEST: u64 = 18 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// The program that runs this test: made by the same linker's defaults as others are.
    fn own() -> Vec<u8> {
        fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    /// Returns the fault that appears once `change` was made to a sound binary.
    fn fault_after(change: impl FnOnce(&mut [u8], usize)) -> Vec<String> {
        let mut data = own();
        let header = FileHeader64::<Endianness>::parse(&*data).unwrap();
        let endian = header.endian().unwrap();
        let segments = header.program_headers(endian, &*data).unwrap();
        let place = segments
            .iter()
            .position(|segment| segment.p_type(endian) == PT_GNU_STACK);
        let start = usize::try_from(header.e_phoff.get(endian)).unwrap();
        change(&mut data, start + place.unwrap() * 56);
        let before = Elf::parse(&own(), &[]).unwrap().faults(NEW);
        let mut after = Elf::parse(&data, &[]).unwrap().faults(NEW);
        after.retain(|fault| !before.contains(fault));
        after
    }

    #[test]
    fn own_program_is_protected_and_needs_some_glibc() {
        let elf = Elf::parse(&own(), &[]).unwrap();
        assert_eq!(
            elf.protections.len(),
            EXPECTED.len(),
            "{:?}",
            elf.protections
        );
        assert!(elf.glibc > Some([2, 0]), "{:?}", elf.glibc);
    }

    #[test]
    fn an_executable_stack_is_a_fault() {
        let faults = fault_after(|data, stack| data[stack + 4] |= 1);
        assert_eq!(faults, ["its stack is executable"]);
    }

    #[test]
    fn a_binary_at_a_fixed_address_is_a_fault() {
        let faults = fault_after(|data, _| data[16] = 2);
        assert_eq!(faults, ["it is not position-independent"]);
    }

    #[test]
    fn a_newer_glibc_and_the_path_of_the_builder_are_faults() {
        let elf = Elf {
            glibc: Some([2, 34]),
            names: vec!["/home/ada/".to_owned()],
            ..Elf::parse(&own(), &[]).unwrap()
        };
        let faults = elf.faults(Some([2, 17]));
        assert!(
            faults.contains(&"it needs glibc 2.34".to_owned()),
            "{faults:?}"
        );
        let path = "it holds the builder's path `/home/ada/`".to_owned();
        assert!(faults.contains(&path), "{faults:?}");
    }

    #[test]
    fn the_path_of_the_workspace_is_found_in_a_build_that_keeps_it() {
        let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        // Such a path, so that this build has one whatever its debug information says.
        std::hint::black_box(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        let absent = PathBuf::from(["/no", "where/", "at-all"].concat());
        let elf = Elf::parse(&own(), &[workspace.clone(), absent]).unwrap();
        assert_eq!(elf.names, [format!("{}/", workspace.display())]);
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(glibc("GLIBC_2.17") > glibc("GLIBC_2.4"));
        assert_eq!(glibc("GLIBC_2.2.5"), Some([2, 2]));
        assert_eq!(glibc("GLIBC_PRIVATE"), None);
    }

    const NEW: Option<[u32; 2]> = Some([9, 0]);
}
