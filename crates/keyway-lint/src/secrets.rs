//! Whether a string in a configuration file is a literal credential.
//!
//! The position decides first: the name of the header, variable or flag that holds the string, the
//! structure of a URL, connection string or JSON text. Only then are vendors' token shapes asked,
//! to name the vendor and to find what stands in an unsuspicious place. Nothing here keeps, copies
//! into its answer or prints a credential: a [`Finding`] has positions only.

mod address;
mod appearance;
mod argument;
mod encoded;
mod example_login;
mod judge;
mod limits;
mod literal;
mod name;
mod pairs;
mod placeholder;
mod reference;
mod structure;
mod vendor;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use judge::{Hit, Scrutiny};
use literal::NamedPlace;

pub(crate) use appearance::is_path;
pub(crate) use argument::takes_attached_password;
pub(crate) use name::{goes_on, names_header};
pub use name::{is_credential_name, is_credential_parameter};
pub use placeholder::is_placeholder;
pub use reference::is_reference;
pub use vendor::{Vendor, vendors};

/// Returns the vendor whose credential a variable of this name holds.
///
/// That is the one whose own tools read it, or the one that is named in it.
#[must_use]
pub fn vendor_of_variable(name: &str) -> Option<&'static Vendor> {
    if let Some(vendor) = vendor::by_variable(name) {
        return Some(vendor);
    }
    if !is_credential_name(name) {
        return None;
    }
    let words = format!("_{}_", name.to_ascii_uppercase());
    let named = vendors().iter().filter(|vendor| {
        let word = vendor.id.to_ascii_uppercase().replace('-', "_");
        vendor.id.len() > 2 && words.contains(&format!("_{word}_"))
    });
    named.max_by_key(|vendor| vendor.id.len())
}

/// Where a string stands in an entry; decides how suspicious it is by itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Position<'a> {
    /// The value of a header.
    Header {
        /// The header's name, in any case.
        name: &'a str,
    },
    /// The value of a variable, or of a named field outside the known positions.
    Env {
        /// The variable's name.
        name: &'a str,
    },
    /// One argument of a command.
    Argument {
        /// All arguments, so that the flag before the value can be seen.
        args: &'a [&'a str],
        /// Which of them the value is.
        index: usize,
    },
    /// A command, possibly with its arguments in the same string.
    Command,
    /// The address of a server.
    Url,
    /// A field of an `oauth` object.
    OAuthField {
        /// The field's name, such as `clientSecret`.
        name: &'a str,
    },
    /// A line of documentation or of a script: only vendors' shapes and clear assignments count.
    Prose,
}

/// A literal credential. Holds where it is, never what it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The bytes of the credential inside the value, at character boundaries.
    pub range: Range<usize>,
    /// The vendor that issued it, where its shape or its field says so.
    pub vendor: Option<&'static Vendor>,
    /// What gave it away.
    pub reason: Reason,
    /// A usual name for an environment variable to hold it.
    pub suggested_variable: Option<String>,
    /// Whether the vendor's checksum fits; `None` where the shape has none. A token that does not
    /// fit was mistyped or made up, and is reported all the same.
    pub checksum: Option<bool>,
}

/// What gave a credential away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The name of a header.
    Header,
    /// The name of a variable or field.
    EnvName,
    /// The flag before it, or its place on a command line.
    Flag,
    /// A `NAME=value` inside a larger text.
    Assignment,
    /// A password in a connection string.
    ConnectionString,
    /// A key of a JSON object written into a string.
    JsonArgument,
    /// A query field of a URL.
    UrlQuery,
    /// The user info of a URL.
    UrlUserInfo,
    /// A part of the path of a URL.
    UrlPath,
    /// The default of a variable reference, as in `${X:-literal}`.
    Default,
    /// The name of an `oauth` field.
    OAuthField,
    /// Only the shape of the token itself.
    VendorShape,
}

/// Finds the literal credentials in `value`, from left to right, without overlap.
///
/// Placeholders, references, paths, public identifiers and example logins are not credentials.
#[must_use]
pub fn find(value: &str, position: Position<'_>) -> Vec<Finding> {
    if value.is_empty() {
        return Vec::new();
    }
    let hits = without_overlap(into_defaults(value, hits_at(value, position)));
    let mut findings: Vec<Finding> = hits.iter().map(Finding::of_hit).collect();
    add_vendors(value, position, &mut findings);
    findings.sort_by_key(|finding| finding.range.start);
    findings
}

impl Finding {
    fn of_hit(hit: &Hit) -> Self {
        let suggested_variable = hit.name.as_deref().and_then(name::variable_for);
        Self {
            range: hit.range.clone(),
            vendor: suggested_variable.as_deref().and_then(vendor::by_variable),
            reason: hit.reason,
            suggested_variable,
            checksum: None,
        }
    }

