//! What is inside of an MCP bundle (`.mcpb`, once `.dxt`), which is a zip.
//!
//! A bundle comes from strangers. To check it only its manifest is unpacked, in memory and up to the
//! size of a file of entries; the names in the archive are compared and never used as paths. All of it
//! is unpacked by [`unpack`], to start its server. A signature behind the archive is skipped.

mod unpack;

use std::io::{self, Read, Seek};

use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};
use thiserror::Error;

use self::unpack::{MAX_RATIO, MAX_UNPACKED, MAX_UNPACKED_FILES};
pub use self::unpack::{MemberFault, UnpackTarget, unpack};
use crate::source::MAX_BYTES;

/// Why a bundle cannot be read or unpacked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BundleError {
    /// It is not a zip, or one that is cut off.
    #[error("it is not a zip archive")]
    NotAnArchive,
    /// It has more files than are looked at.
    #[error("it has more than {MAX_FILES} files")]
    TooManyFiles,
    /// There is no manifest where hosts look for it.
    #[error("it has no `manifest.json` at its root")]
    NoManifest,
    /// There are two, of which hosts read different ones.
    #[error("it has `manifest.json` twice")]
    TwoManifests,
    /// The manifest is larger than a file of entries may be, packed or unpacked.
    #[error("its `manifest.json` is larger than {} KiB", MAX_BYTES / 1024)]
    TooLarge,
    /// The manifest is packed in a way that hosts do not read, or its checksum is wrong.
    #[error("its `manifest.json` cannot be unpacked")]
    Damaged,
    /// A member is not what a bundle may hold.
    #[error("`{name}` in it {fault}")]
    Member {
        /// Its name, fit to print.
        name: String,
        /// What is wrong.
        fault: MemberFault,
    },
    /// It has more files and folders than are unpacked.
    #[error("it has more than {MAX_UNPACKED_FILES} files and folders")]
    TooManyToUnpack,
    /// It would take more of the disk than a bundle may.
    #[error("it unpacks to more than {} MiB, or to more than {MAX_RATIO} times its size", MAX_UNPACKED >> 20)]
    TooLargeToUnpack,
    /// The archive could not be read.
    #[error("cannot read it")]
    Unreadable(#[source] io::Error),
    /// The files could not be written.
    #[error("cannot write its files")]
    NotWritten(#[source] io::Error),
}

/// Returns the bytes of a bundle's manifest.
///
/// # Errors
///
/// Returns a [`BundleError`] if there is none, or it goes beyond what is unpacked.
pub fn manifest(mut archive: impl Read + Seek) -> Result<Vec<u8>, BundleError> {
    // What fails from here on fails because of what the archive says.
    archive.rewind().map_err(BundleError::Unreadable)?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive =
        ZipArchive::from_seekable(archive, &mut buffer).map_err(|_| BundleError::NotAnArchive)?;
    let mut found = None;
    let mut count = 0;
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries
        .next_entry()
        .map_err(|_| BundleError::NotAnArchive)?
    {
        count += 1;
        if count > MAX_FILES {
            return Err(BundleError::TooManyFiles);
        }
        if entry.file_path().as_ref() != MANIFEST.as_bytes() {
            continue;
        }
        let member = (entry.wayfinder(), entry.compression_method(), entry.crc32());
        if found.replace(member).is_some() {
            return Err(BundleError::TwoManifests);
        }
    }
    let (place, method, checksum) = found.ok_or(BundleError::NoManifest)?;
    let entry = archive
        .get_entry(place)
        .map_err(|_| BundleError::NotAnArchive)?;
    let packed = bounded(entry.reader())?;
    let bytes = match method {
        CompressionMethod::STORE => packed,
        CompressionMethod::DEFLATE => inflated(&packed)?,
        _ => return Err(BundleError::Damaged),
    };
    match rawzip::crc32(&bytes) == checksum {
        true => Ok(bytes),
        false => Err(BundleError::Damaged),
    }
}

fn bounded(reader: impl Read) -> Result<Vec<u8>, BundleError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
    let read = reader.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|_| BundleError::Damaged)?;
    match bytes.len() > MAX_BYTES {
        true => Err(BundleError::TooLarge),
        false => Ok(bytes),
    }
}

fn inflated(packed: &[u8]) -> Result<Vec<u8>, BundleError> {
    use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

    decompress_to_vec_with_limit(packed, MAX_BYTES).map_err(|error| match error.status {
        TINFLStatus::HasMoreOutput => BundleError::TooLarge,
        _ => BundleError::Damaged,
    })
}

/// Where hosts look for it.
const MANIFEST: &str = "manifest.json";

