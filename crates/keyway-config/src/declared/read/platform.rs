//! Fields that an entry has otherwise on one platform.

use super::{EntryReader, Role};
use crate::json::{Object, Value};
use crate::source::Pointer;

impl EntryReader<'_> {
    /// Reads a field where the entry has it for this platform, or else where it usually stands.
    pub(super) fn on_platform<T>(
        &mut self,
        role: Role,
        read: impl FnOnce(&mut EntryReader<'_>) -> T,
    ) -> T {
        let Some((object, pointer)) = self.overrides() else {
            return read(self);
        };
        let own = self.dialect.key(role).and_then(|key| object.get(key));
        // An empty program is none, while empty arguments and variables are.
        match own.filter(|own| own.value.as_str() != Some("")) {
            Some(_) => self.below(object, &pointer, read),
            None => read(self),
        }
    }
}

impl<'a> EntryReader<'a> {
    /// Returns what the entry has for this platform alone, and where that stands.
    fn overrides(&self) -> Option<(&'a Object, Pointer)> {
        let key = self.key(Role::PlatformOverrides)?;
        let Value::Object(platforms) = &self.object.get(key)?.value.value else {
            return None;
        };
        let platform = platform(std::env::consts::OS);
        let object = platforms.get(platform)?.value.as_object()?;
        Some((object, self.pointer.child(key).child(platform)))
    }
}

/// Returns the name by which manifests know a platform, which is that of Node.
fn platform(os: &'static str) -> &'static str {
    match os {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::{DeclaredServer, Endpoint};
    use crate::document::{Document, DocumentKind};
    use crate::source::Source;

    fn server(config: &str) -> DeclaredServer {
        let text = format!(
            r#"{{"manifest_version": "0.3", "name": "n", "server": {{"type": "binary", "mcp_config": {config}}}}}"#
        );
        let source = Source::new("manifest.json", text.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let server = document.servers().next().cloned();
        server.unwrap()
    }

    /// Program, arguments and variables, each with its place.
    fn read(config: &str) -> Vec<(String, String)> {
        let server = server(config);
        let Endpoint::Local(local) = &server.endpoint else {
            unreachable!()
        };
        let env = server.env.iter().map(|field| &field.value);
        let fields = std::iter::once(&local.command)
            .chain(&local.args)
            .chain(env);
        fields
            .map(|it| {
                let place = it.pointer.as_str().trim_start_matches("/server/mcp_config");
                (it.template.as_str().to_owned(), place.to_owned())
            })
            .collect()
    }

    fn pairs<const N: usize>(of: [(&str, &str); N]) -> Vec<(String, String)> {
        of.map(|(text, place)| (text.to_owned(), place.to_owned()))
            .into()
    }

    #[test]
    fn platforms_have_the_names_of_node() {
        let known = ["linux", "macos", "windows", "freebsd"];
        assert_eq!(known.map(platform), ["linux", "darwin", "win32", "freebsd"]);
    }

    #[test]
    fn what_this_platform_has_takes_the_place_of_the_rest() {
        let here = platform(std::env::consts::OS);
        let there = if here == "darwin" { "linux" } else { "darwin" };
        let config = |inner: &str| {
            format!(
                r#"{{"command": "all", "args": ["a", "b"], "env": {{"K": "v"}}, "platform_overrides": {{
                "{there}": {{"command": "there", "args": ["t"], "env": {{"K": "t"}}}}, "{here}": {inner}}}}}"#
            )
        };
        let usual = [("all", "/command"), ("a", "/args/0"), ("b", "/args/1")];
        let [program, one, two] = usual;
        let variable = ("v", "/env/K");
        let base = format!("/platform_overrides/{here}");
        assert_eq!(
            read(&config(r#"{"command": "x"}"#)),
            pairs([("x", &format!("{base}/command")), one, two, variable])
        );
        assert_eq!(
            read(&config(r#"{"args": ["c"], "env": {"L": "w"}}"#)),
            pairs([
                program,
                ("c", &format!("{base}/args/0")),
                ("w", &format!("{base}/env/L"))
            ])
        );
        // As the host does it: an empty list is one, an empty program is none.
        assert_eq!(
            read(&config(r#"{"command": "", "args": [], "env": {}}"#)),
            pairs([program])
        );
        assert_eq!(read(&config("{}")), pairs([program, one, two, variable]));
    }
}
