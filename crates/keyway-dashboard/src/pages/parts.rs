//! What several pages show: badges, bars, buttons, problems.

use keyway::diagnosis::Diagnosis;
use keyway::sign_in::SignIn;
use keyway_code::Code;
use keyway_config::method::Method;
use keyway_config::names::server_id;

use crate::backend::{ServerId, ServerView};
use crate::browser_session::BrowserSession;
use crate::form::MARK;
use crate::html::{Html, Ticked, html};
use crate::paths::{self, Action};
use crate::words;
use keyway_mcp::states::{Reason, State};

/// The field that says which session a form belongs to.
pub(super) fn mark(browser: &BrowserSession) -> Html {
    html!(
        "<input type=\"hidden\" name=\"{}\" value=\"{}\">",
        MARK,
        browser.mark(),
    )
}

/// A text to be copied, with a button that a script makes work.
pub(super) fn copied(text: &str) -> Html {
    html!(
        "<code class=\"copy\">{}</code> \
         <button type=\"button\" class=\"plain copier\">Copy</button>",
        text,
    )
}

/// A box to check for every server.
pub(super) fn servers_to_choose(servers: &[ServerView]) -> Html {
    let boxes: Html = servers
        .iter()
        .map(|view| {
            html!(
                "<li><label class=\"choice\"><input type=\"checkbox\" name=\"server\" \
                 value=\"{}\"> <span class=\"soft\">{}:</span>{}</label></li>",
                server_id(&view.id.plugin, &view.id.name),
                view.id.plugin,
                view.id.name,
            )
        })
        .collect();
    html!("<ul class=\"choices\">{}</ul>", boxes)
}

/// A button that does something to a server.
pub(super) fn button(
    id: &ServerId,
    action: Action,
    label: &str,
    class: &str,
    browser: &BrowserSession,
) -> Html {
    html!(
        "<form method=\"post\" action=\"{}\">{}<button class=\"{}\" id=\"b-{}-{}\">{}\
         <span class=\"unseen\"> {}</span></button></form>",
        paths::act(browser.base(), id, action),
        mark(browser),
        class,
        action.as_str(),
        element(id),
        label,
        id.name,
    )
}

/// The state, as a sign with a word.
pub(super) fn badge(view: &ServerView) -> Html {
    if view.is_checking() {
        return html!(
            "<span class=\"badge wait\"><span class=\"dot\" aria-hidden=\"true\">…</span>Checking</span>"
        );
    }
    let shown = words::shown(view.diagnosis.state);
    html!(
        "<span class=\"badge {}\"><span class=\"dot\" aria-hidden=\"true\">{}</span>{}</span>",
        shown.class,
        shown.sign,
        shown.label,
    )
}

/// How it is reached and authenticated to, and what it offers.
pub(super) fn facts(view: &ServerView) -> Html {
    let tools = match view.tools.len() {
        0 => None,
        1 => Some("1 tool".to_owned()),
        several => Some(format!("{several} tools")),
    };
    let tools = tools.filter(|_| view.diagnosis.offer.is_some());
    html!(
        "<p class=\"facts\"><span class=\"chip\">{}</span><span class=\"chip\">{}</span>{}</p>",
        words::transport(view.diagnosis.transport),
        words::method(view),
        tools.map(|tools| html!("<span class=\"soft\">{}</span>", tools)),
    )
}

/// How long a token is still good.
pub(super) fn bar(view: &ServerView, sign_in: &SignIn) -> Html {
    let renews = if sign_in.renews && !sign_in.ended {
        ", renews automatically"
    } else {
        ""
    };
    if sign_in.ended {
        return match sign_in.fault() {
            Some(fault) => html!(
                "<p class=\"time bad\">The sign-in has ended: {}.</p>",
                fault
            ),
            None => html!("<p class=\"time bad\">The sign-in has expired.</p>"),
        };
    }
    let Some(left) = sign_in.expires_in else {
        return html!("<p class=\"time\">The token does not expire.</p>");
    };
    let whole = view.token_lifetime.unwrap_or(left).max(left).max(1);
    let left = left.max(0);
    let percent = usize::try_from(left.saturating_mul(100) / whole).unwrap_or_default();
    let words = words::seconds(left);
    html!(
        "<p class=\"time\"><progress max=\"100\" value=\"{}\" aria-label=\"time left of the token\">\
         {}</progress> <span>{} left{}</span></p>",
        percent,
        words,
        words,
        renews,
    )
}

