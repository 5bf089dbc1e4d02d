//! Server entries in the notation of no host: what moves from one host's file to another's.
//!
//! ```text
//! Document ──of──▶ PortableServer ──write──▶ HostValue ──render / merge──▶ text of the target
//!                                    └─────▶ losses, each reported
//! ```
//!
//! A credential is a [`Slot`]: a name, never a value. Literal credentials come in as
//! [`FoundLiteral`]s, and a slot takes the place of each. What the target cannot say is a loss; an
//! entry that would not work without it is left out, and nothing is written instead.

mod entry;
mod layout;
mod naming;
mod text;
mod value;

use keyway_secret::Secret;

use crate::declared::{
    DeclaredServer, Endpoint, Field, Helper, HelperCommand, ITEM_KEYS, NamedField, OAuth,
    OAuthFields, Refresh,
};
use crate::dialect::{Dialect, HostFieldRole, Layout};
use crate::document::Document;
use crate::json::Object;
use crate::prompt::Prompt;
use crate::source::Span;
use crate::transport::Transport;

pub use self::entry::{Loss, WrittenEntry, write};
pub use self::layout::{MergeFault, merge, new_file, put, with_input, with_setting};
pub use self::naming::{NamedCredential, NamedPlace, with_names};
pub use self::text::{Piece, PortableText, Slot, SlotDefault, input_id};
pub use self::value::HostValue;

/// A literal credential that a scanner found in a field.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundLiteral {
    /// The string that it stands in.
    pub field: Span,
    /// The credential, as it is written there.
    pub value: Secret<String>,
    /// The variable that takes its place.
    pub variable: String,
}

impl FoundLiteral {
    /// Puts `variable` into the place of `value` in the string at `field`.
    #[must_use]
    pub fn new(field: Span, value: Secret<String>, variable: impl Into<String>) -> Self {
        Self {
            field,
            value,
            variable: variable.into(),
        }
    }
}

/// A server entry without notation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortableServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Whether it is switched off.
    pub is_disabled: bool,
    /// What is reached or started.
    pub endpoint: PortableEndpoint,
    /// Variables of the process, or of a remote server's helper.
    pub env: Vec<(String, PortableText)>,
    /// A file with more variables.
    pub env_file: Option<PortableText>,
    /// Milliseconds that a call may take.
    pub timeout_ms: Option<u64>,
    /// Keys of the entry that only its own host reads.
    pub host_keys: Vec<String>,
}

/// What is reached or started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PortableEndpoint {
    /// An address.
    Remote {
        /// The address.
        url: PortableText,
        /// Headers, in the order of the file.
        headers: Vec<(String, PortableText)>,
        /// A program that prints more of them.
        helper: Option<PortableHelper>,
        /// How OAuth is configured.
        oauth: PortableOAuth,
    },
    /// A program.
    Local {
        /// The program.
        command: PortableText,
        /// Its arguments.
        args: Vec<PortableText>,
        /// Its folder.
        cwd: Option<PortableText>,
    },
}

/// A program that prints headers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortableHelper {
    /// One line if it stands alone, else the program and its arguments.
    pub words: Vec<PortableText>,
    /// Whether it is an object with a list of words.
    pub is_list: bool,
    /// Whether it is run for every request.
    pub is_per_request: bool,
    /// Milliseconds that its output stays good.
    pub ttl_ms: Option<u64>,
    /// Milliseconds that it may take.
    pub timeout_ms: Option<u64>,
}

/// How OAuth is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PortableOAuth {
    /// As the server says.
    Automatic,
    /// Not at all.
    Off,
    /// By the contract's names.
    Configured {
        /// Members that are strings.
        strings: Vec<(String, PortableText)>,
        /// `scopes`.
        scopes: Vec<String>,
        /// `callbackPort`.
        callback_port: Option<u16>,
    },
}

impl PortableServer {
    /// Takes the notation off an entry of `document`.
    ///
    /// `literals` become slots, and so do variables whose name `is_secret` takes for a credential's.
    #[must_use]
    pub fn of(
        document: &Document,
        server: &DeclaredServer,
        literals: &[FoundLiteral],
        is_secret: &dyn Fn(&str) -> bool,
    ) -> Self {
        let reader = Reader {
            literals,
            is_secret,
            prompts: &document.prompts,
        };
        let object = document.tree.at(&server.pointer);
        let object = object.and_then(|node| node.as_object());
        let mut portable = Self {
            name: server.name.clone(),
            transport: server.transport,
            is_disabled: server.disabled,
            endpoint: reader.endpoint(&server.endpoint),
            env: reader.named(&server.env),
            env_file: server.env_file.as_ref().map(|field| reader.text(field)),
            timeout_ms: server.timeout_ms,
            host_keys: object.map_or_else(Vec::new, |it| host_keys(it, document.dialect)),
        };
        portable.drop_header_names();
        portable
    }

