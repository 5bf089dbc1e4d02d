//! Names on the bus (Secret Service API specification).

pub(crate) const DESTINATION: &str = "org.freedesktop.secrets";
pub(crate) const SERVICE_PATH: &str = "/org/freedesktop/secrets";
pub(crate) const SERVICE: &str = "org.freedesktop.Secret.Service";
pub(crate) const COLLECTION: &str = "org.freedesktop.Secret.Collection";
pub(crate) const ITEM: &str = "org.freedesktop.Secret.Item";
pub(crate) const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
pub(crate) const PROMPT: &str = "org.freedesktop.Secret.Prompt";
