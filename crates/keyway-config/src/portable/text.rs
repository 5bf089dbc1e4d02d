//! A string of an entry without notation, and how a host would write it.

use crate::dialect::{Asks, Dialect, KnownPath, Place};
use crate::prompt::Prompt;
use crate::reference::foreign_parts;
use crate::template::{KnownValue, Part, Template, VariableForm, VariableSyntax, is_asked_for};

/// A string: text, and what is filled in later.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortableText {
    pieces: Vec<Piece>,
}

/// A piece of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// Text that stands for itself.
    Literal(String),
    /// A value that comes from outside of the file.
    Slot(Slot),
    /// The folder of the project or plugin.
    Folder,
    /// The folder for a plugin's data.
    DataFolder,
    /// A reference that cannot be understood, as it is written.
    Unreadable(String),
}

/// A value that comes from outside of the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Slot {
    /// The variable.
    pub name: String,
    /// What stands in if there is none.
    pub default: SlotDefault,
    /// Whether it is a credential.
    pub is_secret: bool,
    /// Whether the file's own host would not fill it in: what was meant is plain, what happened
    /// until now is not the same.
    pub is_assumed: bool,
}

/// What stands in for a value that is not there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum SlotDefault {
    /// Nothing.
    #[default]
    None,
    /// A text.
    Text(String),
    /// A credential that the file has; it is not kept, and never written.
    Credential,
}

impl SlotDefault {
    fn of(text: Option<String>) -> Self {
        text.map_or(Self::None, Self::Text)
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::None | Self::Credential => None,
        }
    }
}

impl Slot {
    /// Makes a slot for a credential.
    #[must_use]
    pub fn credential(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            default: SlotDefault::None,
            is_secret: true,
            is_assumed: false,
        }
    }

    /// Returns the default that may be written: of a credential only an empty one, which says that
    /// the server works without.
    #[must_use]
    pub fn written_default(&self) -> Option<&str> {
        let default = self.default.text();
        default.filter(|default| !self.is_secret || default.is_empty())
    }

    /// Says whether the file has a default that is not written anywhere.
    pub(super) fn loses_default(&self) -> bool {
        self.default != SlotDefault::None && self.written_default().is_none()
    }
}

impl PortableText {
    /// Takes the notation off a template.
    pub(super) fn of(template: &Template, is_secret: &dyn Fn(&str) -> bool) -> Self {
        let mut foreign = foreign_parts(template).into_iter();
        let mut text = Self::default();
        // How far the last reference reaches, which may be into the text behind it: `${{ X }}`.
        let mut reached = 0_usize;
        for part in template.parts() {
            let piece = match part {
                Part::Literal { text, range } => {
                    let taken = reached.saturating_sub(range.start);
                    Piece::Literal(text.get(taken..).unwrap_or_default().to_owned())
                }
                Part::Variable(variable) => {
                    let default = variable.default.clone();
                    of_variable(&variable.name, default, is_secret)
                }
                Part::Foreign { range } => {
                    let written = template.as_str().get(range.clone()).unwrap_or_default();
                    match foreign.next().and_then(|found| {
                        let name = found.name?;
                        reached = found.range.end;
                        Some((name, found.default))
                    }) {
                        Some((name, default)) => match of_variable(&name, default, is_secret) {
                            Piece::Slot(slot) => Piece::Slot(Slot {
                                is_assumed: true,
                                ..slot
                            }),
                            other => other,
                        },
                        None => Piece::Unreadable(written.to_owned()),
                    }
                }
            };
            text.push(piece);
        }
        text
    }

    /// Adds what the file says about the values that its host asks for.
    pub(super) fn describe(&mut self, prompts: &[Prompt]) {
        for piece in &mut self.pieces {
            let Piece::Slot(slot) = piece else { continue };
            let found = prompts
                .iter()
                .find(|it| without_prefix(&it.variable) == slot.name);
            if let Some(prompt) = found {
                slot.is_secret |= prompt.is_secret;
                if slot.default == SlotDefault::None {
                    slot.default = SlotDefault::of(prompt.default.clone());
                }
            }
        }
    }

