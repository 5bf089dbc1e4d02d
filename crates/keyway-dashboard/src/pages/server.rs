//! One server: what it waits for, what is wrong, who is signed in, what it offers.

use std::time::Instant;

use keyway::diagnosis::{Diagnosis, Variable};
use keyway_code::Code;
use keyway_config::environment::Origin;
use keyway_config::method::Method;

use super::overview::latency;
use super::parts::{badge, bar, button, buttons, facts, mark};
use super::{Look, Region, activity, approval, messages, policy};
use crate::backend::{Consent, ServerView, Tool, WantedBy};
use crate::browser_session::BrowserSession;
use crate::html::{Html, Lines, Link, Ticked, html};
use crate::paths::{self, Action};
use crate::words;
use keyway_mcp::states::State;
use keyway_secret::escaped;
use url::Url;

pub(super) fn page(look: &Look, view: &ServerView, browser: &BrowserSession) -> Html {
    html!(
        "<p class=\"path\"><a href=\"{}/\">Servers</a> <span aria-hidden=\"true\">/</span> {}</p>\n\
         {}{}\n{}\n<section><h2>Activity</h2>{}</section>\n{}\n{}",
        browser.base(),
        view.id.plugin,
        policy::questions(look, browser),
        state(look, view, browser),
        tools(look, view, browser),
        recent(look, view),
        messages::section(look, view, browser),
        log(view),
    )
}

pub(super) fn regions(look: &Look, view: &ServerView, browser: &BrowserSession) -> Vec<Region> {
    let region = |id: &str, html| Region {
        id: id.to_owned(),
        html,
    };
    vec![
        region("questions", policy::questions(look, browser)),
        region("state", state(look, view, browser)),
        region("tools", tools(look, view, browser)),
        region("activity", recent(look, view)),
        region("log", log(view)),
    ]
}

fn state(look: &Look, view: &ServerView, browser: &BrowserSession) -> Html {
    html!(
        "<div id=\"state\"><div class=\"title\"><h1>{}</h1>{}</div>{}<p class=\"why\">{}</p>\
         <div class=\"row\"><div class=\"buttons\">{}</div>{}</div>\n{}{}{}{}\
         <div class=\"pair\">{}{}</div></div>",
        escaped(&view.id.name),
        badge(view),
        facts(view),
        words::why(view.diagnosis.state),
        buttons(view, browser),
        latency(look, view),
        view.consent.as_ref().map(|it| consent(view, it, browser)),
        view.diagnosis
            .question
            .as_ref()
            .map(|it| approval::one(view, it, browser)),
        view.diagnosis
            .fault()
            .filter(|_| {
                let is_asked = view.diagnosis.question.is_some() || view.consent.is_some();
                !is_asked && !view.wants_sign_in()
            })
            .map(|code| fault(&view.diagnosis, code)),
        variables(view, browser),
        sign_in(view),
        declared(view),
    )
}

fn consent(view: &ServerView, consent: &Consent, browser: &BrowserSession) -> Html {
    let go = match Link::new(&consent.page) {
        Some(link) => html!(
            "<a class=\"button main\" id=\"consent\" href=\"{}\" target=\"_blank\" \
             rel=\"noopener noreferrer\">Continue at {}</a>",
            link,
            host_of(&consent.page),
        ),
        None => html!(
            "<p class=\"bad\">The server named a page address that cannot be opened safely.</p>"
        ),
    };
    let left = consent.ends_at.saturating_duration_since(Instant::now());
    let left = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    html!(
        "<section class=\"panel ask\"><h2>Sign in</h2>{}\
         <p>Keyway asks <strong>{}</strong>{} for:</p>{}{}\
         <div class=\"buttons\">{}{}<span class=\"soft\">{} left</span></div>\
         <p class=\"hint\">The page opens in a new tab; agree there. This page updates when it is done.</p>\
         </section>\n",
        (consent.wanted_by == WantedBy::Client).then(|| html!(
            "<p>A client is calling <strong>{}</strong> and waits for you.</p>",
            view.id.name,
        )),
        consent.issuer,
        consent
            .client
            .as_ref()
            .map(|client| html!(" as <code>{}</code>", client)),
        scopes(&consent.scopes, &consent.new_scopes),
        consent.code.as_ref().map(|code| html!(
            "<p>Enter this code: <strong class=\"code\">{}</strong></p>",
            code
        )),
        go,
        button(&view.id, Action::Cancel, "Cancel", "plain", browser),
        words::seconds(left),
    )
}

