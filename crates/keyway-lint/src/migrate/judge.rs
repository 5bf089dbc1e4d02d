//! Whether one literal can move to a variable, and what exactly would be replaced by it.

mod obstacle;

use std::collections::BTreeMap;

use keyway_config::declared::{DeclaredServer, Field};
use keyway_config::dialect::{Asks, FileScope, Syntax};
use keyway_config::document::{Document, Wrapper};
use keyway_config::edit::Edit;
use keyway_config::json;
use keyway_config::portable::{NamedCredential, NamedPlace, input_id};
use keyway_config::source::Span;
use keyway_config::template::{
    Part, Template, VariableForm, VariableSyntax, input_variable, user_config_variable,
};
use keyway_config::usage::{self, FieldRole};
use keyway_secret::Secret;
use percent_encoding::percent_decode_str;

pub(super) use self::obstacle::Obstacle;
use super::is_changeable;
use super::names;
use crate::literals::{Literal, LiteralPlace};
use crate::secrets::Reason;

/// A literal that can move.
pub(super) struct Candidate<'a> {
    pub(super) document: &'a Document,
    pub(super) server: &'a DeclaredServer,
    pub(super) literal: Literal,
    /// What the variable has to hold.
    pub(super) value: Secret<String>,
    pub(super) target: Target,
    /// How the host of the file gets the value.
    pub(super) way: Way,
}

/// How a host gets a value that is not in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By a reference to a variable.
    Variable(&'static VariableSyntax),
    /// It asks the person for an input.
    Input,
    /// It asks the person for a setting of the plugin.
    UserConfig,
    /// By the name of a variable, in a field of its own.
    Name,
}

impl Way {
    /// Returns the variable by which Keyway gets the value.
    pub(super) fn variable(self, name: &str) -> Option<String> {
        match self {
            Self::Input => input_variable(name),
            Self::UserConfig => user_config_variable(name),
            Self::Variable(_) | Self::Name => None,
        }
    }
}

/// What is replaced.
pub(super) enum Target {
    /// The literal, by a reference to a variable whose name begins with `base`.
    Literal { base: String, span: Span },
    /// The default of `name`, by nothing.
    Default { name: String, span: Span },
    /// The literal, by the name of a variable elsewhere in the entry.
    Named { base: String, place: NamedPlace },
}

impl Candidate<'_> {
    /// Writes a reference as the host of the file reads it.
    pub(super) fn reference(&self, name: &str) -> String {
        let written = match self.way {
            Way::Variable(syntax) => syntax.write(name),
            Way::Input => Some(format!("${{input:{}}}", input_id(name))),
            Way::UserConfig => Some(format!("${{user_config.{}}}", input_id(name))),
            Way::Name => None,
        };
        written.unwrap_or_else(|| format!("${{{name}}}"))
    }

    /// Returns the name that the variable has to have.
    pub(super) fn fixed_name(&self) -> Option<&str> {
        match &self.target {
            Target::Default { name, .. } => Some(name),
            Target::Named {
                place: NamedPlace::Env(name),
                ..
            } => Some(name),
            Target::Named { .. } | Target::Literal { .. } => None,
        }
    }

    /// Returns what the file names instead of the literal.
    pub(super) fn named(&self, name: &str) -> Option<NamedCredential> {
        match &self.target {
            Target::Named { place, .. } => {
                Some(NamedCredential::new(&self.server.name, place.clone(), name))
            }
            _ => None,
        }
    }

    /// Says whether the name of one variable takes the place of both.
    pub(super) fn is_same_value(&self, other: &Self) -> bool {
        let by_name = |it: &Self| matches!(it.target, Target::Named { .. });
        by_name(self)
            && by_name(other)
            && std::ptr::eq(self.document, other.document)
            && self.literal.pointer == other.literal.pointer
    }

    /// Returns the replacement, once the name is known.
    pub(super) fn edit(&self, name: &str) -> Option<Edit> {
        let source = &self.document.source;
        match &self.target {
            Target::Named { .. } => None,
            Target::Default { span, .. } => Some(Edit::replace(source, *span, "")),
            Target::Literal { span, .. } => {
                let reference = self.reference(name);
                let string = source.slice(self.literal.string_span);
                let is_quoted = string.starts_with('"') && self.document.syntax.is_json();
                if is_quoted {
                    return Some(Edit::replace(source, *span, reference));
                }
                // A bare value has no quotes yet, and a scalar of YAML may not keep its own.
                let range = self.literal.finding.range.clone();
                let node = self.document.tree.at(&self.literal.pointer);
                let text = node.and_then(json::Node::as_str).unwrap_or_default();
                let before = text.get(..range.start).unwrap_or_default();
                let behind = text.get(range.end..).unwrap_or_default();
                let whole = json::quote(&format!("{before}{reference}{behind}"));
                Some(Edit::replace(source, self.literal.string_span, whole))
            }
        }
    }
}

/// The strings of a document in which variables are filled in, by where they stand.
pub(crate) type Fields<'a> = BTreeMap<Span, (&'a DeclaredServer, FieldRole<'a>, &'a Field)>;