    /// Some hosts want the variables of headers named beside them; that says nothing by itself.
    fn drop_header_names(&mut self) {
        let PortableEndpoint::Remote { headers, .. } = &self.endpoint else {
            return;
        };
        let slots = headers.iter().flat_map(|(_, text)| text.slots());
        let names: Vec<&String> = slots.map(|slot| &slot.name).collect();
        self.env.retain(|(name, text)| {
            let is_itself = text.only_slot("").is_some_and(|slot| slot.name == *name);
            !(is_itself && names.contains(&name))
        });
    }

    /// Returns every text of the entry.
    pub fn texts(&self) -> Vec<&PortableText> {
        let mut texts: Vec<&PortableText> = self.env.iter().map(|(_, text)| text).collect();
        texts.extend(&self.env_file);
        match &self.endpoint {
            PortableEndpoint::Remote {
                url,
                headers,
                helper,
                oauth,
            } => {
                texts.push(url);
                texts.extend(headers.iter().map(|(_, text)| text));
                texts.extend(helper.iter().flat_map(|helper| &helper.words));
                if let PortableOAuth::Configured { strings, .. } = oauth {
                    texts.extend(strings.iter().map(|(_, text)| text));
                }
            }
            PortableEndpoint::Local { command, args, cwd } => {
                texts.push(command);
                texts.extend(args);
                texts.extend(cwd);
            }
        }
        texts
    }
}

struct Reader<'a> {
    literals: &'a [FoundLiteral],
    /// What the file itself says about the values that its host asks for.
    prompts: &'a [Prompt],
    is_secret: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn endpoint(&self, endpoint: &Endpoint) -> PortableEndpoint {
        match endpoint {
            Endpoint::Remote(remote) => PortableEndpoint::Remote {
                url: self.text(&remote.url),
                headers: self.named(&remote.headers),
                helper: remote.helper.as_ref().map(|helper| self.helper(helper)),
                oauth: match &remote.oauth {
                    OAuth::Automatic => PortableOAuth::Automatic,
                    OAuth::Off => PortableOAuth::Off,
                    OAuth::Configured(fields) => self.oauth(fields),
                },
            },
            Endpoint::Local(local) => PortableEndpoint::Local {
                command: self.text(&local.command),
                args: local.args.iter().map(|field| self.text(field)).collect(),
                cwd: local.cwd.as_ref().map(|field| self.text(field)),
            },
        }
    }

    fn helper(&self, helper: &Helper) -> PortableHelper {
        let (words, is_list) = match &helper.command {
            HelperCommand::Program(field) | HelperCommand::Shell(field) => {
                (vec![self.text(field)], false)
            }
            HelperCommand::Words(words) => {
                (words.iter().map(|field| self.text(field)).collect(), true)
            }
        };
        PortableHelper {
            words,
            is_list,
            is_per_request: helper.refresh == Refresh::Request,
            ttl_ms: helper.ttl_ms,
            timeout_ms: helper.timeout_ms,
        }
    }

    fn oauth(&self, fields: &OAuthFields) -> PortableOAuth {
        // A string of several scopes is read as one field.
        let words = fields.scopes.iter().flat_map(|scope| {
            let words = scope.template.as_str().split_whitespace();
            words.map(str::to_owned)
        });
        let mut scopes: Vec<String> = Vec::new();
        for word in words {
            if !scopes.contains(&word) {
                scopes.push(word);
            }
        }
        PortableOAuth::Configured {
            strings: self.named(&fields.strings),
            scopes,
            callback_port: fields.callback_port,
        }
    }

    fn named(&self, fields: &[NamedField]) -> Vec<(String, PortableText)> {
        let fields = fields.iter();
        fields
            .map(|field| (field.name.clone(), self.text(&field.value)))
            .collect()
    }

    fn text(&self, field: &Field) -> PortableText {
        let literals = self.literals.iter().filter(|it| it.field == field.span);
        let mut text = PortableText::of(&field.template, self.is_secret);
        text.describe(self.prompts);
        for literal in literals {
            text = text.with_slot(literal.value.expose(), &literal.variable);
        }
        text
    }
}

/// Returns the keys that say something to the entry's own host alone.
fn host_keys(object: &Object, dialect: &Dialect) -> Vec<String> {
    let members = object.members.iter();
    let unread = members.filter(|member| {
        let field = dialect.field(&member.key);
        // Of what other platforms have instead nothing is carried over.
        let is_of_host = |role| {
            matches!(
                role,
                HostFieldRole::Other | HostFieldRole::PlatformOverrides
            )
        };
        // The registry's items have a form of their own instead of fields.
        let is_of_item = dialect.layout == Layout::Registry && ITEM_KEYS.contains(&&*member.key);
        let is_read = is_of_item || field.is_some_and(|field| !is_of_host(field.role));
        !is_read && !NAMING_KEYS.contains(&member.key.as_str()) && !member.key.starts_with('_')
    });
    unread.map(|member| member.key.clone()).collect()
}

/// Keys whose meaning the name and the transport of an entry carry already.
const NAMING_KEYS: &[&str] = &[
    "type",
    "transport",
    "name",
    "command",
    "url",
    "args",
    "env",
    "headers",
];

#[cfg(test)]
mod tests;
