//! References in the syntax of other hosts are told from text, each by one example.

use super::*;
use crate::template::VariableSyntax;

fn foreign(text: &str) -> (ReferenceSyntax, Option<String>) {
    let mut found = foreign_parts(&Template::parse(text));
    assert_eq!(found.len(), 1, "{text}");
    let reference = found.remove(0);
    (reference.syntax, reference.name)
}

fn like(text: &str) -> Option<(ReferenceSyntax, &str)> {
    let reference = lookalike(&Template::parse(text))?;
    Some((reference.syntax, &text[reference.range]))
}

#[test]
fn braces_of_other_hosts_are_told_apart() {
    let named = |name: &str| Some(name.to_owned());
    for (text, syntax, name) in [
        (
            "${input:api-key}",
            ReferenceSyntax::VsCode,
            named("API_KEY"),
        ),
        ("${command:x.y}", ReferenceSyntax::VsCode, None),
        (
            "${user_config.api_token}",
            ReferenceSyntax::DesktopExtension,
            named("API_TOKEN"),
        ),
        (
            "${{ secrets.TOKEN }}",
            ReferenceSyntax::Actions,
            named("TOKEN"),
        ),
        ("${VAR%x}", ReferenceSyntax::ShellExpansion, None),
        ("${VAR:?unset}", ReferenceSyntax::ShellExpansion, None),
        ("${#VAR}", ReferenceSyntax::ShellExpansion, None),
        ("${VAR-x}", ReferenceSyntax::ShellExpansion, named("VAR")),
        ("${A:-${B}}", ReferenceSyntax::NestedDefault, None),
        ("${VAR", ReferenceSyntax::Unclosed, None),
        ("${my-key}", ReferenceSyntax::Other, None),
        ("${}", ReferenceSyntax::Other, None),
    ] {
        assert_eq!(foreign(text), (syntax, name), "{text}");
    }
}

#[test]
fn a_variable_of_the_contract_in_a_file_whose_host_fills_in_none_has_its_name() {
    for (text, name, default) in [
        ("${TOKEN}", "TOKEN", None),
        ("${env:TOKEN}", "TOKEN", None),
        ("${MODE:-fast}", "MODE", Some("fast")),
    ] {
        let found = foreign_parts(&Template::parse_as(text, &VariableSyntax::NONE));
        assert_eq!(found[0].syntax, ReferenceSyntax::Contract, "{text}");
        assert_eq!(found[0].name.as_deref(), Some(name), "{text}");
        assert_eq!(found[0].default.as_deref(), default, "{text}");
    }
}

#[test]
fn both_braces_of_an_actions_expression_are_covered() {
    let text = "Bearer ${{ secrets.T }}";
    let found = foreign_parts(&Template::parse(text));
    assert_eq!(&text[found[0].range.clone()], "${{ secrets.T }}");
}

#[test]
fn whole_values_and_what_follows_a_scheme_are_recognised() {
    for (text, syntax, reference) in [
        ("$API_TOKEN", ReferenceSyntax::Shell, "$API_TOKEN"),
        ("Bearer $API_TOKEN", ReferenceSyntax::Shell, "$API_TOKEN"),
        ("token  %TOKEN% ", ReferenceSyntax::Windows, "%TOKEN%"),
        ("{env:TOKEN}", ReferenceSyntax::Opencode, "{env:TOKEN}"),
        (
            "Basic {{ vars.TOKEN }}",
            ReferenceSyntax::Mustache,
            "{{ vars.TOKEN }}",
        ),
        ("$env:TOKEN", ReferenceSyntax::PowerShell, "$env:TOKEN"),
        ("$(cat token)", ReferenceSyntax::Shell, "$(cat token)"),
    ] {
        assert_eq!(like(text), Some((syntax, reference)), "{text}");
    }
}

#[test]
fn passwords_patterns_and_commands_are_not_taken_for_references() {
    for text in [
        "",
        "$",
        "$ecret",
        "pa$$WORD",
        "hunter$NAME",
        "^[a-z]+$",
        "100%",
        "%",
        "%%",
        "%d%s%",
        "a %B% c",
        "{name}",
        "{\"a\": 1}",
        "{{#each x}}",
        "echo $HOME",
        "${API_TOKEN}",
        "Bearer ${API_TOKEN}",
        "$1",
    ] {
        assert_eq!(like(text), None, "{text}");
    }
}

#[test]
fn references_between_the_separators_of_an_address_are_recognised() {
    let found = |text: &str| -> Vec<String> {
        let references = lookalikes_between_separators(&Template::parse(text));
        references
            .into_iter()
            .map(|r| text[r.range].to_owned())
            .collect()
    };
    assert_eq!(found("https://$HOST:8080/mcp"), ["$HOST"]);
    assert_eq!(found("https://{env:HOST}.h.example/mcp"), ["{env:HOST}"]);
    assert_eq!(
        found("https://%TENANT%.h.example/{{ID}}"),
        ["%TENANT%", "{{ID}}"]
    );
    assert_eq!(found("${BASE}/x?k=$API_KEY"), ["$API_KEY"]);
    assert_eq!(found("$HOME/work"), ["$HOME"]);
    for text in [
        "https://h.example/?$top=5&$filter=a",
        "https://h.example/%41%",
        "https://h.example/a%20b%20c",
        "https://h.example/{id}",
        "https://[::1]:80/$metadata",
    ] {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn names_are_respelt_as_environment_variables() {
    assert_eq!(
        environment_name("jenkins-basic auth").as_deref(),
        Some("JENKINS_BASIC_AUTH")
    );
    assert_eq!(environment_name("9lives"), None);
    assert_eq!(environment_name("--"), None);
}
