//! Circles between modules of a crate.
//!
//! A module may use its parents and its children. Two siblings that use each other, directly or
//! through other siblings, are a circle: neither can be read, moved or tested without the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use crate::error::XtaskError;
use crate::layers::paths::Paths;
use crate::source::{self, Module};

/// Modules with one parent that all use each other, directly or through others of them.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Circle {
    /// The crate, or the crate and its program.
    pub(super) owner: String,
    /// The parent's path; `crate` for the root.
    pub(super) parent: String,
    pub(super) modules: BTreeSet<String>,
}

/// A circle, and the rings of arrows that make it one.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) circle: Circle,
    /// Each a sequence of lines: from which module to which, and where.
    pub(super) rings: Vec<Vec<String>>,
}

/// Returns all circles of the crate whose root is the file `root`.
pub(super) fn find(owner: &str, root: &Path, shown_from: &Path) -> Result<Vec<Found>, XtaskError> {
    let tree = Tree::new(source::modules(root)?);
    let mut found = Vec::new();
    for (parent, arrows) in tree.sibling_arrows(shown_from) {
        for modules in arrows.circles() {
            found.push(Found {
                rings: arrows.rings(&modules),
                circle: Circle {
                    owner: owner.to_owned(),
                    parent: match parent.as_slice() {
                        [] => "crate".to_owned(),
                        path => path.join("::"),
                    },
                    modules,
                },
            });
        }
    }
    Ok(found)
}

/// The modules of a crate with what each names.
struct Tree {
    modules: Vec<(Module, Paths)>,
    by_path: BTreeMap<Vec<String>, usize>,
}

impl Tree {
    fn new(modules: Vec<Module>) -> Self {
        let by_path = modules
            .iter()
            .enumerate()
            .map(|(index, module)| (module.path.clone(), index))
            .collect();
        let modules = modules
            .into_iter()
            .map(|module| {
                let paths = Paths::of(&module.tokens);
                (module, paths)
            })
            .collect();
        Self { modules, by_path }
    }

    /// Returns the arrows between siblings, by the path of their parent.
    fn sibling_arrows(&self, shown_from: &Path) -> BTreeMap<Vec<String>, Arrows> {
        let mut by_parent: BTreeMap<Vec<String>, Arrows> = BTreeMap::new();
        for (module, paths) in &self.modules {
            let file = module.file.strip_prefix(shown_from).unwrap_or(&module.file);
            for (path, line) in &paths.named {
                let mut reached = BTreeSet::new();
                self.resolve(&module.path, path, LOOKUPS, &mut reached);
                for target in reached {
                    let shared = module.path.iter().zip(&target);
                    let depth = shared.take_while(|(a, b)| a == b).count();
                    let (Some(from), Some(to)) = (module.path.get(depth), target.get(depth)) else {
                        continue; // A parent and its child.
                    };
                    by_parent
                        .entry(target.iter().take(depth).cloned().collect())
                        .or_default()
                        .0
                        .entry(from.clone())
                        .or_default()
                        .entry(to.clone())
                        .or_insert_with(|| format!("{}:{line}", file.display()));
                }
            }
        }
        by_parent
    }

    /// Adds to `reached` the modules through which `path`, written in `from`, leads: the one where
    /// it ends, and those that import it from there. Says whether `path` is in this crate.
    fn resolve(
        &self,
        from: &[String],
        path: &[String],
        lookups: usize,
        reached: &mut BTreeSet<Vec<String>>,
    ) -> bool {
        let Some(lookups) = lookups.checked_sub(1) else {
            return false;
        };
        let mut here = from.to_vec();
        let mut rest = path;
        match path {
            [first, after @ ..] if first == "crate" => {
                here.clear();
                rest = after;
            }
            [first, after @ ..] if first == "self" => rest = after,
            [first, ..] if first == "super" => {
                while let [first, after @ ..] = rest
                    && first == "super"
                {
                    here.pop();
                    rest = after;
                }
            }
            [first, ..] if self.lookup(&here, first, lookups).is_none() => return false,
            _ => {}
        }
        while let [name, after @ ..] = rest {
            match self.lookup(&here, name, lookups) {
                Some(Named::Child(child)) => {
                    here = child;
                    rest = after;
                }
                Some(Named::Import(imported)) => {
                    let whole: Vec<_> = imported.iter().chain(after).cloned().collect();
                    let is_ours = self.resolve(&here, &whole, lookups, reached);
                    // The importing module counts as well, unless it is the one that asks.
                    if is_ours && here == from {
                        return true;
                    }
                    break;
                }
                Some(Named::Glob(module)) => return self.resolve(&module, rest, lookups, reached),
                None => break,
            }
        }
        reached.insert(here);
        true
    }

