//! `cargo xtask dist --test`: each package installed where nothing is, and `keyway demo --check` run.
//!
//! A package manager's own trial has a folder of its own as home and cache, may not use the network,
//! and uses the machine's Node.js or Python. With `--roots` everything happens inside systems of their
//! own, made by `mmdebstrap`.

mod root;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use self::root::Root;
use crate::child;
use crate::dist::project::{self, PACKAGE, PROGRAM, Project};
use crate::dist::targets::Target;
use crate::dist::tree;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Tries the packages for `target` that are in the folder of packages; prints a line for each.
pub(super) fn run(
    workspace: &Workspace,
    project: &Project,
    target: &Target,
    extent: Extent,
) -> Result<(), XtaskError> {
    let trials = Trials {
        workspace,
        folder: project::folder(workspace),
        version: &project.version,
        target,
    };
    trials.time("archive", "a folder with libc and sh", || {
        trials.archive_alone()
    })?;
    trials.time("wheel, uvx", "an empty home", || trials.uvx())?;
    trials.time("wheel, pip", "an empty environment", || trials.pip())?;
    trials.time("npm, npx", "an empty home", || trials.npx())?;
    if extent == Extent::Roots {
        for suite in ["bookworm", "bullseye"] {
            let root = Root::debian(workspace, suite, &[])?;
            trials.time("Debian package", suite, || trials.dpkg(&root))?;
            let root = Root::debian(workspace, suite, &[])?;
            trials.time("archive", suite, || trials.archive_in(&root))?;
        }
        let root = Root::debian(workspace, "bookworm", &["npm", "python3-venv"])?;
        trials.time("wheel, pip", "bookworm", || trials.pip_in(&root))?;
        trials.time("npm, npx", "bookworm", || trials.npx_in(&root))?;
    }
    Ok(())
}

/// Tries one wheel by `uvx`.
pub(super) fn uvx(workspace: &Workspace, wheel: &Path) -> Result<(), XtaskError> {
    let home = workspace.target.join("dist-home");
    tree::empty(&home)?;
    let mut uvx = clean(workspace, &home, workspace.tools().join("python/bin/uvx"));
    uvx.args(["--offline", "--no-config", "--from"]).arg(wheel);
    child::run(uvx.arg(PACKAGE).args(DEMO))?;
    fs::remove_dir_all(&home).map_err(XtaskError::file(&home))
}

/// Where packages are tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Extent {
    /// In folders.
    Folders,
    /// In Debian systems as well: minutes, and it downloads them once.
    Roots,
}

impl Extent {
    /// Returns what the flag, given or not, asks for.
    pub(crate) const fn from_flag(given: bool) -> Self {
        if given { Self::Roots } else { Self::Folders }
    }
}

struct Trials<'a> {
    workspace: &'a Workspace,
    folder: PathBuf,
    version: &'a str,
    target: &'a Target,
}

