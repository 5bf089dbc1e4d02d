//! What the ignore files of a repository say.

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{MAX_IGNORE_BYTES, Repository};
use crate::read;

impl Repository {
    /// Says whether the ignore files list `path`, a file below the top that need not exist.
    ///
    /// A person's own ignore file outside of the repository does not count: others clone without it.
    #[must_use]
    pub fn ignores(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.top) else {
            return false;
        };
        let mut layers = vec![self.excludes()];
        let mut at = self.top.clone();
        for component in below {
            layers.extend(ignore_file(&at, &at.join(".gitignore")));
            at.push(component);
            // Everything below an ignored folder is ignored, whatever their own files say.
            if verdict(&layers, &at, at != path) {
                return true;
            }
        }
        false
    }

    fn excludes(&self) -> Gitignore {
        let exclude = self.common_dir().join("info/exclude");
        ignore_file(&self.top, &exclude).unwrap_or_else(Gitignore::empty)
    }
}

/// Says whether the ignore file of a folder lists a file of it; for folders outside of version
/// control, where a repository may be made later.
#[must_use]
pub fn is_listed(folder: &Path, name: &str) -> bool {
    let layer = ignore_file(folder, &folder.join(".gitignore"));
    layer.is_some_and(|layer| verdict(&[layer], &folder.join(name), false))
}

fn ignore_file(folder: &Path, file: &Path) -> Option<Gitignore> {
    let text = String::from_utf8(read::optional(file, MAX_IGNORE_BYTES)?).ok()?;
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // A pattern that cannot be read matches nothing, as with git.
        let _unreadable = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// Asks the layers, the innermost first.
fn verdict(layers: &[Gitignore], path: &Path, is_folder: bool) -> bool {
    let decided = layers
        .iter()
        .rev()
        .map(|layer| layer.matched(path, is_folder))
        .find(|found| !found.is_none());
    matches!(decided, Some(Match::Ignore(_)))
}
