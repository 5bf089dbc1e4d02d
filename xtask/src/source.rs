//! Rust source as tokens: the modules of a crate without their tests, and lines of code.
//!
//! The lexer is `proc-macro2`, so comments and strings are never mistaken for code. What stands
//! below `#[cfg(test)]` is dropped, and with it the files of test modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::error::XtaskError;

/// A module outside of tests, with its own tokens; those of inline children are not among them.
#[derive(Debug)]
pub(crate) struct Module {
    /// Names from the root of the crate; empty for the root itself.
    pub(crate) path: Vec<String>,
    pub(crate) file: PathBuf,
    pub(crate) tokens: Vec<TokenTree>,
}

/// Reads the module in `root` and all that it declares, parents before their children.
pub(crate) fn modules(root: &Path) -> Result<Vec<Module>, XtaskError> {
    let mut modules = Vec::new();
    let mut open = vec![Place {
        path: Vec::new(),
        file: root.to_owned(),
        children: root.parent().map(Path::to_owned).unwrap_or_default(),
        tokens: read(root)?,
    }];
    while let Some(place) = open.pop() {
        let mut own = Vec::new();
        for part in split(place.tokens.clone()) {
            match part {
                Part::Tokens(tokens) => own.extend(tokens),
                Part::Inline { name, tokens } => open.push(Place {
                    path: joined(&place.path, &name),
                    file: place.file.clone(),
                    children: place.children.join(&name),
                    tokens,
                }),
                Part::File { name } => {
                    let beside = place.children.join(format!("{name}.rs"));
                    let nested = place.children.join(&name).join("mod.rs");
                    let file = if beside.exists() { beside } else { nested };
                    open.push(Place {
                        path: joined(&place.path, &name),
                        tokens: read(&file)?,
                        file,
                        children: place.children.join(&name),
                    });
                }
            }
        }
        modules.push(Module {
            path: place.path,
            file: place.file,
            tokens: own,
        });
    }
    modules.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(modules)
}

/// Returns the lines with code of a module: no blank line, no comment, no test, no inline child.
pub(crate) fn code_lines(tokens: &[TokenTree]) -> BTreeSet<usize> {
    let mut lines = BTreeSet::new();
    collect_lines(tokens, &mut lines);
    lines
}

/// A module that is still to be taken apart.
struct Place {
    path: Vec<String>,
    file: PathBuf,
    /// Where the files of its child modules are.
    children: PathBuf,
    tokens: Vec<TokenTree>,
}

enum Part {
    Tokens(Vec<TokenTree>),
    Inline {
        name: String,
        tokens: Vec<TokenTree>,
    },
    File {
        name: String,
    },
}

fn joined(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

fn read(file: &Path) -> Result<Vec<TokenTree>, XtaskError> {
    let text = fs::read_to_string(file).map_err(XtaskError::file(file))?;
    let tokens: TokenStream = text.parse().map_err(|_| XtaskError::Tokens {
        path: file.to_owned(),
    })?;
    Ok(without_tests(tokens))
}

/// Separates child modules from the other tokens of a module.
fn split(tokens: Vec<TokenTree>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut own = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if !is_ident(&token, "mod") {
            own.push(token);
            continue;
        }
        let Some(TokenTree::Ident(name)) = tokens.next() else {
            continue;
        };
        own.extend([token, TokenTree::Ident(name.clone())]);
        let name = name.to_string();
        match tokens.next() {
            Some(TokenTree::Group(body)) => parts.push(Part::Inline {
                name,
                tokens: body.stream().into_iter().collect(),
            }),
            _ => parts.push(Part::File { name }),
        }
    }
    parts.push(Part::Tokens(own));
    parts
}

/// Returns `tokens` without what is only compiled for tests.
fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut kept = Vec::new();
    let mut position = 0;
    while let Some(token) = tokens.get(position) {
        match Attribute::at(&tokens, position) {
            // `#![cfg(test)]`: all of the file.
            Some(attribute) if attribute.is_inner && attribute.is_for_tests() => return Vec::new(),
            Some(attribute) if attribute.is_for_tests() => {
                position = end_of_item(&tokens, attribute.end);
                continue;
            }
            _ => {}
        }
        kept.push(match token {
            TokenTree::Group(group) => {
                let inside = without_tests(group.stream()).into_iter().collect();
                let mut group_without = Group::new(group.delimiter(), inside);
                group_without.set_span(group.span());
                TokenTree::Group(group_without)
            }
            other => other.clone(),
        });
        position += 1;
    }
    kept
}

struct Attribute<'a> {
    content: &'a Group,
    is_inner: bool,
    /// The position after it.
    end: usize,
}

impl<'a> Attribute<'a> {
    fn at(tokens: &'a [TokenTree], position: usize) -> Option<Self> {
        if !is_punct(tokens.get(position)?, '#') {
            return None;
        }
        let is_inner = is_punct(tokens.get(position + 1)?, '!');
        let content = position + if is_inner { 2 } else { 1 };
        match tokens.get(content)? {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => Some(Self {
                content: group,
                is_inner,
                end: content + 1,
            }),
            _ => None,
        }
    }

