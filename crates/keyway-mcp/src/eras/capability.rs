//! What a client declared, and which questions of a server it can answer.

use crate::splice::RawObject;

/// Says whether a client with these capabilities can be asked this.
pub(crate) fn can_answer(capabilities: &str, method: &str, params: Option<&str>) -> bool {
    let Some(capabilities) = RawObject::read(capabilities) else {
        return false;
    };
    match method {
        "roots/list" => is_set(&capabilities, "roots"),
        "sampling/createMessage" => is_set(&capabilities, "sampling"),
        "elicitation/create" => {
            let Some(modes) = capabilities.object("elicitation") else {
                return false;
            };
            match is_by_url(params) {
                true => is_set(&modes, "url"),
                // Before there were modes, there was this one.
                false => modes.is_empty() || is_set(&modes, "form"),
            }
        }
        _ => false,
    }
}

/// Says whether an elicitation sends the person to a web page.
pub(crate) fn is_by_url(params: Option<&str>) -> bool {
    let mode = params.and_then(|params| RawObject::read(params)?.text("mode"));
    mode.as_deref() == Some("url")
}

/// Says whether a server declared a part of a capability, such as `listChanged` of `tools`.
pub(crate) fn offers(capabilities: &str, kind: &str, part: &str) -> bool {
    let capabilities = RawObject::read(capabilities).unwrap_or_default();
    let kind = capabilities.object(kind);
    kind.is_some_and(|kind| is_set(&kind, part))
}

/// Says whether a member is there and neither `null` nor `false`.
pub(crate) fn is_set(members: &RawObject<'_>, name: &str) -> bool {
    let value = members.get(name);
    value.is_some_and(|value| !matches!(value, "null" | "false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_declared_can_be_asked() {
        const URL: Option<&str> = Some(r#"{"mode":"url"}"#);
        const FORM: Option<&str> = Some(r#"{"mode":"form"}"#);
        for (capabilities, method, params, expected) in [
            (r#"{"roots":{}}"#, "roots/list", None, true),
            (r#"{"roots":null}"#, "roots/list", None, false),
            (r#"{"sampling":{}}"#, "sampling/createMessage", None, true),
            ("{}", "sampling/createMessage", None, false),
            (r#"{"elicitation":{}}"#, "elicitation/create", None, true),
            (r#"{"elicitation":{}}"#, "elicitation/create", FORM, true),
            (r#"{"elicitation":{}}"#, "elicitation/create", URL, false),
            (
                r#"{"elicitation":{"url":{}}}"#,
                "elicitation/create",
                URL,
                true,
            ),
            (
                r#"{"elicitation":{"url":{}}}"#,
                "elicitation/create",
                FORM,
                false,
            ),
            (r#"{"roots":{}}"#, "tasks/get", None, false),
            ("[]", "roots/list", None, false),
        ] {
            let answer = can_answer(capabilities, method, params);
            assert_eq!(answer, expected, "{capabilities} {method} {params:?}");
        }
    }
}