/// What is the matter, and what to do.
pub(super) fn problem(problem: &Diagnosis) -> Html {
    html!(
        "<div class=\"notice bad\" role=\"alert\"><p><strong>{}</strong> <code>{}</code></p>{}</div>\n",
        Ticked(&problem.message),
        problem.code.map_or("", |code| code.as_str()),
        problem
            .hint
            .as_ref()
            .map(|hint| html!("<p>What to do: {}</p>", Ticked(hint))),
    )
}

/// The buttons that fit a server's state, the most useful first.
pub(super) fn buttons(view: &ServerView, browser: &BrowserSession) -> Html {
    let id = &view.id;
    let make = |action, label, class| button(id, action, label, class, browser);
    let mut all = Html::default();
    if !view.is_usable() {
        return all;
    }
    let is_oauth = view.diagnosis.method == Some(Method::OAuth);
    if is_oauth && view.consent.is_none() {
        if view
            .diagnosis
            .sign_in
            .as_ref()
            .is_some_and(|sign_in| !sign_in.ended)
        {
            all.push(&make(Action::SignOut, "Sign out", "plain"));
        } else if !view.is_open {
            let class = if view.diagnosis.state.state == State::NeedsAuth {
                "main"
            } else {
                "plain"
            };
            all.push(&make(Action::SignIn, "Sign in", class));
        }
        if view.diagnosis.state.reason == Some(Reason::InsufficientScope) {
            all.push(&make(Action::SignIn, "Sign in again", "main"));
        }
    }
    // Before a sign-in there is nothing to try again.
    if view.consent.is_none() && !view.wants_sign_in() {
        all.push(&make(Action::Check, check_label(view), "plain"));
    }
    all
}

/// Says what a check does: the first one connects.
const fn check_label(view: &ServerView) -> &'static str {
    let was_tried = view.diagnosis.offer.is_some() || view.diagnosis.code.is_some();
    match (view.diagnosis.method, was_tried) {
        (Some(Method::Dynamic), true) => "Run helper again",
        (_, true) => "Reconnect",
        (_, false) => "Connect",
    }
}

impl ServerView {
    /// Says whether it is being connected to right now, and not waiting for a person.
    pub(super) const fn is_checking(&self) -> bool {
        self.is_busy && self.consent.is_none()
    }

    /// Says whether a sign-in is all that is missing.
    pub(super) fn wants_sign_in(&self) -> bool {
        self.diagnosis.code == Some(Code::SignInRequired)
    }

    /// Says whether anything can be done about it here.
    pub(super) fn is_usable(&self) -> bool {
        !matches!(
            (self.diagnosis.state.state, self.diagnosis.state.reason),
            (State::Disabled, _)
                | (_, Some(Reason::NotConfigured | Reason::PendingTrust))
                | (State::Failed, Some(Reason::ConfigError))
        ) || self.diagnosis.sign_in.is_some()
    }
}

/// Names the element of a server; no two servers share it, and it has no blank.
pub(super) fn element(id: &ServerId) -> String {
    paths::server("", id).replace('/', ".")
}

#[cfg(test)]
pub(super) mod tests {
    use keyway::diagnosis::Offer;
    use keyway_config::declared::Transport;
    use keyway_mcp::session::Era;
    use keyway_mcp::states::ServerState;

    use super::*;

    /// A server that nothing was tried with yet.
    pub(in crate::pages) fn untried(state: ServerState) -> ServerView {
        let mut diagnosis = Diagnosis::new("p", "s");
        diagnosis.transport = Some(Transport::Http);
        diagnosis.method = Some(Method::Static);
        diagnosis.state = state;
        ServerView::new(diagnosis)
    }

    #[test]
    fn only_what_was_connected_is_reconnected() {
        let mut view = untried(ServerState::CONNECTED);
        assert_eq!(check_label(&view), "Connect");
        let era = Era::Legacy {
            version: "2025-06-18".to_owned(),
        };
        view.diagnosis.offer = Some(Offer::new(era, "2 tools".to_owned(), Vec::new()));
        assert_eq!(check_label(&view), "Reconnect");
        view.diagnosis.method = Some(Method::Dynamic);
        assert_eq!(check_label(&view), "Run helper again");
    }

    #[test]
    fn a_server_without_authentication_has_a_chip_that_says_so() {
        let mut view = untried(ServerState::CONNECTED);
        view.diagnosis.method = Some(Method::None);
        let facts = facts(&view);
        assert!(facts.as_str().contains(">no auth<"), "{}", facts.as_str());
    }
}
