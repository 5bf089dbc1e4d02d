//! What a remote entry reaches, and what it sends there: its address, headers and sign-in.
use keyway_config::address::Address;
use keyway_config::declared::{Field, Helper, NamedField, OAuth, OAuthFields, Remote};
use keyway_config::environment::is_host_variable;
use keyway_config::headers::is_credential_header;
use keyway_config::oauth_rules::address;
use keyway_config::template::{Foreign, Template};
use url::Url;

use super::Sources;
use crate::fact::{Fact, FactKind};
use crate::hidden::hide_in_header;

impl Sources<'_> {
    pub(super) fn remote(&self, remote: &Remote) -> Vec<Fact> {
        let Remote {
            url,
            headers,
            helper,
            oauth,
        } = remote;
        if let Some(Helper {
            // It is in the command line.
            command: _,
            // When the same program runs again, and for how long, decides nothing about it.
            refresh: _,
            ttl_ms: _,
            timeout_ms: _,
            span: _,
            pointer: _,
        }) = helper
        {}
        let to = self.origin(url);
        let is_persons = self.has_persons(&url.template);
        let mut facts = vec![reaches(&url.template, &to).of_person(is_persons)];
        let in_address = format!("in the address to {to}");
        facts.extend(self.sends(&url.template, &in_address, is_persons));
        for NamedField {
            name,
            name_span: _,
            value,
        } in headers
        {
            let template = &value.template;
            if template.variables().next().is_none() {
                let is_credential = is_credential_header(name);
                let text = template.as_str();
                facts.push(Fact::literal(FactKind::Header, name, text, is_credential));
            }
            let shown = hide_in_header(name, template.as_str());
            let how = format!("as header `{name}: {shown}` to {to}");
            let sends = self.sends(template, &how, is_persons).into_iter();
            facts.extend(sends.map(|fact| match shown == template.as_str() {
                true => fact,
                false => fact.counting(template.as_str()),
            }));
        }
        match oauth {
            OAuth::Automatic | OAuth::Off => {}
            OAuth::Configured(oauth) => facts.extend(self.oauth(oauth, &to, is_persons)),
        }
        facts
    }

    fn oauth(&self, oauth: &OAuthFields, server: &str, is_persons: bool) -> Vec<Fact> {
        let OAuthFields {
            strings,
            scopes,
            callback_port,
            span: _,
        } = oauth;
        let mut facts = Vec::new();
        let to = self.authorization_server(oauth, server);
        // A variable of the person's may also decide which server gets it.
        let leads = |name: &str| {
            let field = oauth.get(name);
            field.is_some_and(|field| self.has_persons(&field.value.template))
        };
        let is_persons = is_persons || ENDPOINTS.iter().any(|name| leads(name));
        for field in strings {
            let (name, template) = (field.name.as_str(), &field.value.template);
            let text = template.as_str();
            facts.push(if WEAK.contains(&name) {
                Fact::new(FactKind::Weakens, name, format!("{name} = {text}"))
            } else {
                Fact::literal(
                    FactKind::OAuth,
                    name,
                    text,
                    name == SECRET && template.is_literal(),
                )
            });
            let is_persons = is_persons || self.has_persons(template);
            if ENDPOINTS.contains(&name) && !template.is_literal() {
                let origin = self.endpoint(oauth, name).unwrap_or_default();
                facts.push(reaches(template, &origin).of_person(is_persons));
            }
            let how = format!("as OAuth `{name}` to {to}");
            facts.extend(self.sends(template, &how, is_persons));
        }
        let words: Vec<&str> = scopes.iter().map(|field| field.template.as_str()).collect();
        if !words.is_empty() {
            facts.push(Fact::new(FactKind::OAuth, "scopes", words.join(" ")));
        }
        for field in scopes {
            let how = format!("as OAuth `scopes` to {to}");
            facts.extend(self.sends(&field.template, &how, is_persons));
        }
        let port = callback_port.map(|port| port.to_string());
        facts.extend(port.map(|port| Fact::new(FactKind::OAuth, "callbackPort", port)));
        let two = self
            .endpoint(oauth, AUTHORIZATION)
            .zip(self.endpoint(oauth, TOKEN));
        if let Some((authorization, token)) = two.filter(|(one, other)| one != other) {
            let what = format!("you agree at {authorization}, and {token} gets the code for it");
            facts.push(Fact::new(FactKind::Weakens, TOKEN, what).of_person(is_persons));
        }
        facts
    }

    /// Returns which authorization server gets what an entry says to it: its origin, or the server
    /// that names it.
    fn authorization_server(&self, oauth: &OAuthFields, server: &str) -> String {
        let metadata = "authServerMetadataUrl";
        if let Some(origin) = self.endpoint(oauth, TOKEN) {
            return origin;
        }
        match self.endpoint(oauth, metadata) {
            Some(origin) => format!("the authorization server that {origin} names"),
            None => format!("the authorization server that {server} names"),
        }
    }

    /// Returns the origin of an endpoint after filling in.
    fn endpoint(&self, oauth: &OAuthFields, name: &str) -> Option<String> {
        let template = &oauth.get(name)?.value.template;
        let text = template.expand(self.scope, Foreign::Refuse).ok()?;
        let url = Url::parse(text.expose()).ok()?;
        Some(url.origin().ascii_serialization())
    }

    /// The origin that a remote entry reaches, as far as it is known.
    fn origin(&self, url: &Field) -> String {
        let resolved = Address::resolve(&url.template, self.server.transport, self.scope);
        match resolved {
            Ok(address) => address.origin().to_owned(),
            // Not all variables are set yet. They cannot change an origin that is written out.
            Err(_) => literal_origin(&url.template)
                .unwrap_or_else(|| without_query(&url.template).to_owned()),
        }
    }

    fn sends(&self, template: &Template, how: &str, is_persons: bool) -> Vec<Fact> {
        let mut facts: Vec<Fact> = Vec::new();
        for variable in template.variables() {
            let is_known = facts.iter().any(|fact| fact.name == variable.name);
            if !is_known && !is_host_variable(&variable.name) {
                let fact = Fact::new(FactKind::Sends, &variable.name, how);
                facts.push(fact.of_person(is_persons));
            }
        }
        facts
    }
}

