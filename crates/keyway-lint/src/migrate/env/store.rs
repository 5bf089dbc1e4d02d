//! Where the values of literals are kept: the environment, or `.env`.

use keyway_secret::Secret;

use super::super::judge::Obstacle;
use super::super::names::Known;
use super::super::{EnvObstacle, PluginFiles, lines};
use super::EnvChange;

/// The text of `.env` as it grows.
pub(super) struct Store<'a> {
    around: &'a PluginFiles,
    text: Option<Secret<String>>,
    added: Vec<String>,
    is_needed: bool,
}

impl<'a> Store<'a> {
    pub(super) fn new(around: &'a PluginFiles) -> Self {
        Self {
            around,
            text: around.env.clone(),
            added: Vec::new(),
            is_needed: false,
        }
    }

    /// Makes sure that a value is kept; says whether `.env` keeps it.
    pub(super) fn keep(
        &mut self,
        name: &str,
        value: &Secret<String>,
        known: Known,
    ) -> Result<bool, Obstacle> {
        if known == Known::Environment {
            return Ok(false);
        }
        match self.around.env_obstacle {
            Some(EnvObstacle::Tracked) => return Err(Obstacle::EnvTracked),
            Some(EnvObstacle::Link) => return Err(Obstacle::EnvLink),
            Some(EnvObstacle::Home) => return Err(Obstacle::OwnFile),
            Some(EnvObstacle::HostFolder) => return Err(Obstacle::HostFolder),
            None => {}
        }
        if known == Known::Nowhere && !self.added.iter().any(|added| added == name) {
            let text = lines::with_assignment(self.text.as_ref(), (name, value));
            self.text = Some(text.ok_or(Obstacle::Unwritable)?);
            self.added.push(name.to_owned());
        }
        self.is_needed = true;
        Ok(true)
    }

    pub(super) fn change(self) -> Option<EnvChange> {
        let after = self.text.filter(|_| self.is_needed)?;
        Some(EnvChange {
            file: ".env".into(),
            before: self.around.env.clone(),
            after,
            added: self.added,
        })
    }
}
