//! Markup that cannot hold untrusted text by accident.
//!
//! A page is put together from literals of this crate with places in them. What goes into a place
//! is escaped by its type: text always, [`Html`] never. There is no way from a `String` to `Html`
//! but through here.

use keyway_code::Code;
use keyway_secret::printable;
use url::Url;

/// Markup that is safe to send.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Html(String);

impl Html {
    /// Returns the markup.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }

    /// Adds more at the end.
    pub(super) fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }
}

impl FromIterator<Self> for Html {
    fn from_iter<T: IntoIterator<Item = Self>>(parts: T) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.push(&part);
        }
        all
    }
}

/// Fills the places of a template, which are written `{}`; attributes stand in double quotes.
macro_rules! html {
    ($template:literal $(, $part:expr)* $(,)?) => {
        $crate::html::fill($template, &[$(&$part),*])
    };
}
pub(super) use html;

/// Use [`html!`], which takes literals only.
pub(super) fn fill(template: &'static str, parts: &[&dyn Part]) -> Html {
    let mut out = String::with_capacity(template.len() * 2);
    let mut parts = parts.iter();
    let mut pieces = template.split("{}");
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        if let Some(part) = parts.next() {
            part.write(&mut out);
        }
        out.push_str(piece);
    }
    Html(out)
}

/// What may go into a place.
pub(super) trait Part {
    /// Writes it, escaped unless it is markup.
    fn write(&self, out: &mut String);
}

impl Part for Html {
    fn write(&self, out: &mut String) {
        out.push_str(&self.0);
    }
}

impl Part for Option<Html> {
    fn write(&self, out: &mut String) {
        if let Some(html) = self {
            html.write(out);
        }
    }
}

impl Part for str {
    fn write(&self, out: &mut String) {
        escape(&printable(self), out);
    }
}

impl<P: Part + ?Sized> Part for &P {
    fn write(&self, out: &mut String) {
        (**self).write(out);
    }
}

impl Part for Code {
    fn write(&self, html: &mut String) {
        self.as_str().write(html);
    }
}

impl Part for String {
    fn write(&self, out: &mut String) {
        self.as_str().write(out);
    }
}

impl Part for usize {
    fn write(&self, out: &mut String) {
        out.push_str(&self.to_string());
    }
}

/// Text over several lines, for a `<pre>` or a `<textarea>`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines<'a>(pub(super) &'a str);

impl Part for Lines<'_> {
    fn write(&self, out: &mut String) {
        for (at, line) in self.0.lines().enumerate() {
            if at > 0 {
                out.push('\n');
            }
            escape(&printable(line), out);
        }
    }
}

/// A sentence in which what stands between backticks is code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticked<'a>(pub(super) &'a str);

impl Part for Ticked<'_> {
    fn write(&self, out: &mut String) {
        let mut pieces: Vec<&str> = self.0.split('`').collect();
        // One that is never closed is a backtick.
        let last = pieces
            .len()
            .is_multiple_of(2)
            .then(|| pieces.pop())
            .flatten();
        for (at, piece) in pieces.iter().enumerate() {
            let is_code = at % 2 == 1;
            out.push_str(if is_code { "<code>" } else { "" });
            piece.write(out);
            out.push_str(if is_code { "</code>" } else { "" });
        }
        if let Some(last) = last {
            "`".write(out);
            last.write(out);
        }
    }
}

/// An address that a person may follow: `https`, or `http` on this machine, without user
/// information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link(String);

impl Link {
    pub(super) fn new(url: &Url) -> Option<Self> {
        let is_local = match url.host()? {
            url::Host::Domain(name) => name == "localhost",
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        };
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_local);
        let is_bare = url.username().is_empty() && url.password().is_none();
        (is_safe && is_bare).then(|| Self(url.as_str().to_owned()))
    }
}

impl Part for Link {
    fn write(&self, out: &mut String) {
        escape(&self.0, out);
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_wherever_it_stands() {
        let hostile = r#""><script>alert('1')</script>&amp;"#;
        let made = html!("<p title=\"{}\">{}</p>", hostile, Lines(hostile));
        let text = made.as_str();
        assert!(!text.contains("<script"), "{text}");
        assert_eq!(text.matches('"').count(), 2, "{text}");
        assert!(text.contains("&amp;amp;"), "{text}");
    }

    #[test]
    fn markup_is_not_escaped_twice_and_nothing_hides() {
        let inner = html!("<b>{}</b>", "a<b");
        let outer = html!("<p>{}{}</p>", inner, None::<Html>);
        assert_eq!(outer.as_str(), "<p><b>a&lt;b</b></p>");
        let hidden = html!("{}", "a\u{202e}b\u{200b}c\u{1b}[0m");
        assert_eq!(hidden.as_str(), "abc[0m");
        assert_eq!(html!("{}", Lines("a\r\n\tb")).as_str(), "a\n b");
    }

    #[test]
    fn what_stands_between_backticks_is_code_and_still_text() {
        let text = html!("{}", Ticked("set `<A>` or `B`, not `C"));
        assert_eq!(
            text.as_str(),
            "set <code>&lt;A&gt;</code> or <code>B</code>, not `C"
        );
    }

    #[test]
    fn only_addresses_that_a_person_may_follow_are_links() {
        let link = |text: &str| Link::new(&Url::parse(text).unwrap()).is_some();
        for good in [
            "https://as.example/a?b=c",
            "http://127.0.0.1:8/",
            "http://localhost/",
        ] {
            assert!(link(good), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "http://as.example/",
            "https://user@as.example/",
            "file:///etc/passwd",
        ] {
            assert!(!link(bad), "{bad}");
        }
    }
}
