//! A root of its own for a package: a folder that a process is locked into.

use std::fs;
use std::path::{Path, PathBuf};

use crate::child;
use crate::dist::{project, tree};
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// A folder with a system in it, or with nothing; gone with this value.
pub(super) struct Root {
    path: PathBuf,
    /// Whether it has libraries of its own.
    is_system: bool,
}

impl Root {
    /// Makes a root that has a shell, for the scripts of the demo, and knows `localhost`.
    pub(super) fn bare(workspace: &Workspace) -> Result<Self, XtaskError> {
        let path = workspace.target.join("dist-root");
        tree::empty(&path)?;
        for folder in ["dev", "proc", "root", "tmp"] {
            let folder = path.join(folder);
            fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
        }
        tree::write(&path.join("etc/hosts"), "127.0.0.1 localhost\n")?;
        let root = Self {
            path,
            is_system: false,
        };
        let shell = Path::new("/bin/sh");
        tree::copy(shell, &root.path.join("bin/sh"), tree::EXECUTABLE)?;
        root.add_libraries(workspace, shell)?;
        Ok(root)
    }

    /// Makes a root with a Debian of that release and `packages`, downloaded at the first time.
    pub(super) fn debian(
        workspace: &Workspace,
        suite: &str,
        packages: &[&str],
    ) -> Result<Self, XtaskError> {
        let folder = workspace.tools().join("roots");
        fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
        let name: String = packages
            .iter()
            .map(|package| format!("-{package}"))
            .collect();
        let archive = folder.join(format!("{suite}{name}.tar"));
        if !archive.is_file() {
            let mut make = child::program(workspace, "mmdebstrap");
            make.args(["--quiet", "--variant=essential"]);
            if !packages.is_empty() {
                make.arg(format!("--include={}", packages.join(",")));
            }
            child::run(make.arg(suite).arg(&archive))?;
        }
        let path = workspace.target.join("dist-root");
        tree::empty(&path)?;
        let mut tar = child::program(workspace, "tar");
        // Devices cannot be made by everyone, and are mounted.
        tar.args(["--extract", "--exclude=./dev/*", "--file"])
            .arg(&archive)
            .arg("--directory")
            .arg(&path);
        child::run(&mut tar)?;
        // `mmdebstrap` writes none, and the demo signs in at `localhost`.
        tree::write(&path.join("etc/hosts"), "127.0.0.1 localhost\n")?;
        Ok(Self {
            path,
            is_system: true,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies a package to `/packages`.
    pub(super) fn bring(&self, package: &Path) -> Result<(), XtaskError> {
        let to = self.path.join("packages").join(project::name_of(package));
        tree::copy(package, &to, tree::PLAIN)
    }

    /// Copies what `program` is linked to, if this root has no libraries of its own.
    pub(super) fn add_libraries(
        &self,
        workspace: &Workspace,
        program: &Path,
    ) -> Result<(), XtaskError> {
        if self.is_system {
            return Ok(());
        }
        let listed = child::capture(child::program(workspace, "ldd").arg(program))?;
        for library in libraries(&listed) {
            let to = self.path.join(library.trim_start_matches('/'));
            tree::copy(Path::new(library), &to, tree::EXECUTABLE)?;
        }
        Ok(())
    }

    /// Runs a program of this root in it, with an environment of its own.
    pub(super) fn run(&self, workspace: &Workspace, command: &[&str]) -> Result<(), XtaskError> {
        let is_root = child::probe(child::program(workspace, "id").arg("-u"))
            .is_some_and(|id| id.trim() == "0");
        let mut unshare = child::program(workspace, "unshare");
        unshare.args(["--mount", "--pid", "--fork", "--kill-child"]);
        if !is_root {
            unshare.arg("--map-root-user");
        }
        unshare
            .args(["sh", "-c", ENTER, "sh"])
            .arg(&self.path)
            .args(command)
            .env_clear()
            .env("HOME", "/root")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        child::run(&mut unshare)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // Below `target`; the next root begins with removing it.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// Returns the files that `ldd` names.
fn libraries(listed: &str) -> Vec<&str> {
    let words = listed.lines().filter_map(|line| {
        let file = line.split_once("=> ").map_or(line, |(_, file)| file);
        file.split_whitespace().next()
    });
    words.filter(|word| word.starts_with('/')).collect()
}

/// Mounts are the namespace's own, and go with it. It begins in the home: npm installs nothing in `/`.
const ENTER: &str = r#"mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && cd "$1" \
    && root=$1 && shift && exec chroot "$root" sh -c 'cd "$HOME" && exec "$@"' sh "$@""#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_read_from_ldd() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(
            libraries(listed),
            ["/lib/x/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]
        );
        assert_eq!(libraries("\tstatically linked\n"), Vec::<&str>::new());
    }
}
