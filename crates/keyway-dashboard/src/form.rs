//! A form made from a tool's schema, and the arguments that come back.
//!
//! The schema is untrusted: its names and words are text, and only so many of them are shown.

use serde_json::{Map, Value};

use super::html::{Html, Lines, html};
use keyway_mcp::schema::{Property, Schema, plain};

/// The fields of a form, in their order.
pub(super) type Fields = Vec<(String, String)>;

/// The field that holds the mark of a session.
pub(super) const MARK: &str = "_mark";

/// Makes the fields of a form, filled in as they were `given` before.
pub(super) fn fields(schema: Schema<'_>, given: Option<&Fields>) -> Html {
    let properties = schema.properties();
    if properties.is_empty() {
        let before = value(given, WHOLE).unwrap_or_default();
        return html!(
            "<div class=\"field\"><label for=\"{}\">Arguments</label>\
             <p class=\"hint\" id=\"whole-hint\">The tool describes no arguments; enter a JSON object if it takes any.</p>\
             <textarea id=\"{}\" name=\"{}\" rows=\"3\" spellcheck=\"false\" \
             aria-describedby=\"whole-hint\">{}</textarea></div>",
            WHOLE,
            WHOLE,
            WHOLE,
            Lines(before),
        );
    }
    let shown = properties.iter().take(MOST_FIELDS).enumerate();
    let shown = shown.map(|(at, property)| Field {
        id: format!("f{at}"),
        name: name_of(property),
        property,
    });
    shown.map(|field| field.html(given)).collect()
}

/// Reads the arguments out of a form; where they do not fit, returns what is wrong.
pub(super) fn arguments(
    schema: Schema<'_>,
    fields: &Fields,
) -> Result<Map<String, Value>, Vec<String>> {
    let mut arguments = Map::new();
    if let Some(whole) = value(Some(fields), WHOLE).filter(|text| !text.trim().is_empty()) {
        let object = serde_json::from_str(whole);
        arguments = object.map_err(|_| vec!["the arguments are not a JSON object".to_owned()])?;
    }
    for property in schema.properties().iter().take(MOST_FIELDS) {
        let Some(text) = value(Some(fields), &name_of(property)) else {
            continue;
        };
        if let Some(read) = read(property, text) {
            arguments.insert(property.name.to_owned(), read);
        }
    }
    let problems = schema.check(&arguments);
    if problems.is_empty() {
        Ok(arguments)
    } else {
        Err(problems)
    }
}

/// Reads one value; `None` where nothing was filled in.
fn read(property: &Property<'_>, text: &str) -> Option<Value> {
    if let Some(words) = property.schema.words() {
        let mut written = words.iter().map(|word| (word.to_string(), word));
        let chosen = written.find(|(written, _)| written == text);
        return chosen.map(|(_, word)| word.clone());
    }
    let types = property.schema.types();
    let takes_text = types.is_empty() || types.contains(&"string");
    if text.is_empty() && !(property.is_required && takes_text) {
        return None;
    }
    // A browser ends lines as mail does.
    Some(property.schema.coerced(&text.replace("\r\n", "\n")))
}

/// One field.
struct Field<'a> {
    id: String,
    name: String,
    property: &'a Property<'a>,
}

impl Field<'_> {
    fn html(&self, given: Option<&Fields>) -> Html {
        let schema = self.property.schema;
        let types = schema.types();
        let kind = types.iter().find(|kind| **kind != "null").copied();
        let hint = schema.description().map(|text| {
            let text: String = text.chars().take(MOST_WORDS).collect();
            html!("<p class=\"hint\" id=\"{}-hint\">{}</p>", self.id, text)
        });
        let described = hint
            .as_ref()
            .map(|_| html!(" aria-describedby=\"{}-hint\"", self.id));
        let must = self
            .property
            .is_required
            .then(|| html!(" <span class=\"must\">required</span>"));
        let before = value(given, &self.name).map(str::to_owned);
        let default = || schema.default().map(Value::to_string);
        let input = match (schema.words(), kind) {
            (Some(words), _) if words.len() <= MOST_OPTIONS => {
                let options = words.iter().map(|word| (word.to_string(), plain(word)));
                self.choice(options, before.or_else(default), described)
            }
            (_, Some("boolean")) => {
                let options = ["true", "false"].map(|word| (word.to_owned(), word.to_owned()));
                self.choice(options, before.or_else(default), described)
            }
            (_, kind) => {
                let text = before.or_else(|| schema.default().map(written));
                self.typed(kind, &text.unwrap_or_default(), described)
            }
        };
        html!(
            "<div class=\"field\"><label for=\"{}\">{}</label> <span class=\"type\">{}</span>{}{}{}</div>",
            self.id,
            self.property.name,
            types.join(" or "),
            must,
            hint,
            input,
        )
    }

    fn choice(
        &self,
        options: impl IntoIterator<Item = (String, String)>,
        chosen: Option<String>,
        described: Option<Html>,
    ) -> Html {
        let option = |value: &str, label: &str| {
            let is_chosen = chosen.as_deref() == Some(value);
            let selected = is_chosen.then(|| html!(" selected"));
            html!("<option value=\"{}\"{}>{}</option>", value, selected, label)
        };
        let mut all = Html::default();
        if !self.property.is_required {
            all.push(&option("", "not set"));
        } else if chosen.is_none() {
            // Nothing is chosen for a person who has to choose.
            all.push(&html!(
                "<option value=\"\" selected disabled>choose…</option>"
            ));
        }
        let must = self.property.is_required.then(|| html!(" required"));
        for (value, label) in options {
            all.push(&option(&value, &label));
        }
        html!(
            "<select id=\"{}\" name=\"{}\"{}{}>{}</select>",
            self.id,
            self.name,
            must,
            described,
            all,
        )
    }

    fn typed(&self, kind: Option<&str>, text: &str, described: Option<Html>) -> Html {
        let (id, name) = (&self.id, &self.name);
        let must = self.property.is_required && kind != Some("string");
        let must = must.then(|| html!(" required"));
        match kind {
            Some("integer") => html!(
                "<input id=\"{}\" name=\"{}\" type=\"number\" step=\"1\" value=\"{}\"{}{}>",
                *id,
                *name,
                text,
                must,
                described
            ),
            Some("number") => html!(
                "<input id=\"{}\" name=\"{}\" type=\"number\" step=\"any\" value=\"{}\"{}{}>",
                *id,
                *name,
                text,
                must,
                described
            ),
            Some("array" | "object") => html!(
                "<textarea id=\"{}\" name=\"{}\" rows=\"3\" spellcheck=\"false\" \
                 placeholder=\"JSON\"{}{}>{}</textarea>",
                *id,
                *name,
                must,
                described,
                Lines(text)
            ),
            _ => html!(
                "<textarea id=\"{}\" name=\"{}\" rows=\"1\"{}{}>{}</textarea>",
                *id,
                *name,
                must,
                described,
                Lines(text)
            ),
        }
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn value<'a>(fields: Option<&'a Fields>, name: &str) -> Option<&'a str> {
    let found = fields?.iter().find(|(own, _)| own == name);
    found.map(|(_, value)| value.as_str())
}

