use super::*;
use crate::environment::{HostVariables, Variables};

fn expand(text: &str) -> Result<String, Vec<ExpandError>> {
    let variables = Variables::from_pairs([("A", "1"), ("EMPTY", ""), ("API_TOKEN", "${A}")]);
    let host = HostVariables::default();
    let scope = Scope::new(&host, &variables);
    Template::parse(text)
        .expand(&scope, Foreign::Refuse)
        .map(|value| value.expose().clone())
}

#[test]
fn every_spelling_of_the_contract_expands() {
    for (text, expected) in [
        ("", ""),
        ("plain $ text }", "plain $ text }"),
        ("${A}", "1"),
        ("x${A}y${A}z", "x1y1z"),
        ("${env:A}", "1"),
        ("${A:-d}", "1"),
        ("${NONE:-d}", "d"),
        ("${env:NONE:-d e}", "d e"),
        ("${EMPTY:-d}", "d"),
        ("${NONE:-}", ""),
        ("${NONE:-a:-b}", "a:-b"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("a$${A}b${A}", "a${A}b1"),
        ("$A", "$A"),
    ] {
        assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn inserted_text_is_not_expanded_again() {
    assert_eq!(expand("${API_TOKEN}").as_deref(), Ok("${A}"));
}

#[test]
fn unset_and_empty_variables_are_both_errors_and_all_are_named() {
    let errors = expand("${NONE} ${EMPTY} ${API_TOKN}").unwrap_err();
    let names: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        [
            "variable `NONE` is not set",
            "variable `EMPTY` is not set",
            "variable `API_TOKN` is not set"
        ]
    );
    assert!(matches!(&errors[2], ExpandError::Unset { near, .. } if near == &["API_TOKEN"]));
}

#[test]
fn other_syntaxes_are_kept_apart_and_never_half_expanded() {
    for text in [
        "${input:key}",
        "${user_config.k}",
        "${A%x}",
        "${A",
        "${A:-${B}}",
        "${1A}",
        "${}",
        "${A:x}",
    ] {
        let template = Template::parse(text);
        assert_eq!(
            template.parts(),
            [Part::Foreign {
                range: 0..text.len()
            }],
            "{text}"
        );
        assert!(
            matches!(expand(text).unwrap_err()[..], [ExpandError::Foreign { .. }]),
            "{text}"
        );
    }
}

#[test]
fn parts_cover_the_template_without_gap_or_overlap() {
    let text = "a$${b${C:-d}é${input:x}${";
    let mut at = 0;
    for part in Template::parse(text).parts() {
        assert_eq!(part.range().start, at);
        at = part.range().end;
    }
    assert_eq!(at, text.len());
}

#[test]
fn the_default_is_located() {
    let text = "x${A:-secret}";
    let template = Template::parse(text);
    let variable = template.variables().next().unwrap();
    assert_eq!(&text[variable.default_range.clone()], "secret");
}

#[test]
fn masking_keeps_every_offset_and_hides_what_stands_in_a_reference() {
    for text in ["a${X:-b?c@d}e", "ö${X}$${Y}", "${input:a}", "plain", ""] {
        let masked = Template::parse(text).masked();
        assert_eq!(masked.len(), text.len(), "{text}");
    }
    assert_eq!(Template::parse("a${X:-?}e").masked(), "a\0\0\0\0\0\0\0e");
}
