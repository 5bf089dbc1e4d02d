//! All files of a bundle, for a host that starts its server.
//!
//! The list of members is read first, and looked at as a whole: nothing is written of an archive that
//! holds a link, a name that leads elsewhere, two files of one name, or more than it should. Then each
//! member is unpacked to exactly the size and the checksum that the list says.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::io::{self, Read, Seek, SeekFrom, Write};

use keyway_secret::{escaped, printable};
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use rawzip::{
    CompressionMethod, Crc32, CreatorSystem, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive,
    ZipArchiveEntryWayfinder, ZipFileHeaderRecord,
};
use thiserror::Error;

use super::{BundleError, MANIFEST};

/// Where the files of a bundle go. Paths are relative, with `/`, and lead nowhere else.
pub trait UnpackTarget {
    /// Makes a folder, and those above it; it may be there.
    ///
    /// # Errors
    ///
    /// Returns what the system says.
    fn folder(&mut self, path: &str) -> io::Result<()>;

    /// Makes a file that is not there yet, and the folders above it.
    ///
    /// # Errors
    ///
    /// Returns what the system says.
    fn file(&mut self, path: &str, is_executable: bool) -> io::Result<impl Write>;
}

/// What is wrong with a member of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemberFault {
    /// Its path is absolute, or has `..` in it.
    #[error("leads out of the bundle")]
    LeadsOut,
    /// It is not UTF-8, too long, or has control characters, backslashes or empty parts in it.
    #[error("is a name that not every system can have")]
    Name,
    /// It is a symbolic link.
    #[error("is a link")]
    Link,
    /// It is a device, a pipe or a socket.
    #[error("is neither a file nor a folder")]
    Special,
    /// Another member has the same name; hosts unpack different ones.
    #[error("is there twice")]
    Twice,
    /// Another member has that name in other capitals, so that some systems see one file.
    #[error("differs from another name in capitals only")]
    Capitals,
    /// The local header has another name than the list of members.
    #[error("has two names")]
    TwoNames,
    /// It is encrypted, packed in a way that hosts do not read, cut off, or its size or checksum is
    /// wrong.
    #[error("cannot be unpacked: it is encrypted or damaged")]
    Damaged,
}

/// Unpacks a bundle.
///
/// # Errors
///
/// Returns a [`BundleError`] at the first surprise: before anything is written if the list of members
/// shows it, else with a part of the files written.
pub fn unpack(
    mut archive: impl Read + Seek,
    target: &mut impl UnpackTarget,
) -> Result<(), BundleError> {
    let size = archive.seek(SeekFrom::End(0));
    let size = size.map_err(BundleError::Unreadable)?;
    archive.rewind().map_err(BundleError::Unreadable)?;
    let mut buffer = vec![0; LONGEST_HEADER.max(RECOMMENDED_BUFFER_SIZE)];
    let archive =
        ZipArchive::from_seekable(archive, &mut buffer).map_err(|_| BundleError::NotAnArchive)?;
    let mut list = MemberList::default();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries
        .next_entry()
        .map_err(|_| BundleError::NotAnArchive)?
    {
        list.add(&entry)?;
    }
    let members = list.finish(size)?;
    let mut inflater = Inflater::default();
    for member in members {
        let damaged = || member.at_fault(MemberFault::Damaged);
        let entry = archive.get_entry(member.place).map_err(|_| damaged())?;
        let header = entry.local_header(&mut buffer).map_err(|_| damaged())?;
        if header.file_path().as_bytes() != member.raw_name().as_bytes() {
            return Err(member.at_fault(MemberFault::TwoNames));
        }
        if member.is_folder {
            target
                .folder(&member.path)
                .map_err(BundleError::NotWritten)?;
            continue;
        }
        let file = target.file(&member.path, member.is_executable);
        let mut file = file.map_err(BundleError::NotWritten)?;
        member.write(entry.reader(), &mut inflater, &mut file)?;
    }
    Ok(())
}

/// A member whose name, kind and size were looked at.
struct Member {
    path: String,
    is_folder: bool,
    is_executable: bool,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    checksum: u32,
}

impl Member {
    /// Returns the name as the archive has it.
    fn raw_name(&self) -> String {
        let end = if self.is_folder { "/" } else { "" };
        format!("{}{end}", self.path)
    }

    fn at_fault(&self, fault: MemberFault) -> BundleError {
        at_fault(self.path.as_bytes(), fault)
    }