    fn name(&self) -> Option<String> {
        match self.content.stream().into_iter().next()? {
            TokenTree::Ident(name) => Some(name.to_string()),
            _ => None,
        }
    }

    /// Says whether it is `#[test]` or a `#[cfg(…)]` with `test` outside of a `not`.
    fn is_for_tests(&self) -> bool {
        match self.name().as_deref() {
            Some("test") => true,
            Some("cfg") => mentions_test(self.content.stream()),
            _ => false,
        }
    }
}

fn mentions_test(condition: TokenStream) -> bool {
    let mut is_negated = false;
    for token in condition {
        match token {
            TokenTree::Group(group) if !is_negated && mentions_test(group.stream()) => return true,
            TokenTree::Ident(name) if name == "test" => return true,
            _ => is_negated = is_ident(&token, "not"),
        }
    }
    false
}

/// Returns the position after the item, field, arm or statement that begins at `position`.
fn end_of_item(tokens: &[TokenTree], mut position: usize) -> usize {
    while let Some(attribute) = Attribute::at(tokens, position) {
        position = attribute.end;
    }
    let keyword = tokens
        .iter()
        .skip(position)
        .filter_map(|token| match token {
            TokenTree::Ident(name) => Some(name.to_string()),
            _ => None,
        })
        .find(|word| word != "pub");
    let is_use = keyword.as_deref() == Some("use");
    let is_item = keyword.is_some_and(|word| ITEMS.contains(&word.as_str()));
    for (offset, token) in tokens.iter().enumerate().skip(position) {
        let is_body = !is_use
            && matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if is_punct(token, ';') || is_body || (!is_item && is_punct(token, ',')) {
            return offset + 1;
        }
    }
    tokens.len()
}

fn collect_lines(tokens: &[TokenTree], lines: &mut BTreeSet<usize>) {
    let mut position = 0;
    while let Some(token) = tokens.get(position) {
        let attribute = Attribute::at(tokens, position);
        if let Some(documentation) =
            attribute.filter(|attribute| attribute.name().as_deref() == Some("doc"))
        {
            position = documentation.end;
            continue;
        }
        match token {
            TokenTree::Group(group) => {
                lines.insert(group.span_open().start().line);
                let inside: Vec<_> = group.stream().into_iter().collect();
                collect_lines(&inside, lines);
                lines.insert(group.span_close().end().line);
            }
            // A string may have several lines.
            other => lines.extend(other.span().start().line..=other.span().end().line),
        }
        position += 1;
    }
}

pub(crate) fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

pub(crate) fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// The words with which an item begins, after its visibility.
const ITEMS: &[&str] = &[
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "let",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "unsafe",
    "use",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> usize {
        code_lines(&without_tests(text.parse().unwrap())).len()
    }

    #[test]
    fn blank_lines_comments_and_tests_are_not_code() {
        let text = "//! About.\n\n/// What.\n#[derive(Debug)]\nstruct A {\n    // why\n    a: u8, /* b */\n}\n\n\
                    #[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n";
        assert_eq!(lines(text), 4);
    }

    #[test]
    fn every_line_of_a_string_is_code() {
        assert_eq!(lines("const A: &str = \"\n\n// x\n\";\n"), 4);
    }

    #[test]
    fn only_the_item_below_the_attribute_is_left_out() {
        for (text, left) in [
            ("#[cfg(test)]\nuse a::{b, c};\nuse d::e;", 1),
            (
                "#[cfg(test)]\npub(crate) fn f() -> Vec<u8> {\n}\nfn g() {}",
                1,
            ),
            ("struct A {\n#[cfg(test)]\nx: u8,\ny: u8,\n}", 3),
            ("#[cfg(test)]\n#[expect(unused)]\nmod tests;\nmod other;", 1),
            ("#[cfg(all(test, unix))]\nfn f() {}\nfn g() {}", 1),
            ("#[cfg(not(test))]\nfn f() {}\n", 2),
            ("#[cfg(feature = \"test\")]\nfn f() {}\n", 2),
            ("#[test]\nfn f() {}\n", 0),
            ("#![cfg(test)]\nfn f() {}\n", 0),
        ] {
            assert_eq!(lines(text), left, "{text}");
        }
    }

    #[test]
    fn modules_are_read_from_their_files_without_tests() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            (
                "lib.rs",
                "mod a;\nmod b { mod c; }\n#[cfg(test)]\nmod tests;",
            ),
            ("a.rs", "fn f() {}\n#[cfg(test)]\nmod tests;"),
            ("b/c.rs", "fn g() {}"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = modules(&folder.path().join("lib.rs")).unwrap();
        let paths: Vec<_> = found.iter().map(|module| module.path.join("::")).collect();
        assert_eq!(paths, ["", "a", "b", "b::c"]);
    }
}
