//! One thing that was found out about a server, under one code.

use keyway_code::Code;
use keyway_secret::server_argument;

/// One thing that was found out about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The code used in every format.
    pub code: Code,
    /// What was found out, in one line; names variables, never values.
    pub message: String,
    /// The next command, or what to change.
    pub hint: String,
}

impl Finding {
    /// The server could be signed in to (rule 6 of the contract's security rules).
    #[must_use]
    pub fn prefer_oauth(server: &str) -> Self {
        Self {
            code: Code::PreferOauth,
            message: "it is reached with a fixed credential, and offers a sign-in by OAuth"
                .to_owned(),
            hint: format!("keyway migrate oauth {}", server_argument(server)),
        }
    }
}