    /// Returns what `name` stands for in the module at `path`, if it is not an item of its own.
    fn lookup(&self, path: &[String], name: &str, lookups: usize) -> Option<Named<'_>> {
        let child: Vec<_> = path.iter().cloned().chain([name.to_owned()]).collect();
        if self.by_path.contains_key(&child) {
            return Some(Named::Child(child));
        }
        if let Some(imported) = self.imported(path, name) {
            return Some(Named::Import(imported));
        }
        for glob in &self.paths_of(path)?.globs {
            let mut modules = BTreeSet::new();
            if !self.resolve(path, glob, lookups, &mut modules) {
                continue;
            }
            let has_name = |module: &Vec<String>| {
                let child: Vec<_> = module.iter().cloned().chain([name.to_owned()]).collect();
                module != path
                    && (self.by_path.contains_key(&child) || self.imported(module, name).is_some())
            };
            if let Some(module) = modules.into_iter().find(has_name) {
                return Some(Named::Glob(module));
            }
        }
        None
    }

    fn imported(&self, path: &[String], name: &str) -> Option<&[String]> {
        let paths = self.paths_of(path)?;
        let import = paths.imports.iter().find(|import| import.name == name)?;
        // `use http;` would lead to itself.
        (import.path.as_slice() != [name]).then_some(import.path.as_slice())
    }

    fn paths_of(&self, path: &[String]) -> Option<&Paths> {
        let index = self.by_path.get(path)?;
        self.modules.get(*index).map(|(_, paths)| paths)
    }
}

/// What a name in a module stands for.
enum Named<'a> {
    Child(Vec<String>),
    Import(&'a [String]),
    /// A name of this module, of which everything is imported.
    Glob(Vec<String>),
}

/// From each sibling to others, with the first place of each arrow.
#[derive(Debug, Default)]
struct Arrows(BTreeMap<String, BTreeMap<String, String>>);

impl Arrows {
    /// Returns the sets of modules that all reach each other, each with at least two.
    fn circles(&self) -> Vec<BTreeSet<String>> {
        let mut circles: Vec<BTreeSet<String>> = Vec::new();
        for from in self.0.keys() {
            if circles.iter().any(|circle| circle.contains(from)) {
                continue;
            }
            let circle: BTreeSet<_> = self
                .reached_from(from)
                .into_iter()
                .filter(|to| self.reached_from(to).contains(from))
                .collect();
            if circle.len() > 1 {
                circles.push(circle);
            }
        }
        circles
    }

    fn reached_from(&self, from: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            for to in self.0.get(module).into_iter().flatten().map(|(to, _)| to) {
                if reached.insert(to.clone()) {
                    open.push(to);
                }
            }
        }
        reached
    }

    /// Returns the shortest ring through every arrow of a circle, each ring once.
    fn rings(&self, circle: &BTreeSet<String>) -> Vec<Vec<String>> {
        let mut rings = BTreeSet::new();
        for from in circle {
            for to in self.0.get(from).into_iter().flatten().map(|(to, _)| to) {
                if circle.contains(to)
                    && let Some(ring) = self.shortest(to, from, circle)
                {
                    rings.insert(turned(ring));
                }
            }
        }
        let mut rings: Vec<_> = rings.into_iter().collect();
        rings.sort_by_key(Vec::len);
        rings.iter().map(|ring| self.shown(ring)).collect()
    }

    /// Returns the modules of a shortest way from `from` to `to` inside of `circle`.
    fn shortest(&self, from: &str, to: &str, circle: &BTreeSet<String>) -> Option<Vec<String>> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut open = VecDeque::from([from]);
        while let Some(module) = open.pop_front() {
            if module == to {
                let mut way = vec![to.to_owned()];
                let mut here = to;
                while here != from {
                    here = before.get(here)?;
                    way.insert(0, here.to_owned());
                }
                return Some(way);
            }
            for next in self.0.get(module).into_iter().flatten().map(|(to, _)| to) {
                if next != from && circle.contains(next) && !before.contains_key(next.as_str()) {
                    before.insert(next, module);
                    open.push_back(next);
                }
            }
        }
        None
    }

    fn shown(&self, ring: &[String]) -> Vec<String> {
        let next = ring.iter().cycle().skip(1);
        ring.iter()
            .zip(next)
            .map(|(from, to)| {
                let place = self.0.get(from).and_then(|arrows| arrows.get(to));
                let place = place.map_or("?", String::as_str);
                format!("{from} -> {to}  {place}")
            })
            .collect()
    }
}

/// Turns a ring so that it begins with its first name.
fn turned(mut ring: Vec<String>) -> Vec<String> {
    let first = ring.iter().enumerate().min_by_key(|(_, name)| *name);
    let first = first.map_or(0, |(index, _)| index);
    ring.rotate_left(first);
    ring
}

/// More than enough for a name that is imported from module to module; ends imports that turn.
const LOOKUPS: usize = 12;

#[cfg(test)]
mod tests;
