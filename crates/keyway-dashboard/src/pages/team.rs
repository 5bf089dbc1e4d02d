//! The people of a team, the gateways that share their sign-ins, and what renewals came to.

use std::time::Duration;

use super::parts::mark;
use crate::browser_session::BrowserSession;
use crate::html::{Html, html};
use crate::team::{GrantStates, TeamOutcome, TeamPerson, TeamReplica, TeamView};

pub(super) fn page(view: &TeamView, part: &str, browser: &BrowserSession) -> Html {
    html!(
        "<h1>People</h1>\n{}{}{}{}",
        totals(view),
        people(view, part, browser),
        replicas(&view.replicas),
        outcomes(&view.outcomes),
    )
}

fn totals(view: &TeamView) -> Html {
    let states = view.total;
    let rows: Html = [
        ("People with sign-ins", view.people_total),
        ("Sign-ins", states.sign_ins),
        ("Being renewed", states.renewing),
        ("To be repeated by their person", states.needs_reauth),
        ("Without renewal", states.not_renewable),
    ]
    .into_iter()
    .map(|(what, count)| {
        html!(
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            what,
            count.to_string(),
        )
    })
    .collect();
    html!(
        "<section class=\"panel\"><h2>Sign-ins by state</h2>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sign-ins by state\">\
         <table id=\"totals\"><tbody>{}</tbody></table></div></section>\n",
        rows,
    )
}

fn people(view: &TeamView, part: &str, browser: &BrowserSession) -> Html {
    let rows: Html = view.people.iter().map(|it| person(it, browser)).collect();
    let table = if view.people.is_empty() {
        html!("<p class=\"soft\">None.</p>")
    } else {
        html!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"People\">\
             <table id=\"people\"><thead><tr><th scope=\"col\">Issuer and subject</th>\
             <th scope=\"col\">Sign-ins</th><th scope=\"col\">Being renewed</th>\
             <th scope=\"col\">To be repeated</th><th scope=\"col\">Without renewal</th>\
             <th scope=\"col\"><span class=\"unseen\">Sign out</span></th></tr></thead>\
             <tbody>{}</tbody></table></div>",
            rows,
        )
    };
    let more = view.has_more.then(|| {
        html!("<p class=\"soft\">There are more: search for a part of issuer or subject.</p>")
    });
    html!(
        "<section class=\"panel\"><h2>Who is signed in</h2>\
         <form method=\"get\" action=\"{}/people\" role=\"search\"><div class=\"field\">\
         <label for=\"find\">Part of issuer or subject</label>\
         <input id=\"find\" name=\"find\" value=\"{}\" maxlength=\"200\" autocomplete=\"off\"></div>\
         <div class=\"buttons\"><button class=\"plain\">Search</button></div></form>\
         {}{}</section>\n",
        browser.base(),
        part,
        table,
        more,
    )
}

fn person(person: &TeamPerson, browser: &BrowserSession) -> Html {
    let counts = counts(person.states);
    let Some(name) = &person.name else {
        return html!(
            "<tr><td><span class=\"soft\">shared by clients with gateway tokens</span></td>{}\
             <td></td></tr>",
            counts,
        );
    };
    html!(
        "<tr><td><strong>{}</strong></td>{}<td><details><summary>Sign out\
         <span class=\"unseen\"> {}</span></summary><form method=\"post\" action=\"{}/people\">{}\
         <p>All sign-ins of this person are revoked where their servers allow it, and deleted at \
         every gateway, with the key of their data.</p>\
         <input type=\"hidden\" name=\"person\" value=\"{}\">\
         <button class=\"main\" name=\"do\" value=\"sign-out\">Sign out everywhere</button>\
         </form></details></td></tr>",
        name,
        counts,
        name,
        browser.base(),
        mark(browser),
        name,
    )
}

fn counts(states: GrantStates) -> Html {
    let GrantStates {
        sign_ins,
        renewing,
        needs_reauth,
        not_renewable,
    } = states;
    let counts = [sign_ins, renewing, needs_reauth, not_renewable];
    let cells = counts.into_iter();
    cells
        .map(|count| html!("<td>{}</td>", count.to_string()))
        .collect()
}

fn replicas(replicas: &[TeamReplica]) -> Html {
    let rows: Html = replicas
        .iter()
        .map(|replica| {
            let (state, class) = match (replica.is_alive, replica.is_self) {
                (true, true) => ("this gateway", "good"),
                (true, false) => ("lives", "good"),
                (false, _) => ("shows no sign of life", "bad"),
            };
            html!(
                "<tr><td><code>{}</code></td><td class=\"{}\">{}</td><td>{}</td></tr>",
                replica.name,
                class,
                state,
                lasting(replica.age),
            )
        })
        .collect();
    html!(
        "<section class=\"panel\"><h2>Replicas</h2>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Replicas\">\
         <table id=\"replicas\"><thead><tr><th scope=\"col\">Name</th><th scope=\"col\">State</th>\
         <th scope=\"col\">For</th></tr></thead><tbody>{}</tbody></table></div></section>\n",
        rows,
    )
}

fn outcomes(outcomes: &[TeamOutcome]) -> Html {
    let rows: Html = outcomes
        .iter()
        .map(|outcome| {
            html!(
                "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
                outcome.what,
                if outcome.cause.is_empty() {
                    "–"
                } else {
                    &outcome.cause
                },
                outcome.count.to_string(),
            )
        })
        .collect();
    let body = match rows.as_str().is_empty() {
        true => html!("<p class=\"soft\">None in the last hour.</p>"),
        false => html!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Renewals\">\
             <table id=\"outcomes\"><thead><tr><th scope=\"col\">What</th>\
             <th scope=\"col\">Cause</th><th scope=\"col\">How many</th></tr></thead>\
             <tbody>{}</tbody></table></div>",
            rows,
        ),
    };
    html!(
        "<section class=\"panel\"><h2>Renewals of the last hour</h2>{}</section>\n",
        body,
    )
}

/// Writes a time as its largest unit.
fn lasting(time: Duration) -> String {
    let seconds = time.as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "s"),
        120..7200 => (seconds / 60, "min"),
        7200..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit}")
}
