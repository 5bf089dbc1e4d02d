//! Names on the way to a folder that may only be read, inside one that may be written.
//!
//! The folder itself is a mount point and cannot be renamed; the folders around it could be, and
//! another one put in their place. As for hidden folders, each name is made a mount point in a
//! second view of the folder that holds it, and the views lie below what is shown at the end:
//!
//! ```text
//! work/a/plugin
//!   └ lower cover           view of work, in which `a` is a mount point
//!       └ the plugin        what the child sees, to read
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags};

use super::mounts::make_view;

/// Fixes the names on the way to `target`; `open` are the places in the tree that
/// were granted to be written.
pub(super) fn put(target: &Path, open: &[PathBuf]) -> io::Result<()> {
    let steps = steps(target, open);
    if steps.is_empty() || !target.is_dir() {
        return Ok(());
    }
    // Not covered against execution: what holds for it is repeated for what lies above it.
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", target, "tmpfs", flags, c"size=64k,mode=0700")?;
    // What is put in the way of a rename; a mount of its own, because the cover cannot be copied.
    let nothing = target.join("nothing");
    fs::create_dir(&nothing)?;
    rustix::mount::mount_bind(&nothing, &nothing)?;
    // Until all are there: a view must not copy the others.
    rustix::mount::mount_change(target, MountPropagationFlags::UNBINDABLE)?;
    for (count, step) in steps.iter().enumerate() {
        let (Some(folder), Some(name)) = (step.parent(), step.file_name()) else {
            continue;
        };
        let view = target.join(count.to_string());
        make_view(folder, &view)?;
        rustix::mount::mount_bind(&nothing, view.join(name))?;
    }
    // A child may make namespaces of its own, and copies must then be possible again.
    Ok(rustix::mount::mount_change(
        target,
        MountPropagationFlags::PRIVATE,
    )?)
}

/// Returns the folders between `target` and the outermost place around it that may be written.
fn steps<'a>(target: &'a Path, open: &[PathBuf]) -> Vec<&'a Path> {
    let is_around = |place: &&PathBuf| target != *place && target.starts_with(place);
    let around = open.iter().filter(is_around);
    let Some(outermost) = around.min_by_key(|place| place.components().count()) else {
        return Vec::new();
    };
    let between = target.ancestors().skip(1);
    between.take_while(|folder| *folder != outermost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_between_are_the_steps() {
        let open = ["/t/w/a", "/t/w", "/t/x"].map(PathBuf::from);
        let of = |target: &'static str| steps(Path::new(target), &open);
        assert_eq!(
            of("/t/w/a/b/p"),
            [Path::new("/t/w/a/b"), Path::new("/t/w/a")]
        );
        assert!(of("/t/w/p").is_empty(), "a mount point itself");
        assert!(of("/t/w").is_empty());
        assert!(of("/t/elsewhere/p").is_empty());
    }
}
