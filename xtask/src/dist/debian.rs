//! The Debian package, made by `dpkg-deb` from the same files as the archive.

use std::path::{Path, PathBuf};

use crate::child;
use crate::dist::project::{AUTHORS, PROGRAM, Project};
use crate::dist::targets::Target;
use crate::dist::{project, tree};
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Packs the program for `target`; `None` if Debian has no such architecture.
pub(super) fn pack(
    workspace: &Workspace,
    project: &Project,
    target: &Target,
    binary: &Path,
    notices: &str,
) -> Result<Option<PathBuf>, XtaskError> {
    let Some(architecture) = target.debian else {
        return Ok(None);
    };
    let stage = workspace.target.join("dist-stage");
    tree::empty(&stage)?;
    let usr = stage.join("usr");
    tree::lay_out(workspace, binary, notices, &usr)?;
    let mut gzip = child::program(workspace, "gzip");
    gzip.args(["--best", "--no-name"]);
    child::run(gzip.args(tree::files(&usr.join("share/man/man1"))?))?;
    let copyright = format!("{COPYRIGHT}\n{notices}");
    tree::write(
        &usr.join("share/doc").join(PROGRAM).join("copyright"),
        &copyright,
    )?;
    let control = control(project, target, architecture);
    tree::write(&stage.join("DEBIAN/control"), &control)?;

    let name = format!("{PROGRAM}_{}-1_{architecture}.deb", project.version);
    let path = project::folder(workspace).join(name);
    let mut dpkg = child::program(workspace, "dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"])
        .args([&stage, &path])
        .env("SOURCE_DATE_EPOCH", &project.epoch)
        .stdout(std::process::Stdio::null());
    child::run(&mut dpkg)?;
    Ok(Some(path))
}

fn control(project: &Project, target: &Target, architecture: &str) -> String {
    let mut control = format!(
        "Package: {PROGRAM}\nVersion: {}-1\nArchitecture: {architecture}\nMaintainer: {AUTHORS}\n\
         Section: net\nPriority: optional\n",
        project.version
    );
    if let Some([major, minor]) = target.glibc {
        control += &format!("Depends: libc6 (>= {major}.{minor})\n");
    }
    // The roots that the system trusts; a machine may have its own instead.
    control.push_str("Recommends: ca-certificates\n");
    if let Some(address) = &project.address {
        control += &format!("Homepage: {address}\n");
    }
    control += &format!("Description: {}\n", project.description);
    control.push_str(LONG_DESCRIPTION);
    control
}

const LONG_DESCRIPTION: &str = " \
Keyway is the host's side of MCP authentication. It reads a plugin's .mcp.json,
 asks for approval, supplies the credential (OAuth, headers, variables, helpers)
 and hands any MCP client a connection.
";
const COPYRIGHT: &str = "\
Keyway is under the MIT licence or the Apache licence 2.0, as you like: see LICENSE-MIT and
LICENSE-APACHE beside this file. What it contains:
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::targets;

    #[test]
    fn control_file_depends_on_the_glibc_of_the_target_and_claims_no_address() {
        let mut project = Project {
            version: "1.2.3".to_owned(),
            description: "Signs in".to_owned(),
            licence: "MIT".to_owned(),
            address: None,
            epoch: "0".to_owned(),
        };
        let target = targets::find(targets::HOST).unwrap();
        let text = control(&project, target, "amd64");
        assert!(text.contains("\nVersion: 1.2.3-1\n"), "{text}");
        assert!(text.contains("\nDepends: libc6 (>= 2.17)\n"), "{text}");
        assert!(!text.contains("Homepage"), "{text}");
        project.address = Some("https://keyway.example/".to_owned());
        let text = control(&project, target, "amd64");
        assert!(
            text.contains("\nHomepage: https://keyway.example/\n"),
            "{text}"
        );
    }
}