    fn of_shape(range: Range<usize>, vendor: &'static Vendor) -> Self {
        Self {
            range,
            vendor: Some(vendor),
            reason: Reason::VendorShape,
            suggested_variable: variable_of(vendor),
            checksum: None,
        }
    }
}

fn hits_at(value: &str, position: Position<'_>) -> Vec<Hit> {
    let (field, reason) = match position {
        Position::Header { name } => (name, Reason::Header),
        Position::Env { name } => (name, Reason::EnvName),
        Position::OAuthField { name } => (name, Reason::OAuthField),
        Position::Argument { args, index } => return argument::hits(value, args, index),
        Position::Command => {
            let mut hits = structure::scan(value, Scrutiny::Normal);
            hits.extend(argument::command_line(value));
            return hits;
        }
        Position::Url => return structure::scan(value, Scrutiny::Normal),
        Position::Prose => return structure::scan(value, Scrutiny::Strict),
    };
    let mut hits = Vec::new();
    if let Some(promise) = name::classify(field) {
        let place = NamedPlace {
            promise,
            name: Some(field),
        };
        judge::judge(value, 0..value.len(), place, reason, &mut hits);
    }
    if hits.is_empty() && field.to_ascii_lowercase().contains("cookie") {
        pairs::cookies(value, &mut hits);
    }
    if hits.is_empty() {
        hits = structure::scan(value, Scrutiny::Normal);
    }
    hits
}

/// A hit inside the default of a reference is the default itself.
fn into_defaults(value: &str, mut hits: Vec<Hit>) -> Vec<Hit> {
    if !value.contains("${") {
        return hits;
    }
    let defaults: Vec<_> = reference::spans(value)
        .into_iter()
        .filter_map(|s| s.default)
        .collect();
    for hit in &mut hits {
        let index = defaults.partition_point(|default| default.end <= hit.range.start);
        let around = defaults.get(index);
        if let Some(default) = around.filter(|d| vendor::overlaps(d, &hit.range)) {
            hit.range = default.clone();
            hit.reason = Reason::Default;
        }
    }
    hits
}

/// Of overlapping hits the first in the list stays: scanners are ordered by how much they know.
fn without_overlap(hits: Vec<Hit>) -> Vec<Hit> {
    let mut kept: Vec<Hit> = Vec::new();
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for hit in hits {
        // What was taken does not overlap, so only the nearest can be in the way.
        let nearest = taken.range(..hit.range.end).next_back();
        if nearest.is_none_or(|(_, &end)| end <= hit.range.start) {
            taken.insert(hit.range.start, hit.range.end);
            kept.push(hit);
        }
    }
    kept
}

/// Names the vendors of what was found, drops public identifiers, adds what only its shape shows.
fn add_vendors(value: &str, position: Position<'_>, findings: &mut Vec<Finding>) {
    let own_name = matches!(position, Position::Env { .. });
    findings.sort_by_key(|finding| finding.range.start);
    // What is added below has another match's range, and no match overlaps the next.
    let mut sorted = findings.len();
    for hit in vendor::matches(value) {
        let checksum = hit
            .shape
            .checksum
            .and_then(|fits| value.get(hit.range.clone()).map(fits));
        let before = findings.get(..sorted).unwrap_or_default();
        let index = before.partition_point(|f| f.range.end <= hit.range.start);
        let known = before
            .get(index)
            .filter(|f| vendor::overlaps(&f.range, &hit.range))
            .map(|_| index);
        match known {
            Some(index) if hit.shape.public => {
                findings.remove(index);
                sorted -= 1;
            }
            Some(index) => {
                let Some(finding) = findings.get_mut(index) else {
                    continue;
                };
                if !hit.shape.shared || finding.vendor.is_none() {
                    finding.vendor = Some(hit.vendor);
                }
                if !own_name || finding.suggested_variable.is_none() {
                    let usual = finding.vendor.and_then(variable_of);
                    finding.suggested_variable = usual.or(finding.suggested_variable.take());
                }
                finding.checksum = checksum;
            }
            None if hit.shape.public => {}
            None => {
                let mut finding = Finding::of_shape(hit.range, hit.vendor);
                finding.checksum = checksum;
                findings.push(finding);
            }
        }
    }
    if let Some((range, vendor)) = vendor::private_key(value) {
        findings.retain(|finding| !vendor::overlaps(&finding.range, &range));
        findings.push(Finding::of_shape(range, vendor));
    }
}

fn variable_of(vendor: &'static Vendor) -> Option<String> {
    (!vendor.variable.is_empty()).then(|| vendor.variable.to_owned())
}
