//! How a host writes references to variables inside strings.
//!
//! A syntax is data: a list of forms, and the names that the host fills in itself. A value that the
//! host asks a person for becomes a variable as well, under a name that no shell has by accident.

use super::{Part, Variable, is_variable_name};

/// The references that one host replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct VariableSyntax {
    /// The forms that name a person's variable.
    pub forms: &'static [VariableForm],
    /// What stands between `${` and `}` for something that the host knows itself.
    pub known: &'static [(&'static str, KnownValue)],
    /// Whether `$${` stands for the characters `${`.
    pub has_escape: bool,
}

/// A form of reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum VariableForm {
    /// `${NAME}`.
    Plain,
    /// `${NAME:-text}`, and with [`Self::EnvPrefix`] `${env:NAME:-text}`.
    Default,
    /// `${env:NAME}`.
    EnvPrefix,
    /// `$NAME`.
    Dollar,
    /// `{env:NAME}`.
    BraceEnv,
    /// `${input:ID}`, for which the host asks.
    Input,
    /// `${user_config.KEY}`, for which the host asks.
    UserConfig,
    /// `${{ secrets.NAME }}` and `${{ inputs.NAME }}`.
    Expression,
    /// `{name}`, for which the host asks.
    Brace,
    /// `${file:PATH}`, which the host reads. Here it is refused: an approval covers no such file.
    FilePrefix,
}

