//! All servers, plugin by plugin, and what was asked of them lately.

use std::time::Duration;

use keyway::sign_in::SignIn;

use super::parts::{badge, bar, buttons, element, facts};
use super::{Look, Region, activity, approval, policy};
use crate::backend::ServerView;
use crate::browser_session::BrowserSession;
use crate::html::{Html, Ticked, html};
use crate::paths;
use crate::sparkline::sparkline;
use crate::words;
use keyway_mcp::states::ServerState;

pub(super) fn page(look: &Look, browser: &BrowserSession) -> Html {
    let mut plugins = Html::default();
    for of_one in look.servers.chunk_by(|a, b| a.id.plugin == b.id.plugin) {
        let cards: Html = of_one
            .iter()
            .map(|view| card(look, view, browser))
            .collect();
        let plugin = of_one.first().map(|view| view.id.plugin.as_str());
        let plugin = plugin.unwrap_or_default();
        plugins.push(&html!(
            "<section><h2><span class=\"soft\">Plugin</span> {}{}</h2><ul class=\"cards\">{}</ul></section>\n",
            plugin,
            approval::invitation(look, plugin, browser),
            cards,
        ));
    }
    html!(
        "<h1>Servers</h1>\n{}{}\n{}\n<section><h2 id=\"activity-head\">Activity</h2>{}</section>",
        policy::questions(look, browser),
        summary(look),
        plugins,
        recent(look),
    )
}

pub(super) fn regions(look: &Look, browser: &BrowserSession) -> Vec<Region> {
    let mut regions = vec![
        Region {
            id: "questions".to_owned(),
            html: policy::questions(look, browser),
        },
        Region {
            id: "summary".to_owned(),
            html: summary(look),
        },
        Region {
            id: "activity".to_owned(),
            html: recent(look),
        },
    ];
    regions.extend(look.servers.iter().map(|view| Region {
        id: element(&view.id),
        html: card(look, view, browser),
    }));
    regions
}

fn summary(look: &Look) -> Html {
    // A server that is being checked counts as that, whatever was known of it before.
    let checking = look
        .servers
        .iter()
        .filter(|view| view.is_checking())
        .count();
    let count = |classes: &[&str]| {
        let of = |view: &&ServerView| {
            !view.is_checking() && classes.contains(&words::shown(view.diagnosis.state).class)
        };
        look.servers.iter().filter(of).count()
    };
    let part = |class: &str, number: usize, label: &str| {
        (number > 0).then(|| {
            html!(
                "<li class=\"{}\"><strong>{}</strong> {}</li>",
                class,
                number,
                label,
            )
        })
    };
    html!(
        "<ul id=\"summary\" class=\"summary\">{}{}{}{}{}{}</ul>",
        part("good", count(&["good"]), "connected"),
        part(
            "ask",
            count(&["ask"]),
            if count(&["ask"]) == 1 {
                "needs you"
            } else {
                "need you"
            },
        ),
        part("bad", count(&["bad"]), "failed"),
        part("wait", checking, "checking"),
        part("wait", count(&["wait"]), "not connected"),
        part("off", count(&["off"]), "off"),
    )
}

fn recent(look: &Look) -> Html {
    let entries = look.recent.iter().map(AsRef::as_ref);
    html!("<div id=\"activity\">{}</div>", activity::table(entries))
}

fn card(look: &Look, view: &ServerView, browser: &BrowserSession) -> Html {
    let shown = words::shown(view.diagnosis.state);
    html!(
        "<li class=\"card {}\" id=\"{}\"><div class=\"head\"><h3><a href=\"{}\">{}</a></h3>{}</div>\
         {}<p class=\"why\">{}</p>{}<div class=\"foot\">{}<div class=\"buttons\">{}{}</div></div></li>\n",
        shown.class,
        element(&view.id),
        paths::server(browser.base(), &view.id),
        view.id.name,
        badge(view),
        facts(view),
        why(view),
        view.diagnosis.sign_in.as_ref().map(|it| who(view, it)),
        latency(look, view),
        invitation(view, browser),
        buttons(view, browser),
    )
}

/// What is wrong if that is known, else what the state means.
fn why(view: &ServerView) -> Html {
    match (view.diagnosis.fault(), &view.consent) {
        (_, Some(_)) => html!("Waiting for you on the authorization server's page."),
        (Some(_), None) if view.diagnosis.question.is_none() && !view.wants_sign_in() => {
            html!("{}", Ticked(&view.diagnosis.message))
        }
        // The badge says it all.
        _ if view.diagnosis.state == ServerState::CONNECTED => Html::default(),
        _ => html!("{}", words::why(view.diagnosis.state)),
    }
}

fn who(view: &ServerView, sign_in: &SignIn) -> Html {
    let account = sign_in.account.as_deref().unwrap_or("Signed in");
    html!(
        "<div class=\"who\"><p><strong>{}</strong> <span class=\"soft\">at {}</span></p>{}</div>",
        account,
        sign_in.issuer,
        bar(view, sign_in),
    )
}

fn invitation(view: &ServerView, browser: &BrowserSession) -> Option<Html> {
    let label = if view.consent.is_some() {
        "Continue signing in"
    } else if view.diagnosis.question.is_some() {
        "Review and approve"
    } else if view.diagnosis.fault().is_some() && !view.wants_sign_in() {
        "See how to fix it"
    } else {
        return None;
    };
    Some(html!(
        "<a class=\"button main\" href=\"{}\">{}<span class=\"unseen\"> {}</span></a>",
        paths::server(browser.base(), &view.id),
        label,
        view.id.name,
    ))
}

/// The times of the latest calls.
pub(super) fn latency(look: &Look, view: &ServerView) -> Html {
    let calls = look.of(&view.id).filter(|entry| entry.outcome.is_good());
    let times: Vec<Duration> = calls.rev().map(|entry| entry.took).collect();
    let latest = times.last().map(|time| words::took(*time));
    let latest = latest.map(|time| {
        html!(
            "<span class=\"soft\"><span class=\"unseen\">last call </span>{}</span>",
            time
        )
    });
    if latest.is_none() {
        return Html::default();
    }
    html!(
        "<div class=\"latency\">{}{}</div>",
        sparkline(&times),
        latest
    )
}

#[cfg(test)]
mod tests {
    use keyway_mcp::states::{Reason, State};

    use super::super::parts::tests::untried;
    use super::*;

    #[test]
    fn a_server_that_is_being_checked_is_not_counted_as_anything_else() {
        let pending = untried(ServerState::without_reason(State::Pending));
        let mut checking = pending.clone();
        checking.is_busy = true;
        let failed = untried(ServerState::new(State::Failed, Reason::NetworkError));
        let look = Look {
            servers: vec![checking, pending, failed],
            recent: Vec::new(),
            policies: None,
            history: Vec::new(),
            activity: std::sync::Arc::default(),
        };
        let shown = summary(&look);
        for part in [
            "1</strong> checking",
            "1</strong> not connected",
            "1</strong> failed",
        ] {
            assert!(shown.as_str().contains(part), "{part}: {}", shown.as_str());
        }
        assert!(!shown.as_str().contains("ready"), "{}", shown.as_str());
    }
}
