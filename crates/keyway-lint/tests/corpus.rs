//! Real configuration files from public repositories, with labels, kept outside the repository.
//!
//! They are read from `KEYWAY_CORPUS`, or else from `../shared/corpus` beside the checkout.
//! `cargo xtask test` runs these tests where the files are, and names them where they are not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its files has nothing better to do than to stop"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use keyway_code::Code;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::document::{Document, DocumentKind, Wrapper};
use keyway_config::method::Method;
use keyway_config::plugin::Plugin;
use keyway_config::source::Source;
use keyway_lint::{Context, lint};

#[test]
#[ignore = "needs KEYWAY_CORPUS"]
fn every_file_parses_or_is_reported_with_line_and_column() {
    let corpus = Corpus::find();
    let mut files = 0;
    for id in corpus.ids() {
        let plugin = corpus.plugin(&id);
        let document = &plugin.documents[0];
        if !document.is_usable() {
            let errors = findings(&plugin);
            let located = |d: &&Diagnostic| d.severity == Severity::Error && d.location.is_some();
            assert!(
                errors.iter().any(|d| located(&d)),
                "{id}: unusable without an error"
            );
        }
        files += 1;
    }
    assert!(files > 100, "only {files} files");
}

#[test]
#[ignore = "needs KEYWAY_CORPUS"]
fn transport_and_auth_class_are_what_a_person_found() {
    let corpus = Corpus::find();
    let mut wrong = Vec::new();
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lost = 0;
    for row in corpus.table("expected.tsv") {
        let (id, name) = (row["id"].as_str(), row["server"].as_str());
        let plugin = corpus.plugin(id);
        let document = &plugin.documents[0];
        let expected = (row["transport"].as_str(), row["auth_class"].as_str());
        let is_lost = matches!(document.wrapper, Wrapper::Foreign { .. } | Wrapper::Missing);
        let found = match row["wrapper"].as_str() {
            "-" => ("unparseable", ""),
            // The host of the file does not find them either; a rule says so.
            _ if is_lost => {
                lost += 1;
                continue;
            }
            _ => classify(document, name),
        };
        *hosts.entry(document.dialect.id).or_default() += 1;
        if found != expected && !BY_HOST.contains(&(id, name)) {
            let host = document.dialect.id;
            wrong.push(format!(
                "{id} {host} {name}: {found:?}, expected {expected:?}"
            ));
        }
    }
    println!("{hosts:?}, {lost} under the key of another host");
    assert!(hosts.len() >= 5, "{hosts:?}");
    assert!(lost <= 12, "{lost}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs KEYWAY_CORPUS"]
fn literal_secrets_are_found_with_at_most_one_miss_and_one_false_alarm() {
    let corpus = Corpus::find();
    let rows = corpus.table("labels.tsv");
    let (mut missed, mut false_alarms, mut secrets) = (Vec::new(), Vec::new(), 0);
    let mut reported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &rows {
        let (id, pointer) = (row["id"].clone(), &row["json_pointer"]);
        let found = reported.entry(id.clone()).or_insert_with(|| {
            let found = findings(&corpus.plugin(&id)).into_iter();
            let secret =
                found.filter(|d| matches!(d.code, Code::LiteralSecret | Code::LiteralDefault));
            secret
                .filter_map(|d| Some(d.location?.pointer.as_str().to_owned()))
                .collect()
        });
        let place = format!("{id} {pointer}");
        match (row["label"].as_str(), found.contains(pointer)) {
            ("secret" | "varref-literal-default", hit) => {
                secrets += 1;
                if !hit {
                    missed.push(place);
                }
            }
            ("placeholder" | "varref" | "nonsecret", true) => false_alarms.push(place),
            _ => {}
        }
    }
    println!(
        "{secrets} secrets, {} missed, {} false alarms",
        missed.len(),
        false_alarms.len()
    );
    assert!(secrets >= 20);
    assert!(missed.len() <= 1, "missed: {missed:?}");
    assert!(false_alarms.len() <= 1, "false alarms: {false_alarms:?}");
}

/// Entries that their host reads differently from the person who looked at the text alone: opencode
/// does not read `env`, and `httpUrl` of Gemini CLI says the transport.
const BY_HOST: &[(&str, &str)] = &[("081", "autoinfo"), ("529", "example")];

/// The transport and auth class of an entry in the words of `expected.tsv`.
fn classify(document: &Document, name: &str) -> (&'static str, &'static str) {
    let Some(entry) = document.entries.iter().find(|entry| entry.name == name) else {
        return if document.entries.is_empty() {
            ("empty", "")
        } else {
            ("absent", "")
        };
    };
    use keyway_config::declared::{EntryFault, Transport, TypeOrigin};
    let server = match &entry.server {
        Ok(server) => server,
        Err(faults) if faults.contains(&EntryFault::NoEndpoint) => return ("unknown", "none"),
        Err(faults) if matches!(faults[..], [EntryFault::NotAnObject { .. }]) => {
            return ("not-an-object", "");
        }
        Err(_) => return ("skipped", ""),
    };
    let transport = match (server.transport, server.type_origin) {
        (_, TypeOrigin::FromUrl) => "http-inferred",
        (Transport::Stdio, _) => "stdio",
        (Transport::Http, _) => "http",
        (Transport::Sse, _) => "sse",
        _ => "ws",
    };
    let class = match Method::declared(server) {
        Method::OAuth => "none-or-oauth",
        Method::Static => "static-headers",
        Method::Environment => "env",
        Method::None => "none",
        _ => "dynamic",
    };
    (transport, class)
}

fn findings(plugin: &Plugin) -> Vec<Diagnostic> {
    lint(&Context::new(plugin))
}

struct Corpus(PathBuf);

impl Corpus {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests are told where the files are"
    )]
    fn find() -> Self {
        let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
        Self(std::env::var_os("KEYWAY_CORPUS").map_or(beside, PathBuf::from))
    }

    fn ids(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let json = files.filter(|path| path.extension().is_some_and(|e| e == "json"));
        json.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    /// Reads a file as if it lay where it was found, which says whose it is.
    fn plugin(&self, id: &str) -> Plugin {
        let bytes = std::fs::read(self.0.join(format!("{id}.json"))).unwrap();
        let index = self.table("index.tsv");
        let row = index.iter().find(|row| row["id"] == id);
        let name = row.map_or_else(|| format!("{id}.json"), |row| row["path"].clone());
        let document = Document::parse(Source::new(&name, &bytes), DocumentKind::Entries);
        Plugin::new(self.0.clone(), vec![document])
    }

    fn table(&self, name: &str) -> Vec<BTreeMap<String, String>> {
        let text = std::fs::read_to_string(self.0.join(name)).unwrap();
        let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned));
        let header: Vec<String> = lines.next().unwrap().collect();
        lines
            .map(|row| header.iter().cloned().zip(row).collect())
            .collect()
    }
}