    /// Puts a slot wherever `value` stands, defaults included.
    pub(super) fn with_slot(self, value: &str, variable: &str) -> Self {
        let slot = || {
            Piece::Slot(Slot {
                name: variable.to_owned(),
                default: SlotDefault::None,
                is_secret: true,
                is_assumed: false,
            })
        };
        let mut text = Self::default();
        for piece in self.pieces {
            match piece {
                Piece::Literal(literal) if !value.is_empty() => {
                    for (index, between) in literal.split(value).enumerate() {
                        if index > 0 {
                            text.push(slot());
                        }
                        text.push(Piece::Literal(between.to_owned()));
                    }
                }
                Piece::Slot(found) if found.default.text().is_some_and(|it| it.contains(value)) => {
                    text.push(Piece::Slot(Slot {
                        default: SlotDefault::Credential,
                        is_secret: true,
                        ..found
                    }));
                }
                other => text.push(other),
            }
        }
        text
    }

    /// Returns the pieces in order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns what is filled in from outside of the file.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Slot(slot) => Some(slot),
            _ => None,
        })
    }

    /// Returns the slot that is all of the text behind `before`.
    pub(super) fn only_slot(&self, before: &str) -> Option<&Slot> {
        match (before, self.pieces.as_slice()) {
            ("", [Piece::Slot(slot)]) => Some(slot),
            (_, [Piece::Literal(text), Piece::Slot(slot)]) if text == before => Some(slot),
            _ => None,
        }
    }

    /// Says whether the text is the folder of the project, where most hosts start programs anyway.
    pub(super) fn is_folder(&self) -> bool {
        matches!(self.pieces.as_slice(), [Piece::Folder])
            || matches!(self.pieces.as_slice(), [Piece::Literal(text)] if text == "." || text == "./")
    }

    /// Writes the text as a host reads it at a place.
    pub(super) fn write(&self, target: &Dialect, place: Place) -> Result<Noted, Unwritable> {
        let syntax = target.variables_in(place);
        let mut noted = Noted::default();
        let text = self.with_defaults(syntax, &mut noted);
        for piece in &text.pieces {
            match piece {
                Piece::Literal(text) if syntax.has_escape => {
                    noted.text.push_str(&text.replace("${", "$${"));
                }
                Piece::Literal(text) => noted.text.push_str(text),
                Piece::Slot(slot) => noted.slot(slot, target, syntax)?,
                Piece::Folder => noted.text.push_str(&folder(target, syntax)?),
                Piece::DataFolder => noted.text.push_str(&data_folder(target, syntax)?),
                Piece::Unreadable(text) => return Err(Unwritable::Reference(text.clone())),
            }
        }
        // Read again as the host does: text next to a reference can change what either means.
        let again = Self::of(&Template::parse_as(&noted.text, syntax), &|_| false);
        if again.shape() == text.shape() {
            Ok(noted)
        } else {
            Err(Unwritable::Ambiguous)
        }
    }

    /// Where the host fills in no variables, a default that everyone may see stands for its own.
    fn with_defaults(&self, syntax: &VariableSyntax, noted: &mut Noted) -> Self {
        let mut text = Self::default();
        for piece in &self.pieces {
            match piece {
                Piece::Slot(slot) if !slot.is_secret && syntax.write(&slot.name).is_none() => {
                    match slot.default.text() {
                        Some(default) => {
                            noted.fixed.push(slot.name.clone());
                            text.push(Piece::Literal(default.to_owned()));
                        }
                        None => text.push(piece.clone()),
                    }
                }
                _ => text.push(piece.clone()),
            }
        }
        text
    }

    /// What the text means, apart from what a host cannot say about a slot.
    fn shape(&self) -> Vec<Piece> {
        let pieces = self.pieces.iter().cloned();
        pieces
            .map(|piece| match piece {
                Piece::Slot(slot) => Piece::Slot(Slot {
                    default: SlotDefault::None,
                    is_secret: false,
                    is_assumed: false,
                    ..slot
                }),
                other => other,
            })
            .collect()
    }

    fn push(&mut self, piece: Piece) {
        match (self.pieces.last_mut(), piece) {
            (_, Piece::Literal(text)) if text.is_empty() => {}
            (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
            (_, piece) => self.pieces.push(piece),
        }
    }
}

/// Text for a host, and what it takes or costs.
#[derive(Debug, Clone, Default)]
pub(super) struct Noted {
    pub(super) text: String,
    /// What the file has to ask a person for.
    pub(super) asked: Vec<Slot>,
    /// Variables whose default the host cannot say.
    pub(super) without_default: Vec<String>,
    /// Variables that gave way to their default.
    pub(super) fixed: Vec<String>,
}

