//! Rules for tools, and calls that wait until a person allows them.

use keyway::settings::ToolRule;
use serde_json::Value;
use tokio::time::Instant;

use super::Look;
use super::parts::mark;
use crate::backend::{ServerView, Tool};
use crate::browser_session::BrowserSession;
use crate::html::{Html, html};
use crate::paths::{self, Action};
use crate::words;
use keyway_policy::{Policies, RuleView, ToolQuestion, ToolState};

/// The calls that wait, of all servers; empty where none does.
pub(super) fn questions(look: &Look, browser: &BrowserSession) -> Html {
    let questions = look.policies.as_ref().map(|it| it.questions());
    let questions = questions.unwrap_or_default();
    let panels: Html = questions.iter().map(|it| question(it, browser)).collect();
    html!("<div id=\"questions\">{}</div>", panels)
}

fn question(question: &ToolQuestion, browser: &BrowserSession) -> Html {
    let left = question
        .ends_at
        .saturating_duration_since(Instant::now().into_std());
    // In steps, so that the panel is not replaced under a finger every second.
    let left = i64::try_from(left.as_secs().div_ceil(15) * 15).unwrap_or_default();
    html!(
        "<section class=\"panel ask\" id=\"question-{}\"><h2>A call waits for you</h2>\
         <p><strong>{}</strong> wants to call <strong>{}</strong> of <strong>{}</strong> with:</p>\
         <pre tabindex=\"0\">{}</pre>{}\
         <form method=\"post\" action=\"{}\" class=\"buttons\">{}\
         <input type=\"hidden\" name=\"question\" value=\"{}\">\
         <button class=\"main\" name=\"answer\" value=\"yes\">Allow this call</button>\
         <button class=\"plain\" name=\"answer\" value=\"no\">Refuse</button>\
         <span class=\"soft\">about {} left</span></form></section>\n",
        question.id.to_string(),
        question.client.as_deref().unwrap_or("A process of yours"),
        question.tool,
        question.server,
        question.arguments,
        left_out(question),
        paths::answer(browser.base()),
        mark(browser),
        question.id.to_string(),
        words::seconds(left),
    )
}

/// Says that there is more than is shown.
fn left_out(question: &ToolQuestion) -> Html {
    let shown = question.arguments.chars().count();
    match shown < question.argument_chars {
        true => html!(
            "<p class=\"hint\">These are the first {} of {} characters; the rest is too long to be shown.</p>",
            shown.to_string(),
            question.argument_chars.to_string(),
        ),
        false => Html::default(),
    }
}

/// A word beside a tool in a list, if there is anything to say of it.
pub(super) fn chip(look: &Look, view: &ServerView, tool: &Tool) -> Option<Html> {
    let policies = look.policies.as_ref()?;
    let word = match (
        state(policies, view, tool),
        rule(policies, view, &tool.name),
    ) {
        (ToolState::New, _) => "new: denied",
        (ToolState::Changed, _) => "changed: denied",
        (_, Some(ToolRule::Deny)) => "denied",
        (_, Some(ToolRule::Ask)) => "asks you",
        _ => return None,
    };
    Some(html!(" <span class=\"chip\">{}</span>", word))
}

/// Returns the rule for all clients that names a tool, or stands for it; the stricter of two.
fn rule(policies: &Policies, view: &ServerView, tool: &str) -> Option<ToolRule> {
    let rules = policies.rules(&view.id.plugin, &view.id.name);
    let of = |is_in_config: bool, name: &str| {
        let mut own = rules.iter();
        let is_it = |it: &&RuleView| {
            it.client.is_none() && it.is_in_config == is_in_config && it.tool == name
        };
        own.find(is_it).map(|it| it.rule)
    };
    let found = [true, false].map(|place| of(place, tool).or_else(|| of(place, "*")));
    let strictness = |rule: &ToolRule| ToolRule::WORDS.iter().position(|it| *it == rule.as_str());
    found.into_iter().flatten().max_by_key(strictness)
}

fn state(policies: &Policies, view: &ServerView, tool: &Tool) -> ToolState {
    let server = (view.id.plugin.as_str(), view.id.name.as_str());
    match tool.digest {
        Some(digest) => policies.tool_state(server, &tool.name, digest),
        None => ToolState::Known,
    }
}

