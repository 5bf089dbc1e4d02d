//! What a migration changes, in words and as a diff; names of variables, never a value.

use keyway_config::edit::TextChange;
use keyway_lint::migrate::env::EnvPlan;
use keyway_lint::migrate::oauth::OAuthPlan;
use keyway_secret::printable;

use crate::changes::Changes;
use crate::diff::{TextKind, render_added, render_text_change};
use crate::report::counted;

/// A migration of literals to variables, for people and for scripts.
#[derive(Debug, Clone, Copy)]
pub struct EnvReport<'a> {
    plan: &'a EnvPlan,
}

impl<'a> EnvReport<'a> {
    /// Reports on a plan.
    #[must_use]
    pub const fn of(plan: &'a EnvPlan) -> Self {
        Self { plan }
    }

    /// Returns the files and variables, for scripts.
    #[must_use]
    pub fn changes(&self) -> Changes<'a> {
        let plan = self.plan;
        let mut changes = Changes::new(plan.diagnostics.clone()).files(&plan.ignore);
        let env = plan.env.as_ref().filter(|env| !env.added.is_empty());
        if let Some(env) = env {
            changes = changes.file(&env.file, env.before.is_some());
        }
        changes = changes.files(&plan.example).files(&plan.readme);
        changes = changes.files(&plan.documents);
        for moved in &plan.moves {
            changes = changes.variable(&moved.variable, &moved.server, &moved.pointer);
        }
        changes
    }

    /// Shows every file in the order in which it would be written.
    #[must_use]
    pub fn diff(&self) -> String {
        let plan = self.plan;
        let mut text = String::new();
        if let Some(change) = &plan.ignore {
            text.push_str(&appended(change));
        }
        if let Some(env) = plan.env.as_ref().filter(|env| !env.added.is_empty()) {
            let lines = env.added.iter().map(|name| format!("{name}=…"));
            let lines: Vec<String> = lines.collect();
            text.push_str(&render_added(&env.file, env.before.is_some(), &lines));
        }
        if let Some(change) = &plan.example {
            text.push_str(&appended(change));
        }
        if let Some(change) = &plan.readme {
            text.push_str(&render_text_change(change, TextKind::Prose));
        }
        for change in &plan.documents {
            text.push_str(&render_text_change(change, TextKind::Document));
        }
        text
    }

    /// Says what a person has to do so that the host gets the values.
    #[must_use]
    pub fn exports(&self) -> String {
        let plan = self.plan;
        let mut lines = String::new();
        for name in plan.variables() {
            let mut moves = plan.moves.iter();
            let is_set = moves.any(|moved| moved.variable == name && moved.asked_as.is_none());
            if is_set {
                lines.push_str(&format!("export {name}=…\n"));
            }
        }
        if !lines.is_empty() {
            lines = format!("\nto be set in the shell that starts the client:\n\n{lines}");
        }
        let mut asked: Vec<&str> = Vec::new();
        for moved in plan.moves.iter().filter(|moved| moved.asked_as.is_some()) {
            if !asked.contains(&moved.variable.as_str()) {
                asked.push(&moved.variable);
            }
        }
        if !asked.is_empty() {
            let names = asked.join(", ");
            lines.push_str(&format!("\nthe host asks for these from now on: {names}\n"));
        }
        lines
    }

    /// Says how much was moved, or would be.
    #[must_use]
    pub fn summary(&self, is_written: bool) -> String {
        let plan = self.plan;
        if plan.is_empty() {
            let is_clean = plan.diagnostics.is_empty();
            let text = if is_clean {
                "nothing to do\n"
            } else {
                "nothing was moved\n"
            };
            return text.to_owned();
        }
        let literals = counted(plan.moves.len(), "literal");
        let variables = counted(plan.variables().len(), "variable");
        if !is_written {
            return format!("would move {literals} to {variables}; `--write` does it\n");
        }
        let mut text = format!("moved {literals} to {variables}\n");
        let is_read_from_shell = plan.moves.iter().any(|moved| moved.asked_as.is_none());
        if let Some(env) = plan.env.as_ref().filter(|_| is_read_from_shell) {
            let file = if env.file.starts_with('/') {
                env.file.to_string()
            } else {
                format!("./{}", env.file)
            };
            text.push_str(&format!(
                "`set -a; . {file}; set +a` loads the values into the shell\n"
            ));
        }
        text
    }
}

/// Says what a migration to OAuth removed, or would remove.
#[must_use]
pub fn oauth_summary(plan: &OAuthPlan, is_written: bool) -> String {
    if plan.documents.is_empty() {
        return "nothing to do\n".to_owned();
    }
    let removed = if plan.removed.is_empty() {
        "nothing but the `type` that was missing".to_owned()
    } else {
        plan.removed.join(", ")
    };
    let verb = match (is_written, plan.removed.is_empty()) {
        (true, false) => "removed",
        (true, true) => "changed",
        (false, false) => "would remove",
        (false, true) => "would change",
    };
    let mut text = format!("{verb} {}\n", printable(&removed));
    if !plan.unneeded.is_empty() {
        let names: Vec<String> = plan.unneeded.iter().map(|n| format!("`{n}`")).collect();
        text.push_str(&format!("no longer needed: {}\n", names.join(", ")));
    }
    if !is_written {
        text.push_str("`--write` does it\n");
    }
    text
}

/// Shows the lines behind the end of a file.
fn appended(change: &TextChange) -> String {
    let before = change.before.as_deref().unwrap_or_default();
    let added = change.after.get(before.len()..).unwrap_or_default();
    let lines = added.lines().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    render_added(&change.file, change.before.is_some(), &lines)
}