    /// Unpacks the content, to no more than the size that the list says.
    fn write<R: ReaderAt>(
        &self,
        mut packed: rawzip::ZipReader<R>,
        inflater: &mut Inflater,
        file: &mut impl Write,
    ) -> Result<(), BundleError> {
        let mut out = Checked {
            file,
            checksum: Crc32::new(),
            left: self.place.uncompressed_size_hint(),
        };
        let written = match self.method {
            CompressionMethod::STORE => inflater.copy(&mut packed, &mut out),
            CompressionMethod::DEFLATE => inflater.inflate(&mut packed, &mut out),
            _ => Err(Stopped::Damaged),
        };
        let is_whole = || out.left == 0 && out.checksum.checksum() == self.checksum;
        match written {
            Ok(()) if is_whole() => out.file.flush().map_err(BundleError::NotWritten),
            Ok(()) | Err(Stopped::Damaged) => Err(self.at_fault(MemberFault::Damaged)),
            Err(Stopped::NotWritten(error)) => Err(BundleError::NotWritten(error)),
        }
    }
}

/// The members of an archive while they are listed.
#[derive(Default)]
struct MemberList {
    members: Vec<Member>,
    /// Every file and folder, those included that only a longer path names, by its name in small
    /// letters.
    names: BTreeMap<String, Listed>,
    unpacked: u64,
    packed: u64,
}

struct Listed {
    spelling: String,
    is_folder: bool,
}

impl MemberList {
    fn add(&mut self, entry: &ZipFileHeaderRecord<'_>) -> Result<(), BundleError> {
        let raw = entry.file_path();
        let raw = raw.as_bytes();
        let fault = |fault| at_fault(raw, fault);
        let (path, is_folder) = checked_name(raw).map_err(fault)?;
        let is_unix = matches!(
            entry.version_made_by().creator_system(),
            CreatorSystem::UNIX | CreatorSystem::MACOS
        );
        let mode = if is_unix {
            entry.external_attributes() >> 16
        } else {
            0
        };
        match mode & FILE_TYPE {
            // Some writers say nothing of a type.
            0 | REGULAR_FILE => {}
            FOLDER if is_folder => {}
            LINK => return Err(fault(MemberFault::Link)),
            _ => return Err(fault(MemberFault::Special)),
        }
        if entry.flags().is_encrypted() {
            return Err(fault(MemberFault::Damaged));
        }
        self.list(path, is_folder).map_err(|found| match found {
            Some(found) => fault(found),
            None => BundleError::TooManyToUnpack,
        })?;
        let place = entry.wayfinder();
        self.unpacked = self.unpacked.saturating_add(place.uncompressed_size_hint());
        self.packed = self.packed.saturating_add(place.compressed_size_hint());
        if self.unpacked > MAX_UNPACKED {
            return Err(BundleError::TooLargeToUnpack);
        }
        self.members.push(Member {
            path: path.to_owned(),
            is_folder,
            is_executable: mode & EXECUTABLE != 0,
            place,
            method: entry.compression_method(),
            checksum: entry.crc32(),
        });
        Ok(())
    }

    /// Notes a name and those of the folders above it; `None` if there are too many.
    fn list(&mut self, path: &str, is_folder: bool) -> Result<(), Option<MemberFault>> {
        let above = path.match_indices('/').map(|(end, _)| end);
        let above = above.filter_map(|end| path.get(..end));
        for folder in above {
            self.note(folder, true)?;
        }
        self.note(path, is_folder)
    }

    fn note(&mut self, path: &str, is_folder: bool) -> Result<(), Option<MemberFault>> {
        let count = self.names.len();
        match self.names.entry(path.to_lowercase()) {
            Slot::Vacant(_) if count >= MAX_UNPACKED_FILES => Err(None),
            Slot::Vacant(slot) => {
                let spelling = path.to_owned();
                slot.insert(Listed {
                    spelling,
                    is_folder,
                });
                Ok(())
            }
            Slot::Occupied(known) if known.get().spelling != path => {
                Err(Some(MemberFault::Capitals))
            }
            // A folder may be listed behind what is in it.
            Slot::Occupied(known) if known.get().is_folder && is_folder => Ok(()),
            Slot::Occupied(_) => Err(Some(MemberFault::Twice)),
        }
    }

    fn finish(self, size: u64) -> Result<Vec<Member>, BundleError> {
        // Members that share their bytes unpack to far more than an archive of its size can hold.
        let most = size.saturating_mul(MAX_RATIO).max(ALWAYS_FITS);
        if self.packed > size || self.unpacked > most {
            return Err(BundleError::TooLargeToUnpack);
        }
        let is_manifest = |member: &Member| member.path == MANIFEST && !member.is_folder;
        match self.members.iter().any(is_manifest) {
            true => Ok(self.members),
            false => Err(BundleError::NoManifest),
        }
    }
}