/// Who may call a tool, and a form to change it.
pub(super) fn panel(
    look: &Look,
    view: &ServerView,
    tool: &Tool,
    browser: &BrowserSession,
) -> Option<Html> {
    let (policies, digest) = (look.policies.as_ref()?, tool.digest?);
    let rules = policies.rules(&view.id.plugin, &view.id.name);
    let own = rules
        .iter()
        .filter(|it| it.tool == tool.name || it.tool == "*");
    let lines: Html = own.map(line).collect();
    let hidden = html!(
        "{}<input type=\"hidden\" name=\"tool\" value=\"{}\">\
         <input type=\"hidden\" name=\"digest\" value=\"{}\">",
        mark(browser),
        tool.name,
        digest.to_string(),
    );
    let options = ToolRule::WORDS
        .iter()
        .map(|word| html!("<option value=\"{}\">{}</option>", *word, *word));
    let options: Html = options.collect();
    Some(html!(
        "<section class=\"panel\" id=\"policy\"><h2>Which clients may call it</h2>{}{}\
         <ul class=\"plain\">{}</ul>\
         <form method=\"post\" action=\"{}\">{}\
         <div class=\"field\"><label for=\"policy-client\">Client</label>\
         <input id=\"policy-client\" name=\"client\" autocomplete=\"off\" \
         aria-describedby=\"policy-hint\">\
         <p class=\"hint\" id=\"policy-hint\">The name of its gateway token; empty for all clients.</p></div>\
         <div class=\"field\"><label for=\"policy-rule\">Rule</label>\
         <select id=\"policy-rule\" name=\"rule\">{}<option value=\"\">no rule</option></select></div>\
         <div class=\"buttons\"><button class=\"main\" id=\"set-rule\">Set rule</button></div></form></section>\n",
        claims(&tool.annotations),
        look_again(view, state(policies, view, tool), &hidden, browser),
        match lines.as_str().is_empty() {
            true => html!("<li class=\"soft\">No rule: every client that reaches the server.</li>"),
            false => lines,
        },
        paths::act(browser.base(), &view.id, Action::Rule),
        hidden,
        options,
    ))
}

fn line(rule: &RuleView) -> Html {
    html!(
        "<li><strong>{}</strong> {}{}{}</li>",
        rule.rule.as_str(),
        match &rule.client {
            Some(client) => html!("for <code>{}</code>", client),
            None => html!("for all clients"),
        },
        (rule.tool == "*").then(|| html!(" <span class=\"soft\">(every tool)</span>")),
        rule.is_in_config
            .then(|| html!(" <span class=\"soft\">in <code>config.toml</code></span>")),
    )
}

fn look_again(
    view: &ServerView,
    state: ToolState,
    hidden: &Html,
    browser: &BrowserSession,
) -> Option<Html> {
    let what = match state {
        ToolState::New => "It is new since this server's tools were looked at",
        ToolState::Changed => "It has changed since it was looked at",
        // Also what a later version may add.
        _ => return None,
    };
    Some(html!(
        "<p class=\"bad\">{}, so clients with a rule may not call it.</p>\
         <form method=\"post\" action=\"{}\" class=\"buttons\">{}\
         <button class=\"main\" id=\"look-at\">I have looked at it</button></form>",
        what,
        paths::act(browser.base(), &view.id, Action::LookAt),
        *hidden,
    ))
}

/// What a server says of its own tool, which nothing checks.
fn claims(annotations: &Value) -> Option<Html> {
    let known = CLAIMS.iter().filter_map(|(name, words)| {
        let is_so = annotations.get(name)?.as_bool()?;
        let answer = if is_so { "yes" } else { "no" };
        Some(html!("<li>{}: <strong>{}</strong></li>", *words, answer))
    });
    let known: Html = known.collect();
    (!known.as_str().is_empty()).then(|| {
        html!(
            "<p>The server's own claim, which nothing checks:</p><ul class=\"plain\" id=\"claims\">{}</ul>",
            known,
        )
    })
}

const CLAIMS: [(&str, &str); 4] = [
    ("readOnlyHint", "only reads"),
    ("destructiveHint", "may destroy or overwrite"),
    ("idempotentHint", "repeating it changes nothing"),
    ("openWorldHint", "reaches other systems"),
];
