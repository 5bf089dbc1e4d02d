//! What a person sends from a page of their own.

use keyway_secret::Secret;
use url::form_urlencoded;

/// A form of a person's page, as it was sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct PersonForm {
    /// Names the form, which counts once.
    pub form: Secret<String>,
    /// The plugin of the server that it is about.
    pub plugin: String,
    /// The server.
    pub server: String,
    /// What is asked for.
    pub action: PersonAction,
}

/// What a person asks for on their page.
#[derive(Debug)]
#[non_exhaustive]
pub enum PersonAction {
    /// Store a value of theirs for a variable of the entry.
    Set {
        /// The variable.
        name: String,
        /// The value.
        value: Secret<String>,
    },
    /// Delete it.
    Unset {
        /// The variable.
        name: String,
    },
    /// Agree to what was shown.
    Agree {
        /// Its digest.
        digest: String,
    },
}

impl PersonForm {
    /// Reads a body in `application/x-www-form-urlencoded`: each field at most once, and no other.
    #[must_use]
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut found: [(&str, Option<Secret<String>>); 7] = [
            ("form", None),
            ("plugin", None),
            ("server", None),
            ("action", None),
            ("name", None),
            ("value", None),
            ("digest", None),
        ];
        for (name, value) in form_urlencoded::parse(body) {
            let (_, place) = found.iter_mut().find(|(known, _)| *known == name)?;
            if place.replace(Secret::new(value.into_owned())).is_some() {
                return None;
            }
        }
        let [form, plugin, server, action, name, value, digest] = found.map(|(_, value)| value);
        let plain = |text: Option<Secret<String>>| Some(text?.expose().clone());
        let action = match plain(action)?.as_str() {
            "set" => PersonAction::Set {
                name: plain(name)?,
                value: value?,
            },
            "unset" => PersonAction::Unset { name: plain(name)? },
            "agree" => PersonAction::Agree {
                digest: plain(digest)?,
            },
            _ => return None,
        };
        Some(Self {
            form: form?,
            plugin: plain(plugin)?,
            server: plain(server)?,
            action,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_counts_once_and_no_other_is_taken() {
        let read = |body: &str| PersonForm::read(body.as_bytes());
        let whole = "form=f&plugin=p&server=s&action=set&name=A&value=one+two%26";
        let found = read(whole).unwrap();
        assert_eq!(found.form.expose(), "f");
        assert_eq!((&*found.plugin, &*found.server), ("p", "s"));
        let PersonAction::Set { name, value } = found.action else {
            panic!("{found:?}");
        };
        assert_eq!((&*name, &**value.expose()), ("A", "one two&"));
        for bad in [
            "",
            "form=f&plugin=p&server=s&action=set&name=A",
            "form=f&plugin=p&server=s&action=drop&name=A",
            "form=f&plugin=p&server=s&action=agree&name=A",
            "plugin=p&server=s&action=unset&name=A",
            &format!("{whole}&value=other"),
            &format!("{whole}&more=1"),
        ] {
            assert!(read(bad).is_none(), "{bad}");
        }
        let unset = read("form=f&plugin=p&server=s&action=unset&name=A").unwrap();
        assert!(matches!(unset.action, PersonAction::Unset { name } if name == "A"));
        let agree = read("form=f&plugin=p&server=s&action=agree&digest=d").unwrap();
        assert!(matches!(agree.action, PersonAction::Agree { digest } if digest == "d"));
    }
}