impl Noted {
    fn slot(
        &mut self,
        slot: &Slot,
        target: &Dialect,
        syntax: &VariableSyntax,
    ) -> Result<(), Unwritable> {
        let default = slot.written_default();
        let is_asked = target.asks == Asks::Inputs && (slot.is_secret || default.is_some());
        if is_asked && syntax.has(VariableForm::Input) {
            self.text
                .push_str(&format!("${{input:{}}}", input_id(&slot.name)));
            self.asked.push(slot.clone());
            // A question for a credential is asked without one.
            if slot.is_secret && default.is_some() {
                self.without_default.push(slot.name.clone());
            }
            return Ok(());
        }
        let written = syntax.write(&slot.name);
        let written = written.ok_or_else(|| Unwritable::Variable(slot.name.clone()))?;
        match default {
            Some(default) if syntax.has(VariableForm::Default) && !default.contains('}') => {
                let inside = written.strip_suffix('}').unwrap_or(&written);
                self.text.push_str(&format!("{inside}:-{default}}}"));
            }
            Some(_) => {
                self.without_default.push(slot.name.clone());
                self.text.push_str(&written);
            }
            None => self.text.push_str(&written),
        }
        Ok(())
    }
}

/// Why a host cannot say a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unwritable {
    /// It fills in no variable there.
    Variable(String),
    /// It has no name for the folder.
    Folder,
    /// The reference is in a syntax that is not understood.
    Reference(String),
    /// The text would mean something else.
    Ambiguous,
}

impl Unwritable {
    /// Says why, in a form that follows a colon.
    pub(super) fn why(&self, target: &Dialect) -> String {
        let host = target.name;
        match self {
            Self::Variable(name) => {
                format!("{host} fills in no variable there, and it needs `{name}`")
            }
            Self::Folder => format!("{host} has no name for the folder of the project there"),
            Self::Reference(text) => format!("`{text}` is not a reference that can be understood"),
            Self::Ambiguous => format!("{host} would take a part of it for a reference"),
        }
    }
}

/// Returns the name under which VS Code asks for a variable.
#[must_use]
pub fn input_id(variable: &str) -> String {
    variable.to_ascii_lowercase()
}

fn folder(target: &Dialect, syntax: &VariableSyntax) -> Result<String, Unwritable> {
    if syntax.is_empty() {
        return Err(Unwritable::Folder);
    }
    match KnownPath::of(target) {
        // A name that only the host's extensions have says nothing in a project's file.
        Some(KnownPath("extensionPath")) | None => Err(Unwritable::Folder),
        Some(KnownPath(name)) => Ok(format!("${{{name}}}")),
    }
}

fn data_folder(target: &Dialect, syntax: &VariableSyntax) -> Result<String, Unwritable> {
    if target.is_contract() {
        return Ok("${CLAUDE_PLUGIN_DATA}".to_owned());
    }
    let mut known = syntax.known.iter();
    let found = known.find(|(_, value)| *value == KnownValue::Variable("HOST_PLUGIN_DATA"));
    let (name, _) = found.ok_or(Unwritable::Folder)?;
    Ok(format!("${{{name}}}"))
}

fn of_variable(name: &str, default: Option<String>, is_secret: &dyn Fn(&str) -> bool) -> Piece {
    if FOLDERS.contains(&name) {
        return Piece::Folder;
    }
    if DATA_FOLDERS.contains(&name) {
        return Piece::DataFolder;
    }
    let own = without_prefix(name);
    Piece::Slot(Slot {
        name: own.to_owned(),
        default: SlotDefault::of(default),
        is_secret: is_secret(own),
        is_assumed: false,
    })
}

/// The name of a value that a host asks for, as a person would call the variable.
fn without_prefix(name: &str) -> &str {
    let prefixes = ["INPUT_", "USER_CONFIG_"];
    let mut own = prefixes.iter().filter_map(|it| name.strip_prefix(it));
    own.next().filter(|_| is_asked_for(name)).unwrap_or(name)
}

const FOLDERS: &[&str] = &[
    "HOST_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_ROOT",
    "PLUGIN_ROOT",
    "HOST_PROJECT_DIR",
    "CLAUDE_PROJECT_DIR",
];
const DATA_FOLDERS: &[&str] = &["HOST_PLUGIN_DATA", "CLAUDE_PLUGIN_DATA", "PLUGIN_DATA"];