/// Says whether a sign-in is less safe than without what the entry says of it.
pub(super) fn weakens(oauth: &OAuthFields) -> bool {
    let weak = WEAK.iter().any(|key| oauth.get(key).is_some());
    let origin = |key| Some(address(&oauth.get(key)?.value.template)??.origin());
    let two = origin(AUTHORIZATION).zip(origin(TOKEN));
    weak || two.is_some_and(|(authorization, token)| authorization != token)
}

fn reaches(template: &Template, origin: &str) -> Fact {
    Fact::new(FactKind::Reaches, template.as_str(), origin)
}

/// Returns the origin of an address whose scheme and host are written out.
fn literal_origin(template: &Template) -> Option<String> {
    let text = template.as_str();
    let (scheme, rest) = text.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let origin = format!("{scheme}://{host}");
    let url = Url::parse(&origin).ok()?;
    (!origin.contains("${")).then(|| url.origin().ascii_serialization())
}

fn without_query(template: &Template) -> &str {
    let text = template.as_str();
    text.split(['?', '#']).next().unwrap_or_default()
}

pub(super) const SECRET: &str = "clientSecret";
const AUTHORIZATION: &str = "authorizationUrl";
const TOKEN: &str = "tokenUrl";
const ENDPOINTS: &[&str] = &[AUTHORIZATION, TOKEN, "authServerMetadataUrl"];
/// Settings that weaken a default of the sign-in.
const WEAK: &[&str] = &["resource", "pkce"];
