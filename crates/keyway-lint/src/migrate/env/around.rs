//! What changes beside the configuration, and what a person has to do themselves.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::edit::TextChange;
use keyway_config::plugin::Plugin;

use super::super::{EnvObstacle, PluginFiles, Selection, lines, note};
use super::EnvPlan;
use crate::readme;

/// Plans `.env.example` and `.gitignore`, and names `.env` as a person would.
pub(super) fn plan_env_files(plugin: &Plugin, around: &PluginFiles, plan: &mut EnvPlan) {
    // Nothing of ours belongs there; the values are in the person's environment.
    if matches!(
        around.env_obstacle,
        Some(EnvObstacle::Home | EnvObstacle::HostFolder)
    ) {
        return;
    }
    let mut examples: Vec<(String, String)> = Vec::new();
    for moved in &plan.moves {
        let purpose = format!("{}: {}", moved.server, moved.place);
        match examples
            .iter_mut()
            .find(|(name, _)| *name == moved.variable)
        {
            Some((_, known)) if known.contains(&purpose) => {}
            Some((_, known)) => known.push_str(&format!("; {purpose}")),
            None => examples.push((moved.variable.clone(), purpose)),
        }
    }
    let example = around.example.as_deref();
    plan.example = lines::with_examples(example, &examples)
        .map(|after| TextChange::new(plugin.shown(".env.example"), around.example.clone(), after));
    plan.ignore = (!around.env_is_ignored).then(|| {
        let after = lines::append(around.ignore.as_deref(), &[".env".to_owned()]);
        TextChange::new(plugin.shown(".gitignore"), around.ignore.clone(), after)
    });
    if let Some(env) = &mut plan.env {
        env.file = plugin.shown(".env").into();
    }
}

/// Brings the README up to date with the documents as they would be.
pub(super) fn plan_readme(plugin: &Plugin, changed: Vec<Document>, plan: &mut EnvPlan) {
    let mut after = plugin.clone();
    for document in changed {
        let mut others = after.documents.iter_mut();
        let place = others.find(|other| other.source.path() == document.source.path());
        if let Some(place) = place {
            *place = document;
        }
    }
    match readme::update(&after) {
        Ok(change) => plan.readme = change,
        Err(fault) => {
            let file = plugin
                .snapshot
                .readme
                .as_ref()
                .map_or("README", |readme| readme.path());
            plan.diagnostics.push(note(
                Code::ReadmeLeftAlone,
                Severity::Warning,
                format!("`{file}` is left as it is: {fault}"),
                "`keyway readme` prints the section to paste",
            ));
        }
    }
}

/// Says what moving a token does not do: make it secret again.
pub(super) fn add_advice(scope: &Selection<'_>, around: &PluginFiles, plan: &mut EnvPlan) {
    for document in scope.documents() {
        let file = document.source.shared_path();
        let mut names: Vec<String> = Vec::new();
        for moved in plan.moves.iter().filter(|moved| moved.file == file) {
            let name = format!("`{}`", moved.variable);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            continue;
        }
        let (names, seen) = (names.join(", "), around.tracked.contains(&file));
        let place = if seen {
            "which is in version control: everyone with its history has the value"
        } else {
            "where others may have read it"
        };
        plan.diagnostics.push(note(
            Code::RotateToken,
            Severity::Warning,
            format!("the value of {names} was written down in `{file}`, {place}"),
            "get a new one from the issuer, replace the old one with it, and revoke the old one",
        ));
        if document.faults().next().is_some() {
            plan.diagnostics.push(note(
                Code::InvalidJson,
                Severity::Warning,
                format!("`{file}` is not strict JSON; only the literals are replaced"),
                "`keyway check` says what is wrong",
            ));
        }
    }
    for source in &scope.plugin.snapshot.prose {
        let mut moves = plan.moves.iter();
        let found = moves.find(|moved| source.text().contains(moved.value.expose()));
        if let Some(moved) = found {
            let (file, name) = (source.path(), &moved.variable);
            plan.diagnostics.push(note(
                Code::SecretInDocs,
                Severity::Warning,
                format!("`{file}` still holds the value of `{name}`"),
                "remove it there by hand",
            ));
        }
    }
}
