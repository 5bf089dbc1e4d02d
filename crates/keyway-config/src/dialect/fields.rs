//! What a field of an entry is, whatever a host calls it.

use crate::transport::Transport;

/// A field of a host's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostField {
    /// Its key.
    pub key: &'static str,
    /// What it is.
    pub role: HostFieldRole,
}

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostFieldRole {
    /// The word for the transport.
    Type,
    /// The address; the key may say the transport as well.
    Url(Option<Transport>),
    /// The program: a string, an array with its arguments, or an object with both.
    Command,
    /// Its arguments.
    Args,
    /// Its variables, with values.
    Env,
    /// Names of variables that it gets from the host's own environment or keyring.
    EnvNames,
    /// Its folder.
    Cwd,
    /// A file with more variables.
    EnvFile,
    /// Headers, with values.
    Headers,
    /// Headers, each with the name of the variable that holds its value.
    HeadersFromEnv,
    /// The name of the variable that holds a bearer token.
    BearerFromEnv,
    /// A bearer token.
    Bearer,
    /// A program that prints headers.
    Helper,
    /// An object that configures OAuth, or a switch.
    OAuth,
    /// One setting of OAuth, by the contract's name.
    OAuthMember(&'static str),
    /// An object whose own fields count as the entry's.
    Inner(&'static [HostField]),
    /// An object of what takes the place of other fields, by the name of a platform.
    PlatformOverrides,
    /// How long a call may take, in milliseconds.
    TimeoutMs,
    /// The same in seconds.
    TimeoutSeconds,
    /// Switches the entry off if true.
    Disabled,
    /// Switches the entry off if false.
    Enabled,
    /// The name, where entries stand in a list.
    Name,
    /// Read by the host; it changes nothing about how the server is reached.
    Other,
}

impl HostFieldRole {
    /// Says what the field is, for documentation.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Type => "transport",
            Self::Url(None | Some(Transport::Stdio)) => "address",
            Self::Url(Some(Transport::Http)) => "address, Streamable HTTP",
            Self::Url(Some(Transport::Sse)) => "address, HTTP with server-sent events",
            Self::Url(Some(Transport::Ws)) => "address, WebSocket",
            Self::Command => "program",
            Self::Args => "arguments",
            Self::Env => "variables of the process",
            Self::EnvNames => "names of variables that the process gets",
            Self::Cwd => "working folder",
            Self::EnvFile => "file with variables",
            Self::Headers => "headers",
            Self::HeadersFromEnv => "headers, each with the name of a variable",
            Self::BearerFromEnv => "name of the variable with a bearer token",
            Self::Bearer => "bearer token",
            Self::Helper => "program that prints headers",
            Self::OAuth => "settings of OAuth",
            Self::OAuthMember(_) => "setting of OAuth",
            Self::Inner(_) => "object with further fields",
            Self::PlatformOverrides => "other program, arguments or variables by platform",
            Self::TimeoutMs => "time limit in milliseconds",
            Self::TimeoutSeconds => "time limit in seconds",
            Self::Disabled | Self::Enabled => "switch",
            Self::Name => "name",
            Self::Other => "read by the host, without effect in Keyway",
        }
    }
}

/// Makes a field.
pub(super) const fn field(key: &'static str, role: HostFieldRole) -> HostField {
    HostField { key, role }
}

/// Makes a field that only the host reads.
pub(super) const fn other(key: &'static str) -> HostField {
    field(key, HostFieldRole::Other)
}
