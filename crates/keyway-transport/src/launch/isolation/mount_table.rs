//! The mounts of this process, as `/proc/self/mountinfo` lists them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::MountFlags;

/// One mount.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The file system, by the numbers of its device.
    pub(super) device: String,
    /// The folder of that file system which is seen.
    pub(super) root: PathBuf,
    /// Where it is seen.
    pub(super) point: PathBuf,
    /// What holds for this place alone.
    pub(super) flags: MountFlags,
}

/// Lists the mounts, parents first.
pub(super) fn read() -> io::Result<Vec<Mount>> {
    // The kernel does not say how long it is, so that small steps would be tried first.
    let mut text = Vec::with_capacity(USUAL_BYTES);
    File::open("/proc/self/mountinfo")?.read_to_end(&mut text)?;
    Ok(text
        .split(|byte| *byte == b'\n')
        .filter_map(parse)
        .collect())
}

/// Makes every mount read-only whose nearest path is one of `sealed` and not one of `open`.
pub(super) fn seal(sealed: &[PathBuf], open: &[PathBuf]) -> io::Result<()> {
    if sealed.is_empty() {
        return Ok(());
    }
    for mount in (read()?.iter()).filter(|mount| is_sealed(&mount.point, sealed, open)) {
        // What the person's own namespace sets may not be taken off, so it is repeated.
        let flags = mount.flags.union(READ_ONLY);
        match rustix::mount::mount_remount(&mount.point, flags, c"") {
            // It lies below a cover, where no process gets.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::INVAL) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

fn is_sealed(point: &Path, sealed: &[PathBuf], open: &[PathBuf]) -> bool {
    let open = nearest(open, point);
    nearest(sealed, point).is_some_and(|depth| open.is_none_or(|open| depth > open))
}

/// Returns how many names the longest of `paths` has that `inner` is or lies in.
pub(super) fn nearest(paths: &[PathBuf], inner: &Path) -> Option<usize> {
    let around = paths.iter().filter(|path| inner.starts_with(path));
    around.map(|path| path.components().count()).max()
}

/// Returns other places where the folder at `path` can be seen, because its file system is mounted
/// there as well.
pub(super) fn aliases(mounts: &[Mount], path: &Path) -> Vec<PathBuf> {
    let own = mounts.iter().rfind(|mount| path.starts_with(&mount.point));
    let Some(own) = own else {
        return Vec::new();
    };
    let inside = |base: &Path, rest: &Path| match rest.as_os_str().is_empty() {
        true => base.to_owned(),
        false => base.join(rest),
    };
    let rest = path.strip_prefix(&own.point).unwrap_or(Path::new(""));
    let in_file_system = inside(&own.root, rest);
    let others = mounts.iter().filter(|other| other.device == own.device);
    let seen = others.filter_map(|other| {
        let rest = in_file_system.strip_prefix(&other.root).ok()?;
        Some(inside(&other.point, rest))
    });
    seen.filter(|place| place != path).collect()
}

fn parse(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ').skip(2);
    let device = String::from_utf8(words.next()?.to_vec()).ok()?;
    let root = unescaped(words.next()?);
    let point = unescaped(words.next()?);
    let options = std::str::from_utf8(words.next()?).ok()?;
    let flags = options.split(',').map(|option| match option {
        "ro" => MountFlags::RDONLY,
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    });
    Some(Mount {
        device,
        root,
        point,
        flags: flags.fold(MountFlags::empty(), MountFlags::union),
    })
}

/// The kernel writes blanks and the like as `\040`.
fn unescaped(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

const READ_ONLY: MountFlags = MountFlags::BIND.union(MountFlags::RDONLY);
/// The list of a machine with some hundred mounts.
const USUAL_BYTES: usize = 32_768;

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(lines: &[&str]) -> Vec<Mount> {
        let parsed = lines.iter().map(|line| parse(line.as_bytes()).unwrap());
        parsed.collect()
    }

    #[test]
    fn a_line_of_the_kernel_is_read() {
        let line = r"36 35 98:0 /a\040b /mnt/c\134d ro,nosuid,relatime shared:1 - ext4 /dev/x rw";
        let mount = parse(line.as_bytes()).unwrap();
        assert_eq!(mount.root, Path::new("/a b"));
        assert_eq!(mount.point, Path::new("/mnt/c\\d"));
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::RELATIME;
        assert_eq!(mount.flags, flags);
        let line = b"36 35 98:0 / / rw,nodev,noexec,noatime,nodiratime - ext4 /dev/x rw";
        let flags = [
            MountFlags::NODEV,
            MountFlags::NOEXEC,
            MountFlags::NOATIME,
            MountFlags::NODIRATIME,
        ];
        assert_eq!(parse(line).unwrap().flags, flags.into_iter().collect());
        assert_eq!(parse(b""), None);
        assert!(!read().unwrap().is_empty());
    }

    #[test]
    fn the_nearest_of_what_is_sealed_and_what_is_open_decides_about_a_mount() {
        let paths = |paths: [&str; 2]| paths.map(PathBuf::from);
        let (sealed, open) = (paths(["/usr", "/work/lib"]), paths(["/work", "/usr/home"]));
        for (point, expected) in [
            ("/usr", true),
            ("/usr/share", true),
            ("/usr/home/ada", false),
            ("/work/lib/x", true),
            ("/work/x", false),
            ("/", false),
            ("/usr2", false),
        ] {
            assert_eq!(
                is_sealed(Path::new(point), &sealed, &open),
                expected,
                "{point}"
            );
        }
        assert!(!is_sealed(Path::new("/usr"), &sealed, &sealed), "open wins");
    }

    #[test]
    fn other_places_of_one_file_system_are_found() {
        let mounts = mounts(&[
            "1 0 8:1 / /sysroot rw - ext4 /dev/x rw",
            "2 0 8:1 /deploy/var /var rw - ext4 /dev/x rw",
            "3 0 8:2 / /other rw - ext4 /dev/y rw",
            "4 0 8:1 /deploy/var/home/u/sub /data rw - ext4 /dev/x rw",
        ]);
        let found = aliases(&mounts, Path::new("/var/home/u/sub/keyway"));
        let expected = ["/sysroot/deploy/var/home/u/sub/keyway", "/data/keyway"];
        assert_eq!(found, expected.map(PathBuf::from));
        assert!(aliases(&mounts, Path::new("/other/x")).is_empty());
    }
}
