//! The targets that a release has, and which of them can be built here.

use std::path::{Path, PathBuf};

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// One target and what its packages are called.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) triple: &'static str,
    /// The oldest glibc that the binary may need; `None` where there is none.
    pub(super) glibc: Option<[u32; 2]>,
    pub(super) builder: Builder,
    pub(super) npm: Npm,
    /// The platform tag of its wheel.
    pub(super) wheel: &'static str,
    /// Debian's name of the architecture; `None` if there is no Debian package of it.
    pub(super) debian: Option<&'static str>,
}

/// What npm compares with the machine before it installs a platform package.
#[derive(Debug)]
pub(super) struct Npm {
    /// What follows `keyway-mcp-`.
    pub(super) suffix: &'static str,
    pub(super) os: &'static str,
    pub(super) cpu: &'static str,
    pub(super) libc: Option<&'static str>,
}

/// How a target is built.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Builder {
    /// `cargo zigbuild`: zig links against the glibc that it is told, on any machine.
    Zig,
    /// `cargo build` on a machine of that system: Apple's libraries may not be passed on.
    Native,
}

impl Target {
    /// Returns why this target cannot be built here; `None` if it can.
    pub(super) fn obstacle(&self, sysroot: &Path) -> Option<&'static str> {
        let std = sysroot.join("lib/rustlib").join(self.triple).join("lib");
        if !std.is_dir() {
            return Some("not built: no std");
        }
        (self.builder == Builder::Native && !cfg!(target_os = "macos"))
            .then_some("not built: needs macOS")
    }

    /// Says whether its binaries are in the format that [`super::elf`] reads.
    pub(super) fn is_linux(&self) -> bool {
        self.npm.os == "linux"
    }
}

/// Returns the target called `triple`.
pub(super) fn find(triple: &str) -> Result<&'static Target, XtaskError> {
    TARGETS
        .iter()
        .find(|target| target.triple == triple)
        .ok_or_else(|| XtaskError::TargetUnknown {
            triple: triple.to_owned(),
        })
}

/// Returns where the compiler and its standard libraries are.
pub(super) fn sysroot(workspace: &Workspace) -> Result<PathBuf, XtaskError> {
    let mut rustc = child::program(workspace, "rustc");
    let printed = child::capture(rustc.args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(printed.trim()))
}

/// The target of the machines that the tests run on.
pub(super) const HOST: &str = "x86_64-unknown-linux-gnu";

pub(super) const TARGETS: &[Target] = &[
    Target {
        triple: HOST,
        glibc: Some(OLDEST_GLIBC),
        builder: Builder::Zig,
        npm: Npm {
            suffix: "linux-x64",
            os: "linux",
            cpu: "x64",
            libc: Some("glibc"),
        },
        wheel: "manylinux_2_17_x86_64.manylinux2014_x86_64",
        debian: Some("amd64"),
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        glibc: Some(OLDEST_GLIBC),
        builder: Builder::Zig,
        npm: Npm {
            suffix: "linux-arm64",
            os: "linux",
            cpu: "arm64",
            libc: Some("glibc"),
        },
        wheel: "manylinux_2_17_aarch64.manylinux2014_aarch64",
        debian: Some("arm64"),
    },
    Target {
        triple: "x86_64-unknown-linux-musl",
        glibc: None,
        builder: Builder::Zig,
        npm: Npm {
            suffix: "linux-x64-musl",
            os: "linux",
            cpu: "x64",
            libc: Some("musl"),
        },
        wheel: "musllinux_1_1_x86_64",
        debian: None,
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        glibc: None,
        builder: Builder::Zig,
        npm: Npm {
            suffix: "linux-arm64-musl",
            os: "linux",
            cpu: "arm64",
            libc: Some("musl"),
        },
        wheel: "musllinux_1_1_aarch64",
        debian: None,
    },
    Target {
        triple: "aarch64-apple-darwin",
        glibc: None,
        builder: Builder::Native,
        npm: Npm {
            suffix: "darwin-arm64",
            os: "darwin",
            cpu: "arm64",
            libc: None,
        },
        wheel: "macosx_11_0_arm64",
        debian: None,
    },
    Target {
        triple: "x86_64-apple-darwin",
        glibc: None,
        builder: Builder::Native,
        npm: Npm {
            suffix: "darwin-x64",
            os: "darwin",
            cpu: "x64",
            libc: None,
        },
        wheel: "macosx_10_12_x86_64",
        debian: None,
    },
];

/// That of RHEL 7, Amazon Linux 2 and the wheels called manylinux2014.
const OLDEST_GLIBC: [u32; 2] = [2, 17];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_a_standard_library_is_named_as_such() {
        let sysroot = tempfile::tempdir().unwrap();
        let target = find(HOST).unwrap();
        assert_eq!(target.obstacle(sysroot.path()), Some("not built: no std"));
        let std = sysroot.path().join("lib/rustlib").join(HOST).join("lib");
        std::fs::create_dir_all(std).unwrap();
        assert_eq!(target.obstacle(sysroot.path()), None);
    }

    #[test]
    fn no_two_targets_share_a_package() {
        for (index, target) in TARGETS.iter().enumerate() {
            for other in TARGETS.iter().skip(index + 1) {
                assert_ne!(target.npm.suffix, other.npm.suffix);
                assert_ne!(target.wheel, other.wheel);
                assert!(target.debian.is_none() || target.debian != other.debian);
            }
        }
    }
}