/// Returns the name of a member without the slash of a folder, if it is one that stays inside.
fn checked_name(raw: &[u8]) -> Result<(&str, bool), MemberFault> {
    let name = std::str::from_utf8(raw).map_err(|_| MemberFault::Name)?;
    let has_drive = name.as_bytes().get(1) == Some(&b':');
    if name.starts_with('/') || has_drive || name.split(['/', '\\']).any(|part| part == "..") {
        return Err(MemberFault::LeadsOut);
    }
    let (path, is_folder) = match name.strip_suffix('/') {
        Some(path) => (path, true),
        None => (name, false),
    };
    let is_usable = |part: &str| {
        !matches!(part, "" | ".") && part.len() <= LONGEST_PART && part == printable(part)
    };
    let is_usable = path.len() <= LONGEST_PATH
        && path.split('/').count() <= DEEPEST_PATH
        && !path.contains(['\\', '\0'])
        && path.split('/').all(is_usable);
    match is_usable {
        true => Ok((path, is_folder)),
        false => Err(MemberFault::Name),
    }
}

fn at_fault(name: &[u8], fault: MemberFault) -> BundleError {
    let name: String = String::from_utf8_lossy(name)
        .chars()
        .take(LONGEST_SHOWN)
        .collect();
    BundleError::Member {
        name: escaped(&name),
        fault,
    }
}

/// Why a member was not unpacked to its end.
enum Stopped {
    Damaged,
    NotWritten(io::Error),
}

/// Writes, counts and sums up; beyond the size that the list says nothing is written.
struct Checked<'a, W> {
    file: &'a mut W,
    checksum: Crc32,
    left: u64,
}

impl<W: Write> Checked<'_, W> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(length).ok_or(Stopped::Damaged)?;
        self.checksum.update(bytes);
        self.file.write_all(bytes).map_err(Stopped::NotWritten)
    }
}

/// The memory that unpacking takes, used again for each member.
struct Inflater {
    state: Box<InflateState>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Default for Inflater {
    fn default() -> Self {
        Self {
            state: InflateState::new_boxed(DataFormat::Raw),
            input: vec![0; BUFFER],
            output: vec![0; BUFFER],
        }
    }
}

impl Inflater {
    fn copy<W: Write>(
        &mut self,
        packed: &mut impl Read,
        out: &mut Checked<'_, W>,
    ) -> Result<(), Stopped> {
        loop {
            let read = packed.read(&mut self.input).map_err(|_| Stopped::Damaged)?;
            if read == 0 {
                return Ok(());
            }
            out.push(self.input.get(..read).unwrap_or_default())?;
        }
    }

    fn inflate<W: Write>(
        &mut self,
        packed: &mut impl Read,
        out: &mut Checked<'_, W>,
    ) -> Result<(), Stopped> {
        self.state.reset(DataFormat::Raw);
        let (mut start, mut end) = (0, 0);
        loop {
            if start == end {
                let read = packed.read(&mut self.input);
                (start, end) = (0, read.map_err(|_| Stopped::Damaged)?);
            }
            let input = self.input.get(start..end).unwrap_or_default();
            let done = inflate(&mut self.state, input, &mut self.output, MZFlush::None);
            start += done.bytes_consumed;
            out.push(self.output.get(..done.bytes_written).unwrap_or_default())?;
            match done.status {
                // Behind the end there is nothing: other readers might unpack it.
                Ok(MZStatus::StreamEnd) => {
                    let more = packed.read(&mut self.input);
                    let is_end = start == end && matches!(more, Ok(0));
                    return is_end.then_some(()).ok_or(Stopped::Damaged);
                }
                Ok(_) if done.bytes_consumed > 0 || done.bytes_written > 0 => {}
                _ => return Err(Stopped::Damaged),
            }
        }
    }
}

/// Below what an approval covers, so that all of an unpacked bundle always counts.
pub(super) const MAX_UNPACKED_FILES: usize = 50_000;
pub(super) const MAX_UNPACKED: u64 = 512 * 1024 * 1024;
/// Code is packed to a third or a tenth.
pub(super) const MAX_RATIO: u64 = 100;
/// What unpacks to less than this is not compared with the archive's size.
const ALWAYS_FITS: u64 = 1024 * 1024;
const LONGEST_PATH: usize = 1024;
const LONGEST_PART: usize = 255;
const DEEPEST_PATH: usize = 64;
const LONGEST_SHOWN: usize = 200;
/// The name and the extra field of a local header.
const LONGEST_HEADER: usize = 2 * 64 * 1024;
const BUFFER: usize = 64 * 1024;

// Of `stat.h`, as archives have them.
const FILE_TYPE: u32 = 0o170_000;
const REGULAR_FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;
const EXECUTABLE: u32 = 0o111;

#[cfg(test)]
mod tests;
