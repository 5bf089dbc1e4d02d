//! Which paths a module names: its imports, and every other path with at least two segments.

use proc_macro2::TokenTree;

use crate::source::{is_ident, is_punct};

/// What a module names.
#[derive(Debug, Default)]
pub(super) struct Paths {
    pub(super) imports: Vec<Import>,
    /// Modules of which everything is imported.
    pub(super) globs: Vec<Vec<String>>,
    /// Every path with its line, imports among them.
    pub(super) named: Vec<(Vec<String>, usize)>,
}

/// A name that a `use` brings in, and for what it stands.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) name: String,
    pub(super) path: Vec<String>,
}

impl Paths {
    pub(super) fn of(tokens: &[TokenTree]) -> Self {
        let mut paths = Self::default();
        paths.scan(tokens);
        paths
    }

    fn scan(&mut self, tokens: &[TokenTree]) {
        let mut position = 0;
        while let Some(token) = tokens.get(position) {
            match token {
                TokenTree::Group(group) => {
                    let inside: Vec<_> = group.stream().into_iter().collect();
                    self.scan(&inside);
                    position += 1;
                }
                TokenTree::Ident(_) if is_import(tokens, position) => {
                    let end = tokens
                        .iter()
                        .skip(position)
                        .position(|token| is_punct(token, ';'))
                        .map_or(tokens.len(), |length| position + length);
                    self.import(&[], tokens.get(position + 1..end).unwrap_or_default());
                    position = end;
                }
                TokenTree::Ident(_) => {
                    let (path, end) = path_at(tokens, position);
                    if path.len() > 1 && !follows_colons(tokens, position) {
                        self.named.push((path, token.span().start().line));
                    }
                    position = end;
                }
                _ => position += 1,
            }
        }
    }

    /// Takes one tree of a `use`, such as `a::{b, c as d, e::*}`, below `prefix`.
    fn import(&mut self, prefix: &[String], tree: &[TokenTree]) {
        // `use ::name` is another crate.
        let Some(first) = tree.first().filter(|first| !is_punct(first, ':')) else {
            return;
        };
        let line = first.span().start().line;
        let (own, end) = match first {
            TokenTree::Ident(_) => path_at(tree, 0),
            _ => (Vec::new(), 0),
        };
        let mut path: Vec<_> = prefix.iter().chain(&own).cloned().collect();
        let rest = tree.get(end..).unwrap_or_default();
        let after_colons = match rest {
            [a, b, after @ ..] if is_punct(a, ':') && is_punct(b, ':') => after,
            other => other,
        };
        match after_colons {
            [TokenTree::Group(group), ..] => {
                let inside: Vec<_> = group.stream().into_iter().collect();
                for branch in inside.split(|token| is_punct(token, ',')) {
                    self.import(&path, branch);
                }
            }
            [star, ..] if is_punct(star, '*') => {
                self.named.push((path.clone(), line));
                self.globs.push(path);
            }
            other => {
                // `use a::{self}` names `a`.
                if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                let name = match other {
                    [word, TokenTree::Ident(alias), ..] if is_ident(word, "as") => {
                        alias.to_string()
                    }
                    _ => path.last().cloned().unwrap_or_default(),
                };
                self.named.push((path.clone(), line));
                self.imports.push(Import { name, path });
            }
        }
    }
}

/// Says whether a `use` declaration begins here, and not the `use<'a>` of a return type.
fn is_import(tokens: &[TokenTree], position: usize) -> bool {
    tokens
        .get(position)
        .is_some_and(|token| is_ident(token, "use"))
        && tokens
            .get(position + 1)
            .is_some_and(|next| !is_punct(next, '<'))
}

/// Says whether `::` stands before: then it is another crate's, or a type's own item.
fn follows_colons(tokens: &[TokenTree], position: usize) -> bool {
    let before = |distance: usize| {
        position
            .checked_sub(distance)
            .and_then(|at| tokens.get(at))
            .is_some_and(|token| is_punct(token, ':'))
    };
    before(1) && before(2)
}

/// Returns the path `a::b::c` that begins at `position`, and the position after it.
fn path_at(tokens: &[TokenTree], position: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    let mut at = position;
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        path.push(name.to_string().trim_start_matches("r#").to_owned());
        at += 1;
        let is_continued = matches!(
            tokens.get(at..at + 3),
            Some([a, b, TokenTree::Ident(_)]) if is_punct(a, ':') && is_punct(b, ':')
        );
        if !is_continued {
            break;
        }
        at += 2;
    }
    (path, at.max(position + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let tokens: proc_macro2::TokenStream = text.parse().unwrap();
        let tokens: Vec<_> = tokens.into_iter().collect();
        let named = Paths::of(&tokens).named;
        named.iter().map(|(path, _)| path.join("::")).collect()
    }

    #[test]
    fn every_branch_of_an_import_is_named() {
        assert_eq!(
            named(
                "use crate::a::{self, b::C, d::{E as F, g::*}}; use super::h as i; use ::http::Uri;"
            ),
            [
                "crate::a",
                "crate::a::b::C",
                "crate::a::d::E",
                "crate::a::d::g",
                "super::h"
            ]
        );
    }

    #[test]
    fn paths_in_types_expressions_and_macros_are_named() {
        assert_eq!(
            named(
                "fn f(a: crate::a::A) -> impl Fn() + use<'_> { format!(\"{}\", super::b::c()); \
                 x.d::<u8>(); let e: Vec<self::f::G> = h(); j::K::L }"
            ),
            ["crate::a::A", "super::b::c", "self::f::G", "j::K::L"]
        );
    }

    #[test]
    fn comments_and_strings_name_nothing() {
        assert!(
            named("// use crate::a;\n/// [`crate::b::C`]\nconst X: &str = \"crate::d::E\";")
                .is_empty()
        );
    }
}
