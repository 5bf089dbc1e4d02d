//! What an entry of a client's file stands for, as something that Keyway can take over.

use keyway_config::declared::{DeclaredServer, Endpoint, Local, OAuth, Remote as DeclaredRemote};
use keyway_config::template::{Part, Template};
use keyway_config::transport::Transport;
use keyway_secret::Secret;

use super::Listed;
use super::bridges::recognise;
use super::remote::{Recognised, Remote};

/// Looks at an entry as its host reads it.
#[must_use]
pub fn recognise_declared(server: &DeclaredServer) -> Recognised {
    match &server.endpoint {
        Endpoint::Remote(remote) => remote_of(server.transport, remote),
        Endpoint::Local(local) => recognise(&listed(server, local)),
    }
}

fn remote_of(transport: Transport, declared: &DeclaredRemote) -> Recognised {
    let unsupported = |option: &str| Recognised::Unsupported {
        option: option.to_owned(),
    };
    if declared.helper.is_some() {
        return unsupported("headersHelper");
    }
    let Some(url) = in_our_words(&declared.url.template) else {
        return unsupported("url");
    };
    if url.is_empty() {
        return unsupported("url");
    }
    let mut remote = Remote::new(url, transport.as_str());
    for header in &declared.headers {
        let Some(value) = in_our_words(&header.value.template) else {
            return unsupported(&header.name);
        };
        remote
            .headers
            .push((header.name.clone(), Secret::new(value)));
    }
    match &declared.oauth {
        OAuth::Automatic => {}
        OAuth::Off => {}
        OAuth::Configured(fields) => {
            for member in &fields.strings {
                let Some(value) = in_our_words(&member.value.template) else {
                    return unsupported(&member.name);
                };
                remote.oauth.push((member.name.clone(), Secret::new(value)));
            }
            let scopes = fields.scopes.iter();
            remote.scopes = scopes.map(|it| it.template.literal_text()).collect();
            remote.callback_port = fields.callback_port;
        }
    }
    Recognised::Remote(remote)
}

/// Writes a text as an entry of ours has it; `None` if it refers to what only its host knows.
pub(super) fn in_our_words(template: &Template) -> Option<String> {
    let mut text = String::new();
    for part in template.parts() {
        match part {
            Part::Literal { text: literal, .. } => text.push_str(&literal.replace("${", "$${")),
            Part::Variable(variable) => match &variable.default {
                Some(default) => text.push_str(&format!("${{{}:-{default}}}", variable.name)),
                None => text.push_str(&format!("${{{}}}", variable.name)),
            },
            _ => return None,
        }
    }
    Some(text)
}

fn listed(server: &DeclaredServer, local: &Local) -> Listed {
    let secret = |template: &Template| Secret::new(template.as_str().to_owned());
    Listed {
        name: server.name.clone(),
        program: Some(local.command.template.as_str().to_owned()),
        args: local.args.iter().map(|it| secret(&it.template)).collect(),
        env: server
            .env
            .iter()
            .map(|it| (it.name.clone(), secret(&it.value.template)))
            .collect(),
        ..Listed::default()
    }
}
