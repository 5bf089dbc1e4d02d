//! Where a link leads, step by step: a path that the system resolves differently for each process
//! has to be noticed on the way.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To this path without links; there need be nothing.
    Path(PathBuf),
    /// To what is another thing for each process, or through more links than the system follows.
    OfProcess,
}

/// Resolves a path. The folder that it lies in is taken to be free of links.
pub(crate) fn target(path: &Path) -> Target {
    let mut at = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    // The last one is next.
    let mut rest: Vec<PathBuf> = path.file_name().map(PathBuf::from).into_iter().collect();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        match part.components().next() {
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                at.pop();
            }
            Some(Component::Normal(name)) => at.push(name),
            _ => {}
        }
        if OF_PROCESS.iter().any(|folder| at.starts_with(folder)) {
            return Target::OfProcess;
        }
        if let Ok(written) = fs::read_link(&at) {
            links += 1;
            if links > MAX_LINKS {
                return Target::OfProcess;
            }
            at.pop();
            let parts = written.components().rev();
            rest.extend(parts.map(|part| PathBuf::from(part.as_os_str())));
        }
    }
    Target::Path(at)
}

/// Says whether a path is another thing for each process.
pub(crate) fn is_of_process(path: &Path) -> bool {
    let mut at = PathBuf::from("/");
    for part in path.components() {
        at.push(part);
        match target(&at) {
            Target::Path(path) => at = path,
            Target::OfProcess => return true,
        }
    }
    false
}

/// `/dev/fd` and the standard streams are links to the first.
const OF_PROCESS: &[&str] = &["/proc", "/dev/fd"];
/// As many as Linux follows.
const MAX_LINKS: usize = 40;

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "links of a fresh temporary folder"
)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_differs_by_process_is_told_from_what_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        let inside = |name: &str| Target::Path(root.join(name));
        for (at, (written, expected)) in [
            ("file", inside("file")),
            ("./x/../file", inside("file")),
            ("0", inside("file")),
            ("missing", inside("missing")),
            ("/etc/passwd", Target::Path("/etc/passwd".into())),
            ("/proc/self/cwd/file", Target::OfProcess),
            ("/etc/../proc/1/root/file", Target::OfProcess),
            ("/dev/fd/3", Target::OfProcess),
            ("/dev/stdin", Target::OfProcess),
            ("5", Target::OfProcess),
            ("10", Target::OfProcess),
        ]
        .into_iter()
        .enumerate()
        {
            let link = root.join(at.to_string());
            symlink(written, &link).unwrap();
            assert_eq!(target(&link), expected, "{written}");
        }
        assert!(is_of_process(&root.join("5")));
        assert!(is_of_process(Path::new("/proc/self/cwd/x.js")));
        assert!(!is_of_process(&root.join("0")));
    }
}
