//! A program in a client's file that Keyway can start in the client's place.

use keyway_config::declared::{DeclaredServer, Endpoint, Field};
use keyway_secret::Secret;

use super::native::in_our_words;

/// A program with its arguments and variables, in the words of our own entries.
///
/// Its texts may hold credentials.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LocalProgram {
    pub(super) command: Secret<String>,
    pub(super) args: Vec<Secret<String>>,
    pub(super) env: Vec<(String, Secret<String>)>,
    pub(super) cwd: Option<Secret<String>>,
}

impl LocalProgram {
    /// Reads what an entry starts, as its host reads it; `None` if it starts nothing, or refers to
    /// what only its host knows.
    #[must_use]
    pub fn of(server: &DeclaredServer) -> Option<Self> {
        let Endpoint::Local(local) = &server.endpoint else {
            return None;
        };
        let text = |field: &Field| in_our_words(&field.template).map(Secret::new);
        let env = server.env.iter();
        Some(Self {
            command: text(&local.command)?,
            args: local.args.iter().map(text).collect::<Option<_>>()?,
            env: env
                .map(|it| Some((it.name.clone(), text(&it.value)?)))
                .collect::<Option<_>>()?,
            cwd: match &local.cwd {
                Some(cwd) => Some(text(cwd)?),
                None => None,
            },
        })
    }
}