/// Lists the strings of a document in which variables are filled in.
pub(crate) fn fields(document: &Document) -> Fields<'_> {
    let servers = document.servers();
    servers
        .flat_map(|server| {
            let fields = usage::fields(server).into_iter();
            fields.map(move |(role, field)| (field.span, (server, role, field)))
        })
        .collect()
}

/// Says whether a migration moves a literal, as far as the file alone tells.
pub(crate) fn is_movable(document: &Document, fields: &Fields<'_>, literal: &Literal) -> bool {
    // What is no field of an entry that is read stays; looked at first, for it is the cheap half.
    let is_field = fields.contains_key(&literal.string_span);
    is_field && !is_own(document) && judge(document, fields, literal, false).is_ok()
}

/// Says whether a file is a person's own or the machine's, where its host reads it.
///
/// A file of the same name elsewhere, such as in a repository, is a copy for others.
pub(super) fn is_own(document: &Document) -> bool {
    let Some(file) = document.file else {
        return false;
    };
    let is_same_name = |path: &str| path.rsplit('/').next() == Some(file.path);
    let mut places = document.dialect.files.iter();
    let is_elsewhere = places.any(|other| other.path != file.path && is_same_name(other.path));
    matches!(file.scope, FileScope::User | FileScope::System) && !is_elsewhere
}

/// Decides about one literal of a document.
///
/// `asks` says whether a plugin's manifest shall ask for the value.
pub(super) fn judge<'a>(
    document: &'a Document,
    fields: &Fields<'a>,
    literal: &Literal,
    asks: bool,
) -> Result<Candidate<'a>, Obstacle> {
    if let Wrapper::Foreign { host, .. } = &document.wrapper {
        return Err(Obstacle::Foreign(host));
    }
    if document.is_of_unknown_host() {
        return Err(Obstacle::UnknownHost);
    }
    if !is_changeable(document) {
        return Err(Obstacle::BadFile);
    }
    let Some(&(server, role, field)) = fields.get(&literal.string_span) else {
        return Err(if is_in_loaded_entry(document, literal) {
            Obstacle::NotExpanded
        } else {
            Obstacle::BadEntry
        });
    };
    let syntax = document.dialect.variables_in(role.place());
    let has_names = syntax.write("NAME").is_some();
    let (value, target, way) = if !has_names && syntax.has(VariableForm::UserConfig) {
        let (value, target) = of_literal(document, (server, role, field), literal)?;
        (value, target, Way::UserConfig)
    } else if !has_names {
        let (value, target) = of_name(document, (server, role, field), literal)?;
        (value, target, Way::Name)
    } else if literal.default_of.is_some() {
        let (value, target) = of_default(document, field, literal)?;
        (value, target, Way::Variable(syntax))
    } else {
        let (value, target) = of_literal(document, (server, role, field), literal)?;
        let way = match document.dialect.asks {
            Asks::Inputs if document.syntax.is_json() => Way::Input,
            Asks::UserConfig if asks => Way::UserConfig,
            _ => Way::Variable(syntax),
        };
        (value, target, way)
    };
    Ok(Candidate {
        document,
        server,
        literal: literal.clone(),
        value,
        target,
        way,
    })
}