/// Dependencies are part of a bundle, so thousands are usual.
const MAX_FILES: usize = 200_000;

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use rawzip::ZipArchiveWriter;

    use super::*;

    /// Packs files as they are.
    fn stored(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut archive = ZipArchiveWriter::new(&mut bytes);
        for (name, content) in files {
            let (mut entry, config) = archive.new_file(name).start().unwrap();
            let mut data = config.wrap(&mut entry);
            data.write_all(content).unwrap();
            let (_, descriptor) = data.finish().unwrap();
            entry.finish(descriptor).unwrap();
        }
        archive.finish().unwrap();
        bytes
    }

    /// Packs a manifest with compression.
    fn deflated(content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut archive = ZipArchiveWriter::new(&mut bytes);
        let method = CompressionMethod::DEFLATE;
        let builder = archive.new_file(MANIFEST).compression_method(method);
        let (mut entry, _) = builder.start().unwrap();
        let packed = miniz_oxide::deflate::compress_to_vec(content, 6);
        entry.write_all(&packed).unwrap();
        let size = u64::try_from(content.len()).unwrap();
        let descriptor = rawzip::DataDescriptorOutput::new(rawzip::crc32(content), size);
        entry.finish(descriptor).unwrap();
        archive.finish().unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>, BundleError> {
        manifest(Cursor::new(bytes))
    }

    #[test]
    fn the_manifest_at_the_root_is_read_packed_or_not_and_behind_it_a_signature() {
        let files: &[(&str, &[u8])] = &[
            ("server/manifest.json", b"{}"),
            ("up/manifest.json", b"{}"),
            ("manifest.json", b"{\"name\": \"a\"}"),
        ];
        let mut bytes = stored(files);
        // A name that leads out of the archive, which the writer would not write.
        for at in 0..bytes.len() - 3 {
            if bytes[at..].starts_with(b"up/") {
                bytes[at..at + 2].copy_from_slice(b"..");
            }
        }
        assert_eq!(read(&bytes).unwrap(), b"{\"name\": \"a\"}");
        let mut signed = deflated(b"{\"name\": \"b\"}");
        assert_eq!(read(&signed).unwrap(), b"{\"name\": \"b\"}");
        signed.extend(b"MCPB_SIG_V1\x03\0\0\0abcMCPB_SIG_END");
        assert_eq!(read(&signed).unwrap(), b"{\"name\": \"b\"}");
    }

    #[test]
    fn what_hosts_read_differently_or_not_at_all_is_refused() {
        let twice: &[(&str, &[u8])] = &[(MANIFEST, b"{}"), (MANIFEST, b"{\"a\": 1}")];
        let inner: &[(&str, &[u8])] = &[("x/manifest.json", b"{}"), ("Manifest.json", b"{}")];
        let mut wrong = stored(&[(MANIFEST, b"{\"name\": \"a\"}")]);
        let place = wrong.windows(4).position(|it| it == b"name").unwrap();
        wrong[place] = b'N';
        let whole = stored(&[(MANIFEST, b"{}")]);
        for (bytes, expected) in [
            (stored(twice), "it has `manifest.json` twice"),
            (stored(inner), "it has no `manifest.json` at its root"),
            (wrong, "its `manifest.json` cannot be unpacked"),
            (b"{}".to_vec(), "it is not a zip archive"),
            (Vec::new(), "it is not a zip archive"),
            (
                whole[..whole.len() - 10].to_vec(),
                "it is not a zip archive",
            ),
        ] {
            assert_eq!(read(&bytes).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_manifest_that_grows_beyond_a_file_is_not_unpacked() {
        let zeros = vec![b' '; MAX_BYTES * 64];
        let bomb = deflated(&zeros);
        assert!(bomb.len() < MAX_BYTES);
        assert!(matches!(read(&bomb), Err(BundleError::TooLarge)));
        let large = stored(&[(MANIFEST, &zeros[..=MAX_BYTES])]);
        assert!(matches!(read(&large), Err(BundleError::TooLarge)));
        assert_eq!(
            read(&deflated(&zeros[..MAX_BYTES])).unwrap().len(),
            MAX_BYTES
        );
    }

    #[test]
    fn a_list_without_an_end_is_not_walked_to_it() {
        // A million names of a few bytes each fit into a file that a repository may hold.
        let one = stored(&[("a", b"")]);
        let start = one.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
        let end = one.windows(4).position(|it| it == b"PK\x05\x06").unwrap();
        let record = &one[start..end];
        let mut bytes = one[..start].to_vec();
        let number = MAX_FILES + 1;
        bytes.extend(record.repeat(number));
        let mut last = one[end..].to_vec();
        let size = u32::try_from(record.len() * number).unwrap();
        last[12..16].copy_from_slice(&size.to_le_bytes());
        bytes.extend(last);
        assert!(matches!(read(&bytes), Err(BundleError::TooManyFiles)));
    }
}
