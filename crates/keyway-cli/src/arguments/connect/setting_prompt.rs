//! Asks for the values that a file says to ask for, once, and keeps them sealed.
//!
//! An editor does the same for `inputs`, a host of plugins for `userConfig`. Without a terminal
//! nothing is asked: the entry then does not resolve, and says which variable is missing.

use std::io::{self, IsTerminal as _};

use keyway::Plugin;
use keyway::variables::KeptVariables;
use keyway_config::prompt::{AnsweredBy, Prompt};
use keyway_config::usage;
use keyway_secret::{Clock as _, SystemClock, printable};

use crate::error::CliError;
use crate::vault::open_vault;

/// Asks for what an entry needs and does not have.
pub(crate) fn ask_for_settings(plugin: &Plugin, server: &str) -> Result<(), CliError> {
    let Ok((_, entry)) = plugin.entry(Some(server)) else {
        return Ok(());
    };
    let names = usage::names(entry);
    let loaded = plugin.loaded();
    let prompts = loaded.plugin.prompts();
    let needed: Vec<&Prompt> = prompts
        .filter(|prompt| {
            prompt.answered_by == AnsweredBy::Person && names.contains(&prompt.variable.as_str())
        })
        .collect();
    if needed.is_empty() || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    let variables = plugin.host().variable_scope(loaded)?;
    let scope = entry.scope(&variables.scope());
    let missing = needed
        .into_iter()
        .filter(|prompt| !scope.is_set(&prompt.variable));
    for prompt in missing {
        let Some(value) = keyway_terminal::ask(&question(prompt))? else {
            return Ok(());
        };
        if value.expose().is_empty() {
            continue;
        }
        let name = variables.kept_name(&prompt.variable);
        let vault = open_vault()?;
        let now = SystemClock.wall();
        KeptVariables::new(&vault)?.set(&name, &value, now)?;
    }
    Ok(())
}

fn question(prompt: &Prompt) -> String {
    let what = prompt.description.as_deref().unwrap_or(&prompt.key);
    let mut text = format!("{} ({})", printable(what), printable(&prompt.key));
    if !prompt.choices.is_empty() {
        let choices: Vec<String> = prompt.choices.iter().map(|it| printable(it)).collect();
        text.push_str(&format!(", one of {}", choices.join(", ")));
    }
    if !prompt.is_required {
        text.push_str(", may be empty");
    }
    text.push_str(": ");
    text
}