impl Trials<'_> {
    fn time(
        &self,
        package: &str,
        root: &str,
        trial: impl FnOnce() -> Result<(), XtaskError>,
    ) -> Result<(), XtaskError> {
        let begin = Instant::now();
        trial()?;
        let seconds = begin.elapsed().as_secs_f32();
        println!("tried {package} in {root}: `demo --check` passed after {seconds:.1} s");
        Ok(())
    }

    fn archive(&self) -> PathBuf {
        let name = format!("{PROGRAM}-{}-{}.tar.xz", self.version, self.target.triple);
        self.folder.join(name)
    }

    fn wheel(&self) -> PathBuf {
        let package = PACKAGE.replace('-', "_");
        let tag = self.target.wheel;
        self.folder
            .join(format!("{package}-{}-py3-none-{tag}.whl", self.version))
    }

    /// Returns the package that people name, and that of the platform.
    fn npm(&self) -> [PathBuf; 2] {
        let suffix = self.target.npm.suffix;
        [
            self.folder.join(format!("{PACKAGE}-{}.tgz", self.version)),
            self.folder
                .join(format!("{PACKAGE}-{suffix}-{}.tgz", self.version)),
        ]
    }

    fn archive_alone(&self) -> Result<(), XtaskError> {
        let root = Root::bare(self.workspace)?;
        self.archive_in(&root)
    }

    fn archive_in(&self, root: &Root) -> Result<(), XtaskError> {
        let prefix = root.path().join("usr/local");
        fs::create_dir_all(&prefix).map_err(XtaskError::file(&prefix))?;
        let mut tar = child::program(self.workspace, "tar");
        tar.args([
            "--extract",
            "--strip-components=1",
            "--no-same-owner",
            "--file",
        ])
        .arg(self.archive())
        .arg("--directory")
        .arg(&prefix);
        child::run(&mut tar)?;
        let program = prefix.join("bin").join(PROGRAM);
        root.add_libraries(self.workspace, &program)?;
        root.run(
            self.workspace,
            &["/usr/local/bin/keyway", "demo", "--check"],
        )
    }

    fn dpkg(&self, root: &Root) -> Result<(), XtaskError> {
        let architecture = self.target.debian.unwrap_or_default();
        let name = format!("{PROGRAM}_{}-1_{architecture}.deb", self.version);
        root.bring(&self.folder.join(&name))?;
        let package = format!("/packages/{name}");
        root.run(self.workspace, &["dpkg", "--install", &package])?;
        root.run(self.workspace, &["keyway", "demo", "--check"])?;
        root.run(self.workspace, &["dpkg", "--purge", PROGRAM])
    }

    fn uvx(&self) -> Result<(), XtaskError> {
        uvx(self.workspace, &self.wheel())
    }

    fn pip(&self) -> Result<(), XtaskError> {
        let home = self.home()?;
        let environment = home.join("environment");
        let mut venv = clean(self.workspace, &home, "python3");
        child::run(venv.args(["-m", "venv"]).arg(&environment))?;
        let mut pip = clean(self.workspace, &home, environment.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
        child::run(pip.arg("--disable-pip-version-check").arg(self.wheel()))?;
        let program = environment.join("bin").join(PROGRAM);
        child::run(clean(self.workspace, &home, program).args(DEMO))
    }

    fn npx(&self) -> Result<(), XtaskError> {
        let home = self.home()?;
        let mut install = clean(self.workspace, &home, "npm");
        child::run(install.args(NPM_INSTALL).args(self.npm()))?;
        let mut npx = clean(self.workspace, &home, "npx");
        child::run(npx.args(["--offline", "--no", PACKAGE]).args(DEMO))
    }

    fn pip_in(&self, root: &Root) -> Result<(), XtaskError> {
        root.bring(&self.wheel())?;
        let wheel = format!("/packages/{}", project::name_of(&self.wheel()));
        root.run(self.workspace, &["python3", "-m", "venv", "/environment"])?;
        let pip = [
            "/environment/bin/pip",
            "install",
            "--quiet",
            "--no-index",
            &wheel,
        ];
        root.run(self.workspace, &pip)?;
        root.run(
            self.workspace,
            &["/environment/bin/keyway-mcp", "demo", "--check"],
        )
    }

    fn npx_in(&self, root: &Root) -> Result<(), XtaskError> {
        let mut install = vec!["npm".to_owned()];
        install.extend(NPM_INSTALL.map(str::to_owned));
        for package in self.npm() {
            root.bring(&package)?;
            install.push(format!("/packages/{}", project::name_of(&package)));
        }
        let install: Vec<_> = install.iter().map(String::as_str).collect();
        root.run(self.workspace, &install)?;
        root.run(
            self.workspace,
            &["npx", "--offline", "--no", PACKAGE, "demo", "--check"],
        )
    }

    fn home(&self) -> Result<PathBuf, XtaskError> {
        let home = self.workspace.target.join("dist-home");
        tree::empty(&home)?;
        Ok(home)
    }
}

/// Returns `program` with `home` for everything that it keeps, and nothing of this environment.
fn clean(workspace: &Workspace, home: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = child::program(workspace, program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .current_dir(home);
    command
}

const DEMO: [&str; 2] = ["demo", "--check"];
const NPM_INSTALL: [&str; 5] = [
    "install",
    "--offline",
    "--no-audit",
    "--no-fund",
    "--silent",
];
