//! What a person reads before they decide: of one server, or of all servers of a plugin at once.

use keyway::approval::{Changes, Fact, FactKind, Protection, Question};
use keyway_secret::escaped;

use super::parts::mark;
use super::{Look, Region};
use crate::backend::ServerView;
use crate::browser_session::BrowserSession;
use crate::html::{Html, Lines, Ticked, html};
use crate::paths::{self, Action};
use crate::words;

/// The question about one server, on its own page.
pub(super) fn one(view: &ServerView, question: &Question, browser: &BrowserSession) -> Html {
    let action = paths::act(browser.base(), &view.id, Action::Approve);
    html!(
        "<section class=\"panel ask\"><h2>Approve what it does</h2>\
         <p>A plugin isn't trusted just because it's there. This entry, in <code>{}</code>:</p>{}{}\
         <p class=\"hint\">The approval holds for exactly this; a change asks again.</p></section>\n",
        escaped(&question.source.to_string_lossy()),
        shown("it", question),
        form(&action, &[question], None, browser),
    )
}

/// Everything of a plugin that waits for an approval; it is empty if nothing does.
pub(super) fn all(look: &Look, plugin: &str, browser: &BrowserSession) -> Html {
    let waiting: Vec<(&ServerView, &Question)> = waiting(look, plugin).collect();
    let servers = waiting.iter().map(|(view, question)| {
        let name = escaped(&view.id.name);
        html!(
            "<section class=\"panel ask\"><h2>{}</h2><p>In <code>{}</code>:</p>{}</section>\n",
            name,
            escaped(&question.source.to_string_lossy()),
            shown(&name, question),
        )
    });
    let servers: Html = servers.collect();
    let questions: Vec<&Question> = waiting.iter().map(|(_, question)| *question).collect();
    let body = if questions.is_empty() {
        html!("<p class=\"soft\">Nothing of it waits for your approval.</p>")
    } else {
        html!(
            "<p>A plugin isn't trusted just because it's there. Read what each of its servers does; one \
             answer counts for all of them.</p>\n{}{}\
             <p class=\"hint\">The approval holds for exactly this; a change asks again.</p>",
            servers,
            form(
                &paths::plugin(browser.base(), plugin),
                &questions,
                Some(questions.len()),
                browser
            ),
        )
    };
    html!("<div id=\"approvals\">{}</div>", body)
}

pub(super) fn page(look: &Look, plugin: &str, browser: &BrowserSession) -> Html {
    html!(
        "<p class=\"path\"><a href=\"{}/\">Servers</a></p>\n<h1>Approve {}</h1>\n{}",
        browser.base(),
        escaped(plugin),
        all(look, plugin, browser),
    )
}

pub(super) fn regions(look: &Look, plugin: &str, browser: &BrowserSession) -> Vec<Region> {
    vec![Region {
        id: "approvals".to_owned(),
        html: all(look, plugin, browser),
    }]
}

/// Invites to read several servers of a plugin at once.
pub(super) fn invitation(look: &Look, plugin: &str, browser: &BrowserSession) -> Option<Html> {
    let count = waiting(look, plugin).count();
    (count > 1).then(|| {
        html!(
            " <a class=\"button plain\" href=\"{}\">Review all {}<span class=\"unseen\"> of {}</span></a>",
            paths::plugin(browser.base(), plugin),
            count,
            plugin,
        )
    })
}

fn waiting<'a>(
    look: &'a Look,
    plugin: &'a str,
) -> impl Iterator<Item = (&'a ServerView, &'a Question)> {
    let views = look
        .servers
        .iter()
        .filter(move |view| view.id.plugin == plugin);
    views.filter_map(|view| Some((view, view.diagnosis.question.as_ref()?)))
}

/// The buttons, with the digest of everything that stands above them.
fn form(
    action: &str,
    questions: &[&Question],
    several: Option<usize>,
    browser: &BrowserSession,
) -> Html {
    let digests = questions.iter().map(|question| {
        html!(
            "<input type=\"hidden\" name=\"digest\" value=\"{}\">",
            question.digest.to_string(),
        )
    });
    let digests: Html = digests.collect();
    let can_confine = questions.iter().any(|it| it.confined().is_some());
    let label = several.map_or("Approve".to_owned(), |count| format!("Approve all {count}"));
    html!(
        "<form method=\"post\" action=\"{}\" class=\"buttons\">{}{}\
         <button class=\"main\" id=\"approve\" name=\"answer\" value=\"yes\">{}</button>{}{}</form>{}",
        action,
        mark(browser),
        digests,
        label,
        can_confine.then(|| html!(
            "<button class=\"plain\" id=\"approve-confined\" name=\"answer\" \
             value=\"confined\">{}, confined</button>",
            label,
        )),
        several.map(|_| html!(
            "<button class=\"plain\" id=\"refuse\" name=\"answer\" value=\"no\">Approve none</button>"
        )),
        can_confine.then(|| html!("<p class=\"hint\">{}</p>", words::CONFINED)),
    )
}

/// All that is approved of one server, and before it what changed since it was approved.
fn shown(name: &str, question: &Question) -> Html {
    let protection = question.protection.as_ref();
    let facts: Html = question
        .facts
        .iter()
        .map(|it| fact(it, protection))
        .collect();
    html!(
        "{}<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What {} does\">\
         <table class=\"facts\"><tbody>{}</tbody></table></div>",
        question.changes.as_ref().map(changes),
        name,
        facts,
    )
}

/// One line of what is approved; it is hashed as it is shown.
fn fact(fact: &Fact, protection: Option<&Protection>) -> Html {
    let caution = fact.caution.as_ref();
    let protection = protection.filter(|_| fact.kind == FactKind::Confinement);
    html!(
        "<tr><th scope=\"row\">{}</th><td><code>{}</code>{}{}</td></tr>",
        fact.kind.label(),
        fact.text(),
        caution.map(|caution| html!("<p class=\"bad\">{}</p>", Ticked(&escaped(caution)))),
        protection.map(|it| html!(
            "<p class=\"{}\">here: {}</p>",
            if it.is_complete { "soft" } else { "bad" },
            escaped(&it.words),
        )),
    )
}

/// What differs from what the person approved before.
fn changes(changes: &Changes) -> Html {
    html!(
        "<h3>Since you approved it</h3><pre class=\"changes\" tabindex=\"0\">{}</pre>\
         <h3>All of it</h3>",
        Lines(&changes.lines_with_files(MOST_FILES).join("\n")),
    )
}

/// A page with more of them takes long to send and to read.
const MOST_FILES: usize = 1000;