/// What a name that a host fills in stands for here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KnownValue {
    /// A variable of ours, or one that every process has.
    Variable(&'static str),
    /// A text.
    Text(&'static str),
}

impl VariableSyntax {
    /// The syntax of the contract.
    pub const CONTRACT: Self = Self {
        forms: &[
            VariableForm::Plain,
            VariableForm::Default,
            VariableForm::EnvPrefix,
        ],
        known: &[],
        has_escape: true,
    };

    /// Nothing is replaced.
    pub const NONE: Self = Self {
        forms: &[],
        known: &[],
        has_escape: false,
    };

    /// Returns a syntax of these forms.
    #[must_use]
    pub const fn of(forms: &'static [VariableForm]) -> Self {
        Self {
            forms,
            ..Self::NONE
        }
    }

    /// Adds what the host fills in itself.
    #[must_use]
    pub const fn with(mut self, known: &'static [(&'static str, KnownValue)]) -> Self {
        self.known = known;
        self
    }

    /// Says whether the host replaces anything at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.forms.is_empty() && self.known.is_empty()
    }

    /// Says whether the host knows a form.
    #[must_use]
    pub fn has(&self, form: VariableForm) -> bool {
        self.forms.contains(&form)
    }

    /// Writes a reference to a person's variable in the host's syntax; `None` if it has none.
    #[must_use]
    pub fn write(&self, name: &str) -> Option<String> {
        let form = self.forms.iter().find(|form| form.takes_any_name())?;
        Some(match form {
            VariableForm::EnvPrefix => format!("${{env:{name}}}"),
            VariableForm::BraceEnv => format!("{{env:{name}}}"),
            VariableForm::Expression => format!("${{{{ secrets.{name} }}}}"),
            VariableForm::Dollar => format!("${name}"),
            _ => format!("${{{name}}}"),
        })
    }

    /// The characters with which a reference can begin. Every `${` is looked at, known or not.
    pub(crate) fn beginnings(&self) -> &'static [char] {
        if self.has(VariableForm::BraceEnv) || self.has(VariableForm::Brace) {
            &['$', '{']
        } else {
            &['$']
        }
    }

    /// Reads the reference that begins at `begin`, if one does.
    pub(crate) fn reference(&self, text: &str, begin: usize) -> Option<Part> {
        let rest = text.get(begin..)?;
        if let Some(inside) = rest.strip_prefix("${") {
            return Some(self.in_braces(inside, begin));
        }
        if rest.starts_with('{') {
            return self.in_plain_braces(rest, begin);
        }
        let name = rest.strip_prefix('$')?;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = name.find(|c| !is_letter(c)).unwrap_or(name.len());
        let name = name.get(..length)?;
        let is_one = self.has(VariableForm::Dollar) && is_variable_name(name);
        is_one.then(|| variable(name.to_owned(), begin..begin + 1 + length))
    }

    /// Reads `{env:NAME}`, `{file:path}` or `{name}`.
    fn in_plain_braces(&self, rest: &str, begin: usize) -> Option<Part> {
        let inside = rest.get(1..rest.find('}')?)?;
        let range = begin..begin + inside.len() + 2;
        if self.has(VariableForm::BraceEnv) {
            if let Some(name) = inside.strip_prefix("env:") {
                let name = name.trim();
                return Some(if is_variable_name(name) {
                    variable(name.to_owned(), range)
                } else {
                    Part::Foreign { range }
                });
            }
            if inside.starts_with("file:") {
                return Some(Part::Foreign { range });
            }
        }
        let is_name = inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && inside
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if !self.has(VariableForm::Brace) || !is_name {
            return None;
        }
        Some(variable(input_variable(inside)?, range))
    }

    /// Reads what follows a `${`.
    fn in_braces(&self, rest: &str, begin: usize) -> Part {
        if let Some(part) = self.expression(rest, begin) {
            return part;
        }
        let inside_start = begin + 2;
        let length = closing_brace(rest);
        let end = inside_start + length.map_or(rest.len(), |length| length + 1);
        let range = begin..end;
        let Some(inside) = length.and_then(|length| rest.get(..length)) else {
            return Part::Foreign { range };
        };
        if let Some((_, value)) = self.known.iter().find(|(name, _)| *name == inside) {
            return match value {
                KnownValue::Variable(name) => variable((*name).to_owned(), range),
                KnownValue::Text(text) => Part::Literal {
                    text: (*text).to_owned(),
                    range,
                },
            };
        }
        let asked = [
            (VariableForm::Input, "input:", INPUT),
            (VariableForm::UserConfig, "user_config.", USER_CONFIG),
        ];
        for (form, prefix, ours) in asked {
            if let Some(key) = inside.strip_prefix(prefix).filter(|_| self.has(form)) {
                return match environment_name(key) {
                    Some(name) => variable(format!("{ours}{name}"), range),
                    None => Part::Foreign { range },
                };
            }
        }
        self.environment(inside, range)
    }

    /// Reads the inside of a `${…}` that names a variable of the environment.
    fn environment(&self, inside: &str, range: std::ops::Range<usize>) -> Part {
        let (body, form) = match inside.strip_prefix("env:") {
            Some(body) => (body, VariableForm::EnvPrefix),
            None => (inside, VariableForm::Plain),
        };
        let (name, default) = match body.split_once(":-") {
            Some((name, default)) if self.has(VariableForm::Default) => (name, Some(default)),
            _ => (body, None),
        };
        let is_nested = default.is_some_and(|default| default.contains("${"));
        if !self.has(form) || !is_variable_name(name) || is_nested {
            return Part::Foreign { range };
        }
        let end = range.end;
        Part::Variable(Variable {
            name: name.to_owned(),
            default: default.map(str::to_owned),
            default_range: end - 1 - default.map_or(0, str::len)..end - 1,
            range,
        })
    }

    /// Reads `${{ secrets.NAME }}`.
    fn expression(&self, rest: &str, begin: usize) -> Option<Part> {
        let inside = rest.strip_prefix('{')?;
        let end = inside
            .find("}}")
            .filter(|_| self.has(VariableForm::Expression))?;
        let range = begin..begin + 3 + end + 2;
        let inside = inside.get(..end)?.trim();
        let name = inside.split_once('.').and_then(|(of, name)| match of {
            "secrets" | "env" => is_variable_name(name).then(|| name.to_owned()),
            "inputs" => input_variable(name),
            _ => None,
        });
        Some(match name {
            Some(name) => variable(name, range),
            None => Part::Foreign { range },
        })
    }
}

impl VariableForm {
    /// Says whether any variable of the environment can be named in this form.
    const fn takes_any_name(self) -> bool {
        match self {
            Self::Plain | Self::EnvPrefix | Self::Dollar | Self::BraceEnv | Self::Expression => {
                true
            }
            Self::Default | Self::Input | Self::UserConfig | Self::Brace | Self::FilePrefix => {
                false
            }
        }
    }

    /// Shows the form, for documentation.
    #[must_use]
    pub const fn shown(self) -> &'static str {
        match self {
            Self::Plain => "${NAME}",
            Self::Default => "${NAME:-text}",
            Self::EnvPrefix => "${env:NAME}",
            Self::Dollar => "$NAME",
            Self::BraceEnv => "{env:NAME}",
            Self::Input => "${input:ID}",
            Self::UserConfig => "${user_config.KEY}",
            Self::Expression => "${{ secrets.NAME }}",
            Self::Brace => "{name}",
            Self::FilePrefix => "${file:PATH}",
        }
    }
}

