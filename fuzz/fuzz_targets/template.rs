//! A template is cut without loss, expands to what it says, and every reference found lies in it.

#![no_main]

use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::reference::{foreign_parts, lookalike, lookalikes_between_separators};
use keyway_config::template::{Foreign, Part, Template, is_variable_name};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let template = Template::parse(text);
    assert_eq!(template.as_str(), text);
    check_parts(&template);
    assert_eq!(template.masked().len(), text.len());
    for reference in foreign_parts(&template)
        .into_iter()
        .chain(lookalike(&template))
        .chain(lookalikes_between_separators(&template))
    {
        assert!(
            text.get(reference.range)
                .is_some_and(|text| !text.is_empty())
        );
        assert!(reference.name.is_none_or(|name| is_variable_name(&name)));
    }
    check_expansion(&template);
});

/// The parts follow each other from the first byte to the last.
fn check_parts(template: &Template) {
    let mut at = 0;
    for part in template.parts() {
        let range = part.range();
        assert_eq!(range.start, at, "{template:?}");
        assert!(template.as_str().get(range.clone()).is_some());
        if let Part::Variable(variable) = part {
            let default = template.as_str().get(variable.default_range.clone());
            assert_eq!(default, Some(variable.default.as_deref().unwrap_or("")));
            assert!(is_variable_name(&variable.name));
        }
        at = range.end;
    }
    assert_eq!(at, template.as_str().len(), "{template:?}");
}

/// Expanding puts in values and takes out escapes; values are not looked at again.
fn check_expansion(template: &Template) {
    let value = "${A}$${";
    let names = template
        .variables()
        .map(|variable| (&*variable.name, value));
    let variables = Variables::from_pairs(names.collect::<Vec<_>>());
    let host = HostVariables::default();
    let scope = Scope::new(&host, &variables);
    let Ok(expanded) = template.expand(&scope, Foreign::Keep) else {
        // The host's own variables have no value here.
        return;
    };
    let mut expected = String::new();
    for part in template.parts() {
        let written = &template.as_str()[part.range()];
        match part {
            Part::Literal { .. } => expected.push_str(&written.replace("$${", "${")),
            Part::Variable(variable) if scope.is_set(&variable.name) => expected.push_str(value),
            Part::Variable(variable) => {
                expected.push_str(variable.default.as_deref().unwrap_or_default());
            }
            _ => expected.push_str(written),
        }
    }
    assert_eq!(expanded.expose(), &expected);
}
