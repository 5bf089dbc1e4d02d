//! What stands for a plugin wherever something is kept for it alone: its data, the folders of its
//! programs, the values that it asked for.
//!
//! It is a cryptographic hash of the name and the source. Earlier versions used one of 64 bits for
//! which a plugin can choose its name so that it stands for another plugin as well. What they kept
//! stays where it is, and belongs to the plugin that is seen first with it: that is written down, and
//! no other plugin gets it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest as _};
use keyway_config::names::stable_id;

/// A plugin by its name and its source, the same after an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    id: String,
    earlier_id: String,
}

impl Owner {
    /// Names a plugin; `root` is its folder.
    #[must_use]
    pub fn new(plugin: &str, root: &Path) -> Self {
        let source = source(root);
        // 128 bits: to stand for a given plugin, another would have to find all of them.
        let mut hash = Blake2b::<U16>::new();
        for part in [plugin.as_bytes(), source.as_os_str().as_bytes()] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        Self {
            id: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            earlier_id: stable_id(&[plugin, &source.to_string_lossy()]),
        }
    }

    /// Returns what stands for the plugin.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns what stood for the plugin in earlier versions, and can stand for another.
    #[must_use]
    pub fn earlier_id(&self) -> &str {
        &self.earlier_id
    }

    /// Returns the plugin's folder in `parent`, below Keyway's own `data` folder: that of an earlier
    /// version if there is one and it is the plugin's. It keeps its name, since what is installed in
    /// it may hold its path.
    #[must_use]
    pub fn folder(&self, data: &Path, parent: &Path) -> PathBuf {
        let earlier = parent.join(&self.earlier_id);
        if earlier.is_dir() && self.owns_earlier(data) {
            return earlier;
        }
        parent.join(&self.id)
    }

    /// Says whether what an earlier version kept under [`Self::earlier_id`] is this plugin's: no other
    /// was seen with it before. What is seen first is written down in `data`, which no program of a
    /// plugin can write.
    #[must_use]
    pub fn owns_earlier(&self, data: &Path) -> bool {
        let folder = data.join(OWNERS);
        let file = folder.join(&self.earlier_id);
        match fs::read(&file) {
            Ok(owner) => owner == self.id.as_bytes(),
            // Where one is that cannot be read, none is taken.
            Err(_) => {
                self.take(&folder, &file).is_ok()
                    && fs::read(&file).is_ok_and(|owner| owner == self.id.as_bytes())
            }
        }
    }