/// Returns the variable behind an input that a host asks for.
#[must_use]
pub fn input_variable(id: &str) -> Option<String> {
    environment_name(id).map(|name| format!("{INPUT}{name}"))
}

/// Returns the variable behind a setting of a plugin that a host asks for.
#[must_use]
pub fn user_config_variable(key: &str) -> Option<String> {
    environment_name(key).map(|name| format!("{USER_CONFIG}{name}"))
}

/// Says whether a variable is one that hosts ask for, so that its value belongs to one plugin.
#[must_use]
pub fn is_asked_for(name: &str) -> bool {
    [INPUT, USER_CONFIG]
        .iter()
        .any(|prefix| name.len() > prefix.len() && name.starts_with(prefix))
}

/// Returns what a name is in the spelling of environment variables: `my-key` is `MY_KEY`.
#[must_use]
pub fn environment_name(name: &str) -> Option<String> {
    let upper: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    let trimmed = upper.trim_matches('_');
    is_variable_name(trimmed).then(|| trimmed.to_owned())
}

const fn variable(name: String, range: std::ops::Range<usize>) -> Part {
    let end = range.end;
    Part::Variable(Variable {
        name,
        default: None,
        range,
        default_range: end..end,
    })
}

/// Finds the brace that closes a reference, stepping over nested `${…}`.
fn closing_brace(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut previous = ' ';
    for (index, c) in rest.char_indices() {
        match c {
            '{' if previous == '$' => depth += 1,
            '}' if depth == 0 => return Some(index),
            '}' => depth -= 1,
            _ => {}
        }
        previous = c;
    }
    None
}

