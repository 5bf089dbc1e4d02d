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

#[test]
fn a_brace_inside_a_default_closes_nothing_but_what_it_opened() {
    assert_eq!(expand("${NONE:-{x}").as_deref(), Ok("{x"));
    let text = "${A:-${B}}x${A}";
    let template = Template::parse(text);
    let ranges: Vec<_> = template.parts().iter().map(Part::range).collect();
    assert_eq!(ranges, [0..10, 10..11, 11..15]);
    assert!(matches!(template.parts()[0], Part::Foreign { .. }));
    assert_eq!(template.literal_text(), "x");
    assert_eq!(template.to_string(), text);
}

#[test]
fn an_error_is_named_once_and_of_many_the_first() {
    assert_eq!(expand("${NONE} ${NONE}").unwrap_err().len(), 1);
    let many: String = (0..MOST_ERRORS + 8).map(|n| format!("${{N{n}}}")).collect();
    let errors = expand(&many).unwrap_err();
    assert_eq!(errors.len(), MOST_ERRORS);
    assert_eq!(errors[0].to_string(), "variable `N0` is not set");
}

#[test]
fn a_name_is_letters_digits_and_underscores_and_begins_with_no_digit() {
    for name in ["a", "A", "_", "_a1", "A_1", "z9"] {
        assert!(is_variable_name(name), "{name}");
    }
    for name in ["", "1", "1a", "a-b", "a.b", "a b", "é", "aé", "-a"] {
        assert!(!is_variable_name(name), "{name}");
    }
}

#[test]
fn a_dollar_in_front_escapes_only_where_the_host_says_so() {
    let syntax = VariableSyntax::of(&[VariableForm::Plain]);
    let template = Template::parse_as("$${A}", &syntax);
    assert_eq!(template.literal_text(), "$");
    assert_eq!(template.variables().count(), 1);
    assert!(Template::parse("$${A}").is_literal());
}
