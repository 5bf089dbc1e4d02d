//! How an entry signs in, in the notation of a target: a helper, or what configures OAuth.

use super::super::{PortableHelper, PortableOAuth};
use super::{HostValue, Loss, Writer, loss};
use crate::dialect::{HostField, HostFieldRole as Role, Place};

impl Writer<'_> {
    pub(super) fn helper(&mut self, helper: Option<&PortableHelper>) -> Result<(), Loss> {
        let Some(helper) = helper else { return Ok(()) };
        let key = self.required(Role::Helper, "programs that print headers")?;
        let mut words = Vec::with_capacity(helper.words.len());
        for word in &helper.words {
            words.push(self.text(word, Place::Command, "the helper")?);
        }
        let has_settings =
            helper.is_per_request || helper.ttl_ms.is_some() || helper.timeout_ms.is_some();
        if self.target.is_contract() && (helper.is_list || has_settings) {
            let mut members = vec![("command".to_owned(), HostValue::texts(words))];
            if helper.is_per_request {
                members.push(("refresh".to_owned(), HostValue::Text("request".to_owned())));
            }
            for (key, value) in [("ttlMs", helper.ttl_ms), ("timeoutMs", helper.timeout_ms)] {
                members.extend(value.map(|value| (key.to_owned(), HostValue::Number(value))));
            }
            self.put(key, HostValue::Members(members));
            return Ok(());
        }
        if helper.is_per_request {
            return Err(loss(format!(
                "{} cannot run a helper for every request",
                self.target.name
            )));
        }
        if has_settings {
            self.losses.push(loss(
                "the times of the helper are not carried over".to_owned(),
            ));
        }
        let is_simple = |word: &String| {
            word.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(&b))
        };
        if helper.is_list && !words.iter().all(is_simple) {
            return Err(loss(format!(
                "{} takes a helper as one line only",
                self.target.name
            )));
        }
        self.put(key, HostValue::Text(words.join(" ")));
        Ok(())
    }

    pub(super) fn oauth(&mut self, oauth: &PortableOAuth) -> Result<(), Loss> {
        let target = self.target;
        let (strings, scopes, port) = match oauth {
            PortableOAuth::Automatic => return Ok(()),
            PortableOAuth::Off => {
                match target
                    .key(Role::OAuth)
                    .filter(|_| OAUTH_SWITCH.contains(&target.id))
                {
                    Some(key) => self.put(key, HostValue::Flag(false)),
                    None => self
                        .losses
                        .push(loss(format!("{} cannot switch OAuth off", target.name))),
                }
                return Ok(());
            }
            PortableOAuth::Configured {
                strings,
                scopes,
                callback_port,
            } => (strings, scopes, callback_port),
        };
        let mut inside = Vec::new();
        for (name, text) in strings {
            // What has no place is not looked at: whether it could be written does not matter then.
            if let Some(place) = self.oauth_place(name) {
                let text = self.text(text, Place::OAuth, &format!("OAuth `{name}`"))?;
                self.put_oauth(place, HostValue::Text(text), &mut inside);
            } else {
                self.lost.extend(text.slots().map(|slot| slot.name.clone()));
            }
        }
        let scopes = (!scopes.is_empty()).then(|| HostValue::texts(scopes.iter().cloned()));
        let port = port.map(|port| HostValue::Number(u64::from(port)));
        for (name, value) in [("scopes", scopes), ("callbackPort", port)] {
            if let Some(value) = value
                && let Some(place) = self.oauth_place(name)
            {
                self.put_oauth(place, value, &mut inside);
            }
        }
        if !inside.is_empty() {
            let key = self.required(Role::OAuth, "OAuth")?;
            self.put(key, HostValue::Members(inside));
        }
        Ok(())
    }

    /// Finds where the target has a setting of OAuth; without a place it is a loss.
    fn oauth_place(&mut self, name: &str) -> Option<OAuthPlace> {
        let target = self.target;
        let member = target.oauth.iter().find(|(_, ours)| *ours == name);
        let is_direct =
            |field: &&HostField| matches!(field.role, Role::OAuthMember(ours) if ours == name);
        let direct = target.fields.iter().find(is_direct);
        match (member, direct) {
            (Some((key, _)), _) => Some(OAuthPlace::Inside(key)),
            (None, Some(HostField { key, .. })) => Some(OAuthPlace::Direct(key)),
            (None, None) => {
                let message = format!("{} has no field for OAuth `{name}`", target.name);
                self.losses.push(loss(message));
                None
            }
        }
    }

    fn put_oauth(
        &mut self,
        place: OAuthPlace,
        value: HostValue,
        inside: &mut Vec<(String, HostValue)>,
    ) {
        match place {
            OAuthPlace::Inside(key) => inside.push((key.to_owned(), self.scopes(key, value))),
            OAuthPlace::Direct(key) => self.put(key, value),
        }
    }

    /// Some hosts want scopes as one string.
    fn scopes(&self, key: &str, value: HostValue) -> HostValue {
        let is_one = key == "scope" || self.target.is_contract();
        match value {
            HostValue::List(scopes) if is_one => {
                let scopes: Vec<String> = scopes
                    .into_iter()
                    .filter_map(HostValue::into_text)
                    .collect();
                HostValue::Text(scopes.join(" "))
            }
            value => value,
        }
    }
}

/// Where a host has a setting of OAuth.
#[derive(Clone, Copy)]
enum OAuthPlace {
    /// In the object of the entry that is for OAuth.
    Inside(&'static str),
    /// In the entry itself.
    Direct(&'static str),
}

/// Hosts that take `false` for their object of OAuth.
const OAUTH_SWITCH: &[&str] = &["claude-code", "opencode"];