const INPUT: &str = "INPUT_";
const USER_CONFIG: &str = "USER_CONFIG_";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    fn names(text: &str, syntax: &VariableSyntax) -> Vec<String> {
        let template = Template::parse_as(text, syntax);
        let written: String = template
            .parts()
            .iter()
            .filter_map(|part| text.get(part.range()))
            .collect();
        assert_eq!(written, text, "the parts cover the text");
        template.variables().map(|v| v.name.clone()).collect()
    }

    #[test]
    fn each_form_is_read_where_the_host_knows_it_and_nowhere_else() {
        use VariableForm as Form;
        for (form, text, name) in [
            (Form::Plain, "a${X_1}b", "X_1"),
            (Form::EnvPrefix, "a${env:X_1}b", "X_1"),
            (Form::Dollar, "a$X_1-b", "X_1"),
            (Form::BraceEnv, "a{env:X_1}b", "X_1"),
            (Form::Input, "a${input:my-key}b", "INPUT_MY_KEY"),
            (
                Form::UserConfig,
                "a${user_config.api_key}b",
                "USER_CONFIG_API_KEY",
            ),
            (Form::Expression, "a${{ secrets.X_1 }}b", "X_1"),
            (Form::Expression, "a${{inputs.my-key}}b", "INPUT_MY_KEY"),
            (Form::Brace, "a{tenant_id}b", "INPUT_TENANT_ID"),
        ] {
            let forms: &'static [Form] = Box::leak(Box::new([form]));
            let syntax = VariableSyntax::of(forms);
            assert_eq!(names(text, &syntax), [name], "{text}");
            // Nothing of the reference is left beside it.
            let around = Template::parse_as(text, &syntax).literal_text();
            assert!(matches!(&*around, "ab" | "a-b"), "{text}: {around}");
            assert!(names(text, &VariableSyntax::NONE).is_empty(), "{text}");
        }
    }

    #[test]
    fn what_a_host_does_not_know_is_foreign_and_a_default_is_part_of_a_name() {
        let syntax = VariableSyntax::of(&[VariableForm::EnvPrefix]);
        for text in ["${X}", "${env:X:-y}", "${input:x}", "${", "${env:}"] {
            let template = Template::parse_as(text, &syntax);
            assert!(matches!(template.parts(), [Part::Foreign { .. }]), "{text}");
        }
        for text in ["$X", "{env:X}", "{x}", "$", "}{"] {
            assert!(Template::parse_as(text, &syntax).is_literal(), "{text}");
        }
    }

    #[test]
    fn known_names_become_ours_or_text() {
        let syntax = VariableSyntax::of(&[VariableForm::EnvPrefix]).with(&[
            ("workspaceFolder", KnownValue::Variable("HOST_PLUGIN_ROOT")),
            ("/", KnownValue::Text("/")),
        ]);
        let template = Template::parse_as("${workspaceFolder}${/}x", &syntax);
        assert_eq!(
            names("${workspaceFolder}${/}x", &syntax),
            ["HOST_PLUGIN_ROOT"]
        );
        assert_eq!(template.literal_text(), "/x");
    }

    #[test]
    fn a_reference_is_written_as_the_host_reads_it() {
        use VariableForm as Form;
        for forms in [
            &[Form::Plain][..],
            &[Form::EnvPrefix],
            &[Form::BraceEnv],
            &[Form::Expression],
            &[Form::Dollar],
            &[Form::Input, Form::EnvPrefix],
        ] {
            let forms: &'static [Form] = forms.to_vec().leak();
            let syntax = VariableSyntax::of(forms);
            let text = syntax.write("MY_KEY").unwrap();
            assert_eq!(names(&text, &syntax), ["MY_KEY"], "{text}");
        }
        assert_eq!(VariableSyntax::NONE.write("MY_KEY"), None);
    }

    #[test]
    fn values_that_are_asked_for_have_names_of_their_own() {
        assert_eq!(input_variable("my key").as_deref(), Some("INPUT_MY_KEY"));
        assert!(is_asked_for("INPUT_A") && is_asked_for("USER_CONFIG_A"));
        assert!(!is_asked_for("INPUT_") && !is_asked_for("MY_INPUT_A"));
    }

    #[test]
    fn braces_without_a_dollar_are_read_only_in_the_forms_that_have_them() {
        let is_literal =
            |text: &str, syntax: &VariableSyntax| Template::parse_as(text, syntax).is_literal();
        let brace = VariableSyntax::of(&[VariableForm::Brace]);
        let brace_env = VariableSyntax::of(&[VariableForm::BraceEnv]);
        for text in ["{a b}", "{1x}", "{-x}", "{}", "{x", "{\"a\": 1}"] {
            assert!(is_literal(text, &brace), "{text}");
        }
        for text in ["{tenant}", "{env", "{x:env}"] {
            assert!(is_literal(text, &brace_env), "{text}");
        }
        assert_eq!(names("{_x}", &brace), ["INPUT_X"]);
        assert_eq!(names("{a-b.c}", &brace), ["INPUT_A_B_C"]);
        assert_eq!(names("{env: X }", &brace_env), ["X"]);
        for text in ["{env:1x}", "{file:./secret}"] {
            let template = Template::parse_as(text, &brace_env);
            assert!(matches!(template.parts(), [Part::Foreign { .. }]), "{text}");
        }
        assert!(is_literal("{file:./secret}", &brace));
    }

    #[test]
    fn each_form_is_shown_as_it_is_read() {
        use VariableForm as Form;
        for form in [
            Form::Plain,
            Form::Default,
            Form::EnvPrefix,
            Form::Dollar,
            Form::BraceEnv,
            Form::Input,
            Form::UserConfig,
            Form::Expression,
            Form::Brace,
        ] {
            let forms: &'static [Form] = match form {
                // It is a part of the plain form.
                Form::Default => &[Form::Plain, Form::Default],
                form => vec![form].leak(),
            };
            let read = names(form.shown(), &VariableSyntax::of(forms));
            assert_eq!(read.len(), 1, "{form:?}");
        }
    }

    #[test]
    fn a_syntax_is_empty_only_without_forms_and_known_names() {
        let known: &[(&str, KnownValue)] = &[("/", KnownValue::Text("/"))];
        assert!(VariableSyntax::NONE.is_empty());
        assert!(!VariableSyntax::of(&[VariableForm::Plain]).is_empty());
        assert!(!VariableSyntax::NONE.with(known).is_empty());
        assert!(!VariableSyntax::CONTRACT.is_empty());
    }

    #[test]
    fn a_setting_of_a_plugin_has_a_variable_if_its_key_can_be_one() {
        assert_eq!(
            user_config_variable("api-key").as_deref(),
            Some("USER_CONFIG_API_KEY")
        );
        for key in ["", "1st", "-"] {
            assert_eq!(user_config_variable(key), None, "{key}");
            assert_eq!(input_variable(key), None, "{key}");
        }
        let syntax = VariableSyntax::of(&[VariableForm::Input, VariableForm::Expression]);
        for text in ["${input:1st}", "${{ other.X }}", "${{ secrets.1x }}"] {
            assert!(names(text, &syntax).is_empty(), "{text}");
        }
        assert_eq!(names("${{ env.X }}", &syntax), ["X"]);
    }
}