    /// Writes this plugin down, unless another process has just written one.
    fn take(&self, folder: &Path, file: &Path) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // Whole or not at all, and never in place of another: a link fails if the name is taken.
        let unfinished = folder.join(format!("{}.{}", self.id, std::process::id()));
        let mut written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unfinished)?;
        written.write_all(self.id.as_bytes())?;
        let linked = fs::hard_link(&unfinished, file);
        drop(fs::remove_file(&unfinished));
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns where a plugin comes from, the same for all its versions.
///
/// Only a client's own cache has a version in its paths, at one place:
/// `plugins/cache/MARKETPLACE/PLUGIN/VERSION`, as Claude Code and Codex lay it out. Whatever looks
/// like a version elsewhere is a folder like any other, since what lies beside it can be of another
/// author. Of two such layouts in one path the outer is the client's, and the inner a plugin's content.
fn source(root: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = root.components().collect();
    let is_cache = |at: &[Component<'_>]| at.iter().map(|it| it.as_os_str()).eq(CACHE);
    let version = parts
        .windows(CACHE.len())
        .position(is_cache)
        .map(|cache| cache + CACHE.len() + MARKETPLACE_AND_PLUGIN);
    let kept = parts.iter().enumerate();
    kept.filter(|(at, _)| Some(*at) != version)
        .map(|(_, part)| part)
        .collect()
}

/// How paths of plugins that a client has installed begin, below the client's own folder.
const CACHE: [&str; 2] = ["plugins", "cache"];
/// How many folders are between that and the version.
const MARKETPLACE_AND_PLUGIN: usize = 2;
/// Below Keyway's data folder: a file for each earlier id, with the id of the plugin that it is of.
const OWNERS: &str = "owners";

#[cfg(test)]
mod tests {
    use super::*;

    /// Two plugins, one of which has a name that was chosen so that both are the same in 64 bits.
    fn collision() -> (Owner, Owner) {
        let victim = Owner::new("acme", Path::new("/plugins/acme"));
        let mut hostile = Owner::new("evil", Path::new("/plugins/evil"));
        hostile.earlier_id.clone_from(&victim.earlier_id);
        (victim, hostile)
    }

    #[test]
    fn what_an_earlier_version_kept_is_used_by_one_plugin_alone() {
        let data = tempfile::TempDir::new().unwrap();
        let (victim, hostile) = collision();
        for parent in ["plugins", "programs"] {
            let parent = data.path().join(parent);
            let earlier = parent.join(&victim.earlier_id);
            fs::create_dir_all(&earlier).unwrap();
            for _ in 0..2 {
                assert_eq!(victim.folder(data.path(), &parent), earlier);
                let other = hostile.folder(data.path(), &parent);
                assert_eq!(other, parent.join(hostile.id()));
            }
        }
        assert!(!hostile.owns_earlier(data.path()));
        let noted = fs::read_dir(data.path().join(OWNERS)).unwrap();
        assert_eq!(noted.count(), 1, "nothing unfinished is left");
    }

    /// Another process may write an owner between two looks.
    #[test]
    fn a_plugin_that_comes_second_takes_nothing() {
        let data = tempfile::TempDir::new().unwrap();
        let (victim, hostile) = collision();
        let (folder, file) = (data.path().join(OWNERS), data.path().join("owners/x"));
        victim.take(&folder, &file).unwrap();
        hostile.take(&folder, &file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), victim.id.as_bytes());
        let nowhere = data.path().join("none/x");
        assert!(victim.take(&folder, &nowhere).is_err());
        // Where no owner can be written or read, it is no plugin's.
        let file = folder.join(&victim.earlier_id);
        std::os::unix::fs::symlink(&nowhere, &file).unwrap();
        assert!(!victim.owns_earlier(data.path()));
    }

    #[test]
    fn a_plugin_without_an_earlier_folder_gets_one_by_its_own_hash() {
        let data = tempfile::TempDir::new().unwrap();
        let (victim, hostile) = collision();
        let parent = data.path().join("plugins");
        let (one, other) = (&victim, &hostile);
        assert_ne!(one.id(), other.id());
        assert_eq!(one.id().len(), 32);
        assert_eq!(one.folder(data.path(), &parent), parent.join(one.id()));
        assert!(!data.path().join(OWNERS).exists(), "nothing is written");
    }

    /// Names in which the border between name and source, or bytes that are not text, would be lost.
    #[test]
    fn names_and_sources_are_told_apart_byte_by_byte() {
        use std::ffi::OsStr;
        let id = |name: &str, root: &[u8]| {
            let owner = Owner::new(name, Path::new(OsStr::from_bytes(root)));
            owner.id
        };
        assert_ne!(id("a", b"/b"), id("a\0/b", b""));
        assert_ne!(id("a", b"/\xfe"), id("a", b"/\xff"));
    }

    fn id(root: &str) -> String {
        Owner::new("acme", Path::new(root)).id
    }

    #[test]
    fn an_update_in_the_cache_of_a_client_is_the_same_plugin() {
        for home in ["/home/me/.claude", "/home/me/.codex", "/srv/2.0/config"] {
            let at = |rest: &str| Owner::new("acme", Path::new(&format!("{home}/{rest}")));
            let first = at("plugins/cache/market/acme/1.2.0");
            for version in ["v2.0", "1.3.0-beta.1", "0f3c9a1b2d4e", "unknown"] {
                let next = at(&format!("plugins/cache/market/acme/{version}"));
                assert_eq!(first, next, "{home} {version}");
            }
            let below = at("plugins/cache/market/acme/1.2.0/tools");
            assert_eq!(below, at("plugins/cache/market/acme/1.3.0/tools"));
            assert_ne!(below.id, first.id);
            for other in [
                "plugins/cache/other/acme/1.2.0",
                "plugins/cache/market/other/1.2.0",
            ] {
                assert_ne!(first.id, at(other).id, "{other}");
            }
        }
    }

    /// A plugin chooses its own name, and its author may choose the folders around it.
    #[test]
    fn a_folder_that_looks_like_a_version_is_another_source() {
        let roots = [
            "/plugs/acme",
            "/plugs/1.0/acme",
            "/plugs/v2.0.1/acme",
            "/plugs/acme/1.0",
            "/1.0/plugs/acme",
            "/plugs/cache/market/acme",
            "/plugs/cache/market/acme/1.0",
            "/x/plugins/cache/1.0/acme",
            "/x/plugins/cache/2.0/acme",
            "/x/plugins/cache/market/1.0",
            "/x/plugins/cache/market/2.0",
            "/x/plugins/1.0/cache/market/acme/1.0",
            // Content of a plugin that is laid out like a cache.
            "/x/plugins/cache/m/p/1.0/plugins/cache/market/acme/1.0",
            "/x/plugins/cache/m/p/1.0/plugins/cache/market/acme/2.0",
        ];
        for (at, one) in roots.iter().enumerate() {
            for other in roots.iter().skip(at + 1) {
                assert_ne!(id(one), id(other), "{one} and {other}");
                let earlier = |root: &str| Owner::new("acme", Path::new(root)).earlier_id;
                assert_ne!(earlier(one), earlier(other), "{one} and {other}");
            }
        }
    }
}