/// Names the field of a property such that it is no other field of ours.
fn name_of(property: &Property<'_>) -> String {
    format!("a-{}", property.name)
}

const WHOLE: &str = "arguments";
const MOST_FIELDS: usize = 100;
const MOST_OPTIONS: usize = 200;
const MOST_WORDS: usize = 1000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What to say", "default": "a<b"},
                "count": {"type": "integer", "minimum": 1},
                "deep": {"type": "boolean"},
                "mode": {"enum": ["fast", 2]},
                "tags": {"type": "array", "items": {"type": "string"}}
            },
            "required": ["text"]
        })
    }

    fn given(pairs: &[(&str, &str)]) -> Fields {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn a_form_brings_values_of_the_types_that_the_tool_takes() {
        let schema = schema();
        let fields = given(&[
            ("a-text", "5"),
            ("a-count", "3"),
            ("a-deep", "true"),
            ("a-mode", "2"),
            ("a-tags", "[\"x\",\"y\"]"),
        ]);
        let read = arguments(Schema::new(&schema), &fields).unwrap();
        let expected =
            json!({"text": "5", "count": 3, "deep": true, "mode": 2, "tags": ["x", "y"]});
        assert_eq!(Value::Object(read), expected);
    }

    #[test]
    fn what_is_left_empty_is_left_out_and_what_does_not_fit_is_told() {
        let schema = schema();
        let empty = given(&[
            ("a-text", ""),
            ("a-count", ""),
            ("a-deep", ""),
            ("a-mode", ""),
        ]);
        let read = arguments(Schema::new(&schema), &empty).unwrap();
        assert_eq!(Value::Object(read), json!({"text": ""}));
        let wrong = given(&[("a-text", "x"), ("a-count", "many")]);
        let problems = arguments(Schema::new(&schema), &wrong).unwrap_err();
        assert_eq!(problems, ["`count` must be a whole number"]);
        let none = arguments(Schema::new(&schema), &Fields::new()).unwrap_err();
        assert_eq!(none, ["`text` is missing"]);
    }

    #[test]
    fn a_required_choice_is_left_to_the_person_unless_there_is_a_default() {
        let choice = |more: &str| {
            let text = format!(
                r#"{{"type": "object", "required": ["level"],
                    "properties": {{"level": {{"enum": ["error", "info"]{more}}}}}}}"#
            );
            let schema: Value = serde_json::from_str(&text).unwrap();
            fields(Schema::new(&schema), None).as_str().to_owned()
        };
        let open = choice("");
        assert!(
            open.contains("<option value=\"\" selected disabled>"),
            "{open}"
        );
        assert!(open.contains(" required>"), "{open}");
        assert_eq!(open.matches(" selected").count(), 1, "{open}");
        let chosen = choice(r#", "default": "info""#);
        assert!(chosen.contains("&quot;info&quot;\" selected"), "{chosen}");
        assert!(!chosen.contains("choose"), "{chosen}");
    }

    #[test]
    fn a_hostile_schema_makes_text_and_nothing_else() {
        let evil = "\"><script>x</script>";
        let schema = json!({
            "type": "object",
            "properties": {
                evil: {"type": "string", "description": evil, "default": evil},
                "e": {"enum": [evil]}
            }
        });
        let made = fields(Schema::new(&schema), None);
        let text = made.as_str();
        assert!(!text.contains("<script"), "{text}");
        assert_eq!(text.matches("<textarea").count(), 1);
        assert_eq!(text.matches("<select").count(), 1);
    }

    #[test]
    fn what_was_given_stands_in_the_form_again() {
        let schema = schema();
        let before = given(&[("a-text", "hello"), ("a-mode", "\"fast\"")]);
        let again = fields(Schema::new(&schema), Some(&before));
        assert!(again.as_str().contains(">hello</textarea>"));
        assert!(
            again
                .as_str()
                .contains("value=\"&quot;fast&quot;\" selected")
        );
        let fresh = fields(Schema::new(&schema), None);
        assert!(fresh.as_str().contains(">a&lt;b</textarea>"));
        assert!(fresh.as_str().contains("for=\"f0\""));
        assert!(fresh.as_str().contains("aria-describedby=\"f0-hint\""));
    }
}
