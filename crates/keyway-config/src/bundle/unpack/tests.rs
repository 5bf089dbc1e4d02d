//! Archives of strangers, honest and not.

use std::collections::BTreeMap;
use std::io::Cursor;

use keyway_testkit::bundle::{Member, archive};

use super::*;

/// What would be written: content and whether it may be run; `None` for a folder.
#[derive(Default)]
struct Memory(BTreeMap<String, Option<(Vec<u8>, bool)>>);

impl UnpackTarget for Memory {
    fn folder(&mut self, path: &str) -> io::Result<()> {
        self.0.insert(path.to_owned(), None);
        Ok(())
    }

    fn file(&mut self, path: &str, is_executable: bool) -> io::Result<impl Write> {
        let file = Some((Vec::new(), is_executable));
        assert!(self.0.insert(path.to_owned(), file).is_none(), "{path}");
        let file = self.0.get_mut(path).and_then(Option::as_mut);
        file.map(|(content, _)| content)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn unpacked(bytes: &[u8]) -> Result<Memory, BundleError> {
    let mut memory = Memory::default();
    unpack(Cursor::new(bytes), &mut memory).map(|()| memory)
}

fn manifest() -> Member {
    Member::file(MANIFEST, b"{}")
}

fn deflated(name: &str, content: &[u8]) -> Member {
    let packed = miniz_oxide::deflate::compress_to_vec(content, 6);
    Member::deflated(name, content, packed)
}

#[test]
fn files_folders_and_the_executable_bit_come_out_and_set_user_id_does_not() {
    let large: Vec<u8> = (0..60_000_u32).flat_map(u32::to_le_bytes).collect();
    let bytes = archive(&[
        manifest(),
        Member::file("server/", b"").mode(0o040_755),
        Member::file("server/run", b"#!/bin/sh").mode(0o104_755),
        Member::file("naïve name.txt", b"").mode(0),
        deflated("server/deep/large.bin", &large),
        deflated("server/deep/empty", b""),
    ]);
    let found = unpacked(&bytes).unwrap().0;
    let file = |name: &str| found[name].clone().unwrap();
    assert_eq!(found.len(), 6);
    assert_eq!(found["server"], None);
    assert_eq!(file("server/run"), (b"#!/bin/sh".to_vec(), true));
    assert_eq!(file("naïve name.txt"), (Vec::new(), false));
    assert_eq!(file("server/deep/large.bin"), (large, false));
    assert_eq!(file("server/deep/empty"), (Vec::new(), false));
}

/// The member, its name as it is shown, and what is said of it.
#[test]
fn the_first_surprise_is_named_and_nothing_was_written_before_it() {
    let file = |name: &str| Member::file(name, b"x");
    let mut two_names = file("server/a.js");
    two_names.local_name = b"server/b.js".to_vec();
    let mut encrypted = file("a");
    encrypted.flags = 1;
    let long = "x".repeat(300);
    let deep = "d/".repeat(80) + "x";
    for (members, name, fault) in [
        (vec![file("../evil")], "../evil", MemberFault::LeadsOut),
        (vec![file("a/../../b")], "a/../../b", MemberFault::LeadsOut),
        (vec![file("..\\evil")], "..\\evil", MemberFault::LeadsOut),
        (vec![file("/etc/cron")], "/etc/cron", MemberFault::LeadsOut),
        (vec![file("C:/x")], "C:/x", MemberFault::LeadsOut),
        (vec![file("a\\b")], "a\\b", MemberFault::Name),
        (vec![file("a//b")], "a//b", MemberFault::Name),
        (vec![file("./a")], "./a", MemberFault::Name),
        (vec![file("a\u{1b}[2J")], "a\\u{1b}[2J", MemberFault::Name),
        (vec![file("a\0b")], "a\\u{0}b", MemberFault::Name),
        (vec![file("")], "", MemberFault::Name),
        (vec![file("/")], "/", MemberFault::LeadsOut),
        (vec![file(&long)], &long[..200], MemberFault::Name),
        (vec![file(&deep)], &deep, MemberFault::Name),
        (
            vec![Member::file(b"\xff", b"")],
            "\u{fffd}",
            MemberFault::Name,
        ),
        (vec![file("l").mode(0o120_777)], "l", MemberFault::Link),
        (vec![file("l/").mode(0o120_777)], "l/", MemberFault::Link),
        (vec![file("d").mode(0o020_666)], "d", MemberFault::Special),
        (vec![file("p").mode(0o010_666)], "p", MemberFault::Special),
        (vec![file("f").mode(0o040_755)], "f", MemberFault::Special),
        (vec![file("a"), file("a")], "a", MemberFault::Twice),
        (vec![manifest()], MANIFEST, MemberFault::Twice),
        (vec![file("a"), file("a/b")], "a/b", MemberFault::Twice),
        (vec![file("a/b"), file("a")], "a", MemberFault::Twice),
        (vec![file("a"), file("A")], "A", MemberFault::Capitals),
        (vec![file("a/b"), file("A/c")], "A/c", MemberFault::Capitals),
        (vec![file("É"), file("é")], "é", MemberFault::Capitals),
        (vec![encrypted], "a", MemberFault::Damaged),
    ] {
        let members = [vec![manifest()], members].concat();
        let mut memory = Memory::default();
        let found = unpack(Cursor::new(archive(&members)), &mut memory);
        let Err(BundleError::Member {
            name: shown,
            fault: found,
        }) = found
        else {
            panic!("{name}: {found:?}");
        };
        assert_eq!((shown.as_str(), found), (name, fault));
        assert!(memory.0.is_empty(), "{name}");
    }
    let found = unpacked(&archive(&[manifest(), two_names]));
    let expected = "`server/a.js` in it has two names";
    assert_eq!(found.err().unwrap().to_string(), expected);
}

#[test]
fn content_that_is_not_as_listed_is_refused() {
    let text = b"console.log('a long line of a server, a long line of a server')";
    let whole = deflated("a", text);
    let cut = Member {
        packed: whole.packed[..whole.packed.len() - 2].to_vec(),
        ..whole.clone()
    };
    let more = Member {
        packed: [whole.packed.clone(), b"more".to_vec()].concat(),
        ..whole.clone()
    };
    let changed = |change: fn(&mut Member)| {
        let mut member = whole.clone();
        change(&mut member);
        member
    };
    for (member, why) in [
        (cut, "cut off"),
        (more, "something behind the end"),
        (changed(|it| it.checksum ^= 1), "checksum"),
        (changed(|it| it.size += 1), "smaller than listed"),
        (changed(|it| it.size -= 1), "larger than listed"),
        (changed(|it| it.method = 12), "another compression"),
        (changed(|it| it.method = 0), "not compressed"),
    ] {
        let found = unpacked(&archive(&[manifest(), member])).err().unwrap();
        let expected = "`a` in it cannot be unpacked: it is encrypted or damaged";
        assert_eq!(found.to_string(), expected, "{why}");
    }
}

#[test]
fn an_archive_that_would_fill_the_disk_is_not_unpacked() {
    let zeros = vec![0; 4 * 1024 * 1024];
    let bomb = archive(&[manifest(), deflated("zeros", &zeros)]);
    assert!(bomb.len() * 100 < zeros.len());
    let found = unpacked(&bomb).err().unwrap();
    assert!(matches!(found, BundleError::TooLargeToUnpack), "{found}");
    // As many bytes in an archive that is not small are a file like any other.
    let noise: Vec<u8> = (0..60_000_u32)
        .flat_map(|it| it.wrapping_mul(2_654_435_769).to_le_bytes())
        .collect();
    let noise = Member::file("noise", noise);
    unpacked(&archive(&[manifest(), deflated("zeros", &zeros), noise])).unwrap();
    let mut large = Member::file("large", b"");
    large.size = u32::MAX;
    let found = unpacked(&archive(&[manifest(), large])).err().unwrap();
    assert!(matches!(found, BundleError::TooLargeToUnpack), "{found}");
    // Many members that share the bytes of one.
    let mut shared = archive(&[manifest(), Member::file("a", vec![0; 5000])]);
    let list = shared
        .windows(4)
        .rposition(|it| it == b"PK\x01\x02")
        .unwrap();
    let end = shared
        .windows(4)
        .rposition(|it| it == b"PK\x05\x06")
        .unwrap();
    let record = shared[list..end].to_vec();
    let (mut records, last) = (Vec::new(), shared.split_off(end));
    for name in *b"bcdef" {
        let mut record = record.clone();
        *record.last_mut().unwrap() = name;
        records.extend(record);
    }
    let added = u32::try_from(records.len()).unwrap();
    let mut last = last;
    let size = u32::from_le_bytes(last[12..16].try_into().unwrap()) + added;
    last[12..16].copy_from_slice(&size.to_le_bytes());
    last[8..12].copy_from_slice(&[7, 0, 7, 0]);
    let shared = [shared, records, last].concat();
    let found = unpacked(&shared).err().unwrap();
    assert!(matches!(found, BundleError::TooLargeToUnpack), "{found}");
}

#[test]
fn more_files_than_an_approval_covers_are_not_unpacked() {
    let mut list = MemberList::default();
    for at in 0..MAX_UNPACKED_FILES / 2 {
        // A folder and a file each.
        assert_eq!(list.list(&format!("{at}/x"), false), Ok(()));
    }
    assert_eq!(list.list("0/x/y", false), Err(Some(MemberFault::Twice)));
    assert_eq!(list.list("one/more", false), Err(None));
}

/// Wherever an archive ends too early, it is refused, and no file is longer than it should be.
#[test]
fn an_archive_that_is_cut_off_anywhere_is_refused() {
    let bytes = archive(&[
        manifest(),
        Member::file("server/", b"").mode(0o040_755),
        deflated("server/index.js", b"console.log(1); console.log(1);"),
    ]);
    unpacked(&bytes).unwrap();
    for end in 0..bytes.len() {
        assert!(unpacked(&bytes[..end]).is_err(), "{end} of {}", bytes.len());
    }
}

#[test]
fn a_bundle_without_a_manifest_at_its_root_is_not_unpacked() {
    let inner = archive(&[Member::file("x/manifest.json", b"{}")]);
    let folder = archive(&[Member::file("manifest.json/", b"").mode(0o040_755)]);
    for bytes in [inner, folder] {
        let found = unpacked(&bytes).err().unwrap();
        assert!(matches!(found, BundleError::NoManifest), "{found}");
    }
}
