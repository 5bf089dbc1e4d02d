//! What several pages show: badges, bars, buttons, troubles.

use keyway_code::Code;
use keyway_config::method::Method;

use crate::dashboard::actions::MARK;
use crate::dashboard::backend::{Kept, ServerId, ServerView};
use crate::dashboard::browser_session::BrowserSession;
use crate::dashboard::html::{Html, Ticked, html};
use crate::dashboard::paths::{self, Action};
use crate::dashboard::words;
use keyway_mcp::states::{Reason, State, Trouble};

/// The field that says which session a form belongs to.
pub(super) fn mark(browser: &BrowserSession) -> Html {
    html!(
        "<input type=\"hidden\" name=\"{}\" value=\"{}\">",
        MARK,
        browser.mark(),
    )
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
    let shown = words::shown(view.standing);
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
    let tools = tools.filter(|_| view.offers.is_some());
    html!(
        "<p class=\"facts\"><span class=\"chip\">{}</span><span class=\"chip\">{}</span>{}</p>",
        words::transport(view.transport),
        words::method(view),
        tools.map(|tools| html!("<span class=\"soft\">{}</span>", tools)),
    )
}

/// How long a token is still good.
pub(super) fn bar(kept: &Kept) -> Html {
    let sign_in = &kept.sign_in;
    let renews = if sign_in.renews && !sign_in.ended {
        ", renews automatically"
    } else {
        ""
    };
    if sign_in.ended {
        return html!("<p class=\"time bad\">The sign-in has expired.</p>");
    }
    let Some(left) = sign_in.expires_in else {
        return html!("<p class=\"time\">The token does not expire.</p>");
    };
    let whole = kept.lifetime.unwrap_or(left).max(left).max(1);
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
pub(super) fn trouble(trouble: &Trouble) -> Html {
    html!(
        "<div class=\"notice bad\" role=\"alert\"><p><strong>{}</strong> <code>{}</code></p>{}</div>\n",
        Ticked(&trouble.message),
        trouble.code,
        trouble
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
    let is_oauth = view.method == Some(Method::OAuth);
    if is_oauth && view.consent.is_none() {
        if view
            .sign_in
            .as_ref()
            .is_some_and(|kept| !kept.sign_in.ended)
        {
            all.push(&make(Action::SignOut, "Sign out", "plain"));
        } else if !view.is_open {
            let class = if view.standing.state == State::NeedsAuth {
                "main"
            } else {
                "plain"
            };
            all.push(&make(Action::SignIn, "Sign in", class));
        }
        if view.standing.reason == Some(Reason::InsufficientScope) {
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
    let was_tried = view.offers.is_some() || view.fault.is_some();
    match (view.method, was_tried) {
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
        let fault = self.fault.as_ref();
        fault.is_some_and(|fault| fault.code == Code::SignInRequired)
    }

    /// Says whether anything can be done about it here.
    pub(super) fn is_usable(&self) -> bool {
        !matches!(
            (self.standing.state, self.standing.reason),
            (State::Disabled, _)
                | (_, Some(Reason::NotConfigured | Reason::PendingTrust))
                | (State::Failed, Some(Reason::ConfigError))
        ) || self.sign_in.is_some()
    }
}

/// Names the element of a server; no two servers share it, and it has no blank.
pub(super) fn element(id: &ServerId) -> String {
    paths::server("", id).replace('/', ".")
}

#[cfg(test)]
pub(super) mod tests {
    use keyway_config::declared::Transport;
    use keyway_mcp::states::Standing;

    use super::*;

    /// A server that nothing was tried with yet.
    pub(in crate::dashboard::pages) fn untried(standing: Standing) -> ServerView {
        ServerView {
            id: ServerId {
                plugin: "p".to_owned(),
                name: "s".to_owned(),
            },
            place: String::new(),
            transport: Some(Transport::Http),
            method: Some(Method::Static),
            is_open: false,
            standing,
            is_busy: false,
            sign_in: None,
            variables: Vec::new(),
            question: None,
            consent: None,
            fault: None,
            offers: None,
            tools: [].into(),
        }
    }

    #[test]
    fn only_what_was_connected_is_reconnected() {
        let mut view = untried(Standing::CONNECTED);
        assert_eq!(check_label(&view), "Connect");
        view.offers = Some("2 tools".to_owned());
        assert_eq!(check_label(&view), "Reconnect");
        view.method = Some(Method::Dynamic);
        assert_eq!(check_label(&view), "Run helper again");
    }

    #[test]
    fn a_server_without_authentication_has_a_chip_that_says_so() {
        let mut view = untried(Standing::CONNECTED);
        view.method = Some(Method::None);
        let facts = facts(&view);
        assert!(facts.as_str().contains(">no auth<"), "{}", facts.as_str());
    }
}
