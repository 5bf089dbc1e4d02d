//! How long a policy waits, and for how long it believes a list.

use std::time::Duration;

/// How long a call waits for a person to allow its tool; no answer is a no.
pub(crate) const TOOL_QUESTION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server may take for a page of its tools, where a policy needs them.
pub(crate) const TOOL_LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a list of tools counts, where a policy needs it: a server need not tell of changes.
pub(crate) const TOOL_LIST_AGE: Duration = Duration::from_secs(60);

/// How often the last use of tokens is stored.
pub(crate) const TOKEN_USE_INTERVAL: Duration = Duration::from_secs(60);
