//! Why a call is refused, in a word for programs and in words for people.

use keyway_secret::printable;

use crate::timeouts::TOOL_QUESTION_TIMEOUT;

/// Why a call is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denial {
    Rule,
    New,
    Changed,
    Unlisted,
    ListedTwice,
    ListFailed,
    Unreadable,
    AnsweredNo,
    Unanswered,
    TooMany,
}

impl Denial {
    /// Returns the word that programs go by.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "denied",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Unlisted => "unlisted",
            Self::ListedTwice => "listed-twice",
            Self::ListFailed => "not-listed",
            Self::Unreadable => "unreadable",
            Self::AnsweredNo => "answered-no",
            Self::Unanswered => "unanswered",
            Self::TooMany => "too-many",
        }
    }

    /// Words a refusal for the client, and says who can change it.
    pub(crate) fn words(self, tool: &str, server: &str, client: Option<&str>) -> String {
        let tool: String = printable(tool).chars().take(LONGEST_NAME).collect();
        let server = printable(server);
        let what = match self {
            Self::Rule => match client {
                Some(client) => format!("is denied to `{}` by a policy", printable(client)),
                None => "is denied by a policy".to_owned(),
            },
            Self::New => "is new since the server's tools were looked at, so it is denied".into(),
            Self::Changed => "has changed since it was looked at, so it is denied".to_owned(),
            Self::Unlisted => {
                "is not listed by the server, so its policy does not allow it".to_owned()
            }
            Self::ListedTwice => "is listed twice by the server, so it is denied".to_owned(),
            Self::ListFailed => {
                "is denied: the server did not list its tools, which its policy needs".to_owned()
            }
            Self::Unreadable => "is denied: the call does not name one tool".to_owned(),
            Self::AnsweredNo => "was not allowed by the person who was asked".to_owned(),
            Self::Unanswered => {
                let seconds = TOOL_QUESTION_TIMEOUT.as_secs();
                format!("was not allowed: there was no answer within {seconds} seconds")
            }
            Self::TooMany => "is denied: too many calls wait for an answer".to_owned(),
        };
        let who = match self {
            Self::New | Self::Changed => {
                "the person who runs Keyway can look at it on the dashboard (`keyway open`)"
            }
            Self::AnsweredNo | Self::Unanswered | Self::TooMany => {
                "the person who runs Keyway can answer on the dashboard (`keyway open`)"
            }
            Self::Unlisted | Self::ListedTwice | Self::ListFailed | Self::Unreadable => {
                "the client can list the tools again, and the owner of the server can correct its list"
            }
            Self::Rule => {
                "the person who runs Keyway can change it on the dashboard (`keyway open`) or in \
                 `config.toml`"
            }
        };
        format!("tool `{tool}` of `{server}` {what}; {who}")
    }
}

/// How much of a tool's name is repeated.
const LONGEST_NAME: usize = 120;
