//! The names in git's index file, versions 2 to 4 (gitformat-index(5)).
//!
//! Only names are read. Bytes that do not follow the format end the reading; they never fail it.

/// How long an object's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
}

/// Calls `visit` with the name of every entry, in the order of the file.
pub(super) fn for_each_name(bytes: &[u8], hash: Hash, mut visit: impl FnMut(&[u8])) {
    let Some((version, count)) = header(bytes) else {
        return;
    };
    let mut reader = Reader {
        rest: bytes.get(HEADER_BYTES..).unwrap_or_default(),
        version,
        hash_bytes: match hash {
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
        },
        name: Vec::new(),
    };
    for _ in 0..count {
        if reader.entry().is_none() {
            return;
        }
        visit(&reader.name);
    }
}

fn header(bytes: &[u8]) -> Option<(u32, u32)> {
    let version = number(bytes.get(4..8)?)?;
    let count = number(bytes.get(8..HEADER_BYTES)?)?;
    let known = bytes.starts_with(b"DIRC") && (2..=4).contains(&version);
    known.then_some((version, count))
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

struct Reader<'a> {
    rest: &'a [u8],
    version: u32,
    hash_bytes: usize,
    /// The latest name; version 4 builds each on the one before.
    name: Vec<u8>,
}

impl Reader<'_> {
    /// Reads one entry into `name`.
    fn entry(&mut self) -> Option<()> {
        let start = self.rest.len();
        self.take(STAT_BYTES + self.hash_bytes)?;
        let flags = self.take(2)?;
        if flags.first()? & EXTENDED != 0 {
            self.take(2)?;
        }
        if self.version == 4 {
            let dropped = self.varint()?;
            self.name.truncate(self.name.len().checked_sub(dropped)?);
        } else {
            self.name.clear();
        }
        let length = self.rest.iter().position(|&byte| byte == 0)?;
        let suffix = self.take(length)?.to_vec();
        self.name.extend_from_slice(&suffix);
        if self.version == 4 {
            self.take(1)?;
        } else {
            // One to eight zero bytes bring the entry to a multiple of eight.
            let used = start - self.rest.len();
            self.take(8 - used % 8)?;
        }
        Some(())
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads an offset encoding: seven bits a byte, each continuation adding one.
    fn varint(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        for position in 0..MAX_VARINT_BYTES {
            let byte = *self.take(1)?.first()?;
            if position > 0 {
                value += 1;
            }
            value = (value << 7) | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

const HEADER_BYTES: usize = 12;
/// Times, device, inode, mode, owner and size.
const STAT_BYTES: usize = 40;
/// In the first byte of the flags: two more bytes of flags follow.
const EXTENDED: u8 = 0x40;
/// No name is longer than 2^28 bytes.
const MAX_VARINT_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of `names` without any object behind it.
    fn index(version: u8, names: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0".to_vec();
        bytes.push(version);
        bytes.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        let mut previous = "";
        for name in names {
            let start = bytes.len();
            bytes.extend([0; 60]);
            let extended = version == 3;
            bytes.extend([if extended { 0x40 } else { 0 }, 0]);
            if extended {
                bytes.extend([0, 0]);
            }
            if version == 4 {
                let common = name
                    .bytes()
                    .zip(previous.bytes())
                    .take_while(|(a, b)| a == b)
                    .count();
                bytes.push(u8::try_from(previous.len() - common).unwrap());
                bytes.extend(&name.as_bytes()[common..]);
                bytes.push(0);
                previous = name;
            } else {
                bytes.extend(name.as_bytes());
                let used = bytes.len() - start;
                bytes.extend(vec![0; 8 - used % 8]);
            }
        }
        bytes
    }

    fn names(bytes: &[u8]) -> Vec<String> {
        let mut names = Vec::new();
        for_each_name(bytes, Hash::Sha1, |name| {
            names.push(String::from_utf8_lossy(name).into_owned());
        });
        names
    }

    #[test]
    fn names_of_every_version_are_read() {
        let expected = [".env", ".mcp.json", "docs/a.md", "docs/ab.md", "src/12"];
        for version in 2..=4 {
            assert_eq!(names(&index(version, &expected)), expected, "{version}");
        }
    }

    #[test]
    fn an_index_that_ends_anywhere_gives_the_names_before_that() {
        for version in 2..=4 {
            let whole = index(version, &["a", "ab", "b"]);
            for length in 0..whole.len() {
                assert!(names(&whole[..length]).len() <= 3);
            }
        }
    }

    #[test]
    fn a_count_beyond_the_file_or_an_unknown_version_is_harmless() {
        let mut bytes = index(2, &["a"]);
        bytes[8..12].copy_from_slice(&[0xff; 4]);
        assert_eq!(names(&bytes), ["a"]);
        assert!(names(&index(5, &["a"])).is_empty());
        assert!(names(b"not an index at all").is_empty());
    }

    #[test]
    fn a_prefix_longer_than_the_name_before_ends_the_reading() {
        let mut bytes = index(4, &["a", "b"]);
        let second = 12 + 62 + 3 + 62;
        bytes[second] = 0x7f;
        assert_eq!(names(&bytes), ["a"]);
    }
}