/// A host that fills in nothing may still take the name of a variable for the whole value.
fn of_name(
    document: &Document,
    (server, role, field): (&DeclaredServer, FieldRole<'_>, &Field),
    literal: &Literal,
) -> Result<(Secret<String>, Target), Obstacle> {
    let dialect = document.dialect;
    let text = field.template.as_str();
    let range = literal.finding.range.clone();
    let before = text.get(..range.start).unwrap_or_default();
    let is_bearer = before == "Bearer " && range.end == text.len();
    let place = match role {
        FieldRole::Env(name) => NamedPlace::Env(name.to_owned()),
        FieldRole::Header(name) if is_bearer && name.eq_ignore_ascii_case("authorization") => {
            NamedPlace::Bearer(name.to_owned())
        }
        FieldRole::Header(name) => NamedPlace::Header(name.to_owned()),
        _ => return Err(Obstacle::NotReplaced(dialect)),
    };
    let key = place.field(dialect);
    let key = key.ok_or(Obstacle::NotReplaced(dialect))?;
    if document.syntax == Syntax::Yaml {
        return Err(Obstacle::ByHand(key));
    }
    // The variable holds the whole value, with the scheme or the address around the credential.
    let value = match place {
        NamedPlace::Bearer(_) => text.get(range).unwrap_or_default(),
        _ => text,
    };
    let value = Secret::new(value.to_owned());
    let target = match &place {
        // The process gets the variable under its own name, so there is no other.
        NamedPlace::Env(name) => Target::Named {
            base: name.clone(),
            place,
        },
        _ => Target::Named {
            base: base_name(server, literal, before),
            place,
        },
    };
    Ok((value, target))
}

fn is_in_loaded_entry(document: &Document, literal: &Literal) -> bool {
    let mut broken = document.entries.iter().filter(|e| e.server.is_err());
    !broken.any(|entry| {
        let below = literal
            .pointer
            .as_str()
            .strip_prefix(entry.pointer.as_str());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn of_default(
    document: &Document,
    field: &Field,
    literal: &Literal,
) -> Result<(Secret<String>, Target), Obstacle> {
    let range = &literal.finding.range;
    let mut variables = field.template.variables();
    let around = variables.find(|variable| {
        let default = &variable.default_range;
        default.start <= range.start && range.end <= default.end
    });
    let variable = around.ok_or(Obstacle::Mixed)?;
    let default = variable.default.clone().ok_or(Obstacle::Mixed)?;
    let start = variable.default_range.start.saturating_sub(":-".len());
    let span = field.span_of(&document.source, &(start..variable.default_range.end));
    let name = variable.name.clone();
    Ok((Secret::new(default), Target::Default { name, span }))
}

fn of_literal(
    document: &Document,
    (server, role, field): (&DeclaredServer, FieldRole<'_>, &Field),
    literal: &Literal,
) -> Result<(Secret<String>, Target), Obstacle> {
    let range = literal.finding.range.clone();
    let text = field.template.as_str();
    let is_inside = |part: &Part| {
        let whole = part.range();
        matches!(part, Part::Literal { .. }) && whole.start <= range.start && range.end <= whole.end
    };
    if literal.finding.reason == Reason::Default || !field.template.parts().iter().any(is_inside) {
        return Err(Obstacle::Mixed);
    }
    if text.get(..range.start).is_some_and(|t| t.ends_with('$')) {
        return Err(Obstacle::BehindDollar);
    }
    // `$${` in the file stands for `${`, which is what the variable has to hold.
    let written = Template::parse(text.get(range.clone()).unwrap_or_default());
    if !written.is_literal() {
        return Err(Obstacle::Mixed);
    }
    let mut value = Secret::new(written.literal_text());
    if role == FieldRole::Url {
        if is_in_host(text, range.start) {
            return Err(Obstacle::InHost);
        }
        value = decoded(&value)?;
    }
    let before = text.get(..range.start).unwrap_or_default();
    let base = base_name(server, literal, before);
    let is_bare = !document.source.slice(field.span).starts_with('"');
    let span = if is_bare {
        field.span
    } else {
        field.span_of(&document.source, &range)
    };
    Ok((value, Target::Literal { base, span }))
}

/// A variable in an address is encoded when it is filled in, so it holds what the text means.
fn decoded(written: &Secret<String>) -> Result<Secret<String>, Obstacle> {
    // A plus sign is a blank to some servers and itself to others.
    if written.expose().contains('+') {
        return Err(Obstacle::Encoded);
    }
    let text = percent_decode_str(written.expose()).decode_utf8();
    let text = text.map_err(|_| Obstacle::Encoded)?;
    Ok(Secret::new(text.into_owned()))
}

fn is_in_host(text: &str, at: usize) -> bool {
    let Some(start) = text.find("://").map(|found| found + 3) else {
        return false;
    };
    let rest = text.get(start..).unwrap_or_default();
    let end = start + rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = text.get(start..end).unwrap_or_default();
    let host = start + authority.rfind('@').map_or(0, |found| found + 1);
    (host..end).contains(&at)
}

pub(crate) fn base_name(server: &DeclaredServer, literal: &Literal, before: &str) -> String {
    let flag = before
        .strip_suffix('=')
        .filter(|flag| flag.starts_with('-'));
    let by_place = || match &literal.place {
        LiteralPlace::Header(name) | LiteralPlace::Variable(name) | LiteralPlace::Field(name) => {
            names::from_words(name)
        }
        LiteralPlace::Argument(name) => names::from_words(name.as_deref().or(flag)?),
        // A comment is never filled in, so nothing of it moves.
        LiteralPlace::Comment => None,
    };
    let suggested = literal.finding.suggested_variable.clone();
    let name = suggested.or_else(by_place);
    let word = match name.as_deref() {
        Some(name) if is_vague(name) => name,
        Some(name) if !PLACES.contains(&name) => return name.to_owned(),
        _ => "TOKEN",
    };
    let server = names::part(&server.name);
    let of_server = names::from_words(&format!("{server}_{word}")).filter(|name| !is_vague(name));
    of_server.unwrap_or_else(|| names::after_server(&server, word))
}

/// Names of places, which do not say what stands there.
const PLACES: &[&str] = &["ARGS", "AUTHORIZATION", "COMMAND", "COOKIE", "URL"];

/// Says whether a name does not tell one server's credential from another's: a shell may have it
/// for another service, whose credential this server would then get.
fn is_vague(name: &str) -> bool {
    name.split('_').all(|word| VAGUE_WORDS.contains(&word))
}

/// Words that no service has for itself.
#[rustfmt::skip]
const VAGUE_WORDS: &[&str] = &[
    "ACCESS", "ACCESSTOKEN", "API", "APIKEY", "APITOKEN", "AUTH", "AUTHTOKEN", "BEARER", "CLIENT",
    "CREDENTIAL", "CREDENTIALS", "JWT", "KEY", "MCP", "PASS", "PASSWORD", "PAT", "PRIVATE", "PWD",
    "REFRESH", "SECRET", "SESSION", "SIG", "SIGNATURE", "TOKEN", "X",
];