/// Names the host of a page, which may be another than the issuer's.
fn host_of(page: &Url) -> String {
    let host = page.host_str().unwrap_or_default();
    match page.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Lists scopes as the server names them; a step-up marks the new ones.
fn scopes(all: &[String], new: &[String]) -> Html {
    if all.is_empty() {
        return html!("<p>the server's default scopes</p>");
    }
    let is_step_up = new.len() < all.len();
    let items: Html = all
        .iter()
        .map(|scope| {
            let is_new = is_step_up && new.contains(scope);
            html!(
                "<li><code>{}</code>{}</li>",
                scope,
                is_new.then(|| html!(" <strong class=\"new\">new</strong>")),
            )
        })
        .collect();
    html!("<ul class=\"scopes\">{}</ul>", items)
}

fn fault(found: &Diagnosis, code: Code) -> Html {
    let lines = (!found.last_lines.is_empty()).then(|| {
        html!(
            "<h3>Its last output</h3><pre tabindex=\"0\">{}</pre>",
            Lines(&found.last_lines.join("\n")),
        )
    });
    let place = found.fault_at.as_ref();
    let place = place.map(|at| format!("{}:{}:{}", at.file, at.start.line, at.start.column));
    html!(
        "<section class=\"panel bad\" id=\"fault\" data-state=\"{}\" data-reason=\"{}\" \
         data-fixable-by=\"{}\"><h2>What is wrong</h2>\
         <p><strong>{}</strong> <code>{}</code></p>{}{}\
         <h3>Why</h3><p>{}</p><h3>How to fix it</h3><p class=\"fix\">{}</p>\
         <p class=\"hint\">Found at the stage <em>{}</em>. More: <code>keyway explain {}</code></p>\
         </section>\n",
        found.state.state.as_str(),
        found.state.reason.map_or("", |reason| reason.as_str()),
        code.fixer().as_str(),
        Ticked(&found.message),
        code.as_str(),
        place.map(|place| html!("<p class=\"soft\">at <code>{}</code></p>", place)),
        lines,
        Ticked(&one_line(code.why())),
        fix(found.hint.as_deref().unwrap_or_default()),
        found.stage.as_str(),
        code.as_str(),
    )
}

/// Asks for the variables that only the vault can have: those that are missing, and those that it has.
fn variables(view: &ServerView, browser: &BrowserSession) -> Option<Html> {
    let is_ours = |it: &&Variable| !it.is_set || it.origin == Some(Origin::Vault);
    let is_missing = |it: &Variable| !it.is_set && !it.has_default;
    let all = || view.diagnosis.variables.iter().filter(is_ours);
    all().next()?;
    let forms: Html = all().map(|it| variable_form(view, it, browser)).collect();
    let class = match all().any(is_missing) {
        true => "panel ask",
        false => "panel",
    };
    Some(html!(
        "<section class=\"{}\" id=\"variables\"><h2>Your variables</h2>{}\
         <p class=\"hint\">A value goes to the vault, as by <code>keyway env set NAME</code>, and is \
         never shown again.</p></section>\n",
        class,
        forms,
    ))
}

fn variable_form(view: &ServerView, variable: &Variable, browser: &BrowserSession) -> Html {
    let (id, label) = (format!("v-{}", variable.name), &variable.name);
    html!(
        "<form method=\"post\" action=\"{}\" class=\"row\">{}\
         <input type=\"hidden\" name=\"name\" value=\"{}\">\
         <div class=\"field\"><label for=\"{}\"><code>{}</code></label>\
         <input id=\"{}\" name=\"value\" type=\"password\" required autocomplete=\"off\"></div>\
         <button class=\"{}\">{}<span class=\"unseen\"> {}</span></button></form>",
        paths::act(browser.base(), &view.id, Action::SetVariable),
        mark(browser),
        label,
        id,
        label,
        id,
        if variable.is_set { "plain" } else { "main" },
        if variable.is_set { "Replace" } else { "Set" },
        label,
    )
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A sentence in which every command stands apart, to be copied.
fn fix(hint: &str) -> Html {
    let mut all = Html::default();
    let mut rest = hint;
    while let Some((before, from)) = command_in(rest) {
        let ends = ["; ", ", or "].iter().filter_map(|end| from.find(end));
        let (command, after) = from.split_at(ends.min().unwrap_or(from.len()));
        all.push(&html!(
            "{}<code class=\"copy\">{}</code>",
            Ticked(before),
            command,
        ));
        rest = after;
    }
    all.push(&html!("{}", Ticked(rest)));
    all
}

/// Finds the first command of a sentence: at its beginning, after a colon or after `then`.
fn command_in(hint: &str) -> Option<(&str, &str)> {
    let places = ["keyway ", "export ", "sleep "]
        .iter()
        .flat_map(|start| hint.match_indices(start));
    let mut splits = places.map(|(at, _)| hint.split_at(at));
    let begins = |(before, _): &(&str, &str)| {
        let leads = before.is_empty() || before.ends_with(": ") || before.ends_with("then ");
        leads && before.matches('`').count().is_multiple_of(2)
    };
    let mut first = splits.find(begins)?;
    for split in splits.filter(begins) {
        if split.0.len() < first.0.len() {
            first = split;
        }
    }
    Some(first)
}

fn sign_in(view: &ServerView) -> Option<Html> {
    if view.diagnosis.method != Some(Method::OAuth) {
        return None;
    }
    let Some(sign_in) = &view.diagnosis.sign_in else {
        let words = match view.diagnosis.state.state {
            State::Connected if view.is_open => "It needs no sign-in.",
            State::Connected => "Not signed in; it answers without a sign-in.",
            _ => "Not signed in.",
        };
        return view.consent.is_none().then(|| {
            html!(
                "<section class=\"panel\"><h2>Sign-in</h2><p class=\"soft\">{}</p></section>\n",
                words,
            )
        });
    };
    Some(html!(
        "<section class=\"panel\"><h2>Sign-in</h2><dl><dt>Account</dt><dd>{}</dd>\
         <dt>At</dt><dd>{}</dd><dt>Token</dt><dd>{}</dd><dt>Scopes</dt><dd>{}</dd></dl></section>\n",
        sign_in
            .account
            .as_deref()
            .unwrap_or("not named by the server"),
        sign_in.issuer,
        bar(view, sign_in),
        scopes(&sign_in.scopes, &sign_in.scopes),
    ))
}

fn declared(view: &ServerView) -> Html {
    let variables: Html = view.diagnosis.variables.iter().map(variable).collect();
    let variables = (!view.diagnosis.variables.is_empty()).then(|| {
        html!(
            "<dt>Variables</dt><dd><ul class=\"plain\">{}</ul></dd>",
            variables
        )
    });
    html!(
        "<section class=\"panel\"><h2>Declared</h2><dl><dt>In</dt><dd><code>{}</code></dd>\
         <dt>Reached by</dt><dd>{}</dd><dt>Authenticates by</dt><dd>{}</dd>{}{}{}</dl></section>\n",
        view.place(),
        words::transport(view.diagnosis.transport),
        words::method(view),
        view.offers()
            .map(|offers| html!("<dt>Offers</dt><dd>{}</dd>", offers)),
        view.diagnosis
            .protection
            .as_ref()
            .map(|words| html!("<dt>Isolation</dt><dd id=\"isolation\">{}</dd>", words)),
        variables,
    )
}

fn variable(variable: &Variable) -> Html {
    let (class, words) = match (variable.is_set, variable.has_default) {
        (true, _) => ("good", "set"),
        (false, true) => ("soft", "not set, has a default"),
        (false, false) => ("bad", "missing"),
    };
    html!(
        "<li><code>{}</code> <span class=\"{}\">{}</span></li>",
        variable.name,
        class,
        words,
    )
}

fn tools(look: &Look, view: &ServerView, browser: &BrowserSession) -> Html {
    let items: Html = view
        .tools
        .iter()
        .take(MOST_TOOLS)
        .map(|it| item(look, view, it, browser))
        .collect();
    let body = if view.tools.is_empty() {
        html!("<p class=\"soft\">Listed after the first connection.</p>")
    } else {
        html!("<ul class=\"tools\">{}</ul>", items)
    };
    html!("<section id=\"tools\"><h2>Tools</h2>{}</section>", body)
}

fn item(look: &Look, view: &ServerView, tool: &Tool, browser: &BrowserSession) -> Html {
    let about = tool.description.as_deref().unwrap_or_default();
    let about: String = about.chars().take(MOST_WORDS).collect();
    html!(
        "<li><a href=\"{}\"><strong>{}</strong>{}</a>{}</li>",
        paths::tool(browser.base(), &view.id, &tool.name),
        tool.name,
        (!about.is_empty()).then(|| html!(" <span class=\"soft\">{}</span>", about)),
        policy::chip(look, view, tool),
    )
}

fn recent(look: &Look, view: &ServerView) -> Html {
    html!(
        "<div id=\"activity\">{}</div>",
        activity::table(look.of(&view.id)),
    )
}

/// Shows what the programs of a server printed, if there is anything.
fn log(view: &ServerView) -> Html {
    let lines = (!view.log.is_empty()).then(|| {
        html!(
            "<section><h2>Log</h2><pre tabindex=\"0\">{}</pre>\
             <p class=\"hint\">More: <code>keyway logs {}</code></p></section>",
            Lines(&view.log.join("\n")),
            view.id.name,
        )
    });
    html!("<div id=\"log\">{}</div>", lines)
}

const MOST_TOOLS: usize = 500;
const MOST_WORDS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_helps_stands_apart() {
        let copy = |command: &str| format!("<code class=\"copy\">{command}</code>");
        let (doctor, set) = (copy("keyway doctor"), copy("keyway env set A"));
        let (wait, export) = (copy("sleep 7 &amp;&amp; keyway doctor"), copy("export A=…"));
        for (hint, written) in [
            ("keyway doctor", doctor.clone()),
            (
                "check `url`; then keyway doctor",
                format!("check <code>url</code>; then {doctor}"),
            ),
            (
                "export A=…, or keep it: keyway env set A",
                format!("{export}, or keep it: {set}"),
            ),
            ("sleep 7 && keyway doctor", wait),
            (
                "`keyway login` helps; update keyway first",
                "<code>keyway login</code> helps; update keyway first".to_owned(),
            ),
        ] {
            assert_eq!(fix(hint).as_str(), written, "{hint}");
        }
    }

    #[test]
    fn log_of_a_server_is_shown_escaped_if_there_is_any() {
        let mut view = ServerView::new(Diagnosis::new("p", "s"));
        assert_eq!(log(&view).as_str(), "<div id=\"log\"></div>");
        view.log = vec!["one".to_owned(), "<b>two</b>".to_owned()];
        let made = log(&view);
        assert!(made.as_str().contains("one\n&lt;b&gt;two&lt;/b&gt;</pre>"));
        assert!(made.as_str().contains("keyway logs s"));
    }
}
