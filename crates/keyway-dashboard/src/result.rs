//! What a tool answered, as far as a page shows it: text, small pictures, and the kinds of the rest.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use keyway::diagnosis::Diagnosis;

use super::backend::ServerId;
use super::cut::cut;
use super::form::Fields;
use super::html::{Html, Lines, html};

/// The latest call of a session.
#[derive(Debug)]
pub(super) struct LastCall {
    /// Of which server.
    pub(super) server: ServerId,
    /// Which tool.
    pub(super) tool: String,
    /// What was filled in.
    pub(super) fields: Fields,
    /// What came of it.
    pub(super) outcome: Called,
}

/// What came of a call.
#[derive(Debug)]
pub(super) enum Called {
    /// The arguments do not fit, so that nothing was sent.
    Misfit(Vec<String>),
    /// There was no answer.
    Failed(Box<Diagnosis>),
    /// There was one.
    Answered(Answered),
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answered {
    /// Whether it says that the tool failed.
    pub(super) is_error: bool,
    blocks: Vec<Block>,
}

#[derive(Debug, PartialEq, Eq)]
enum Block {
    Text(String),
    Picture { kind: String, data: String },
    Other { kind: String, bytes: usize },
}

impl Called {
    /// Reads a result.
    pub(super) fn read(raw: &RawValue) -> Self {
        #[derive(Deserialize)]
        struct Outcome {
            #[serde(rename = "isError", default)]
            is_error: bool,
            #[serde(default)]
            content: Vec<Value>,
            #[serde(rename = "structuredContent")]
            structured: Option<Value>,
        }
        let Ok(outcome) = serde_json::from_str::<Outcome>(raw.get()) else {
            return Self::Answered(Answered {
                is_error: false,
                blocks: vec![Block::Text(cut(raw.get(), MOST_TEXT))],
            });
        };
        let shown = outcome.content.iter().take(MOST_BLOCKS);
        let mut blocks: Vec<Block> = shown.map(Block::read).collect();
        if blocks.is_empty() {
            let whole = outcome.structured.as_ref();
            let text = whole.map_or_else(|| raw.get().to_owned(), pretty);
            blocks.push(Block::Text(cut(&text, MOST_TEXT)));
        }
        Self::Answered(Answered {
            is_error: outcome.is_error,
            blocks,
        })
    }
}

impl Block {
    fn read(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        if let Some(text) = text("text") {
            return Self::Text(cut(text, MOST_TEXT));
        }
        let kind = text("mimeType").or_else(|| text("type"));
        let kind = kind.unwrap_or("something").to_owned();
        match text("data") {
            Some(data) if PICTURES.contains(&kind.as_str()) && is_small_picture(data) => {
                let data = data.to_owned();
                Self::Picture { kind, data }
            }
            Some(data) => Self::Other {
                kind,
                bytes: data.len() / 4 * 3,
            },
            None => Self::Text(cut(&pretty(value), MOST_TEXT)),
        }
    }

    fn html(&self) -> Html {
        match self {
            Self::Text(text) => html!("<pre tabindex=\"0\">{}</pre>", Lines(text)),
            Self::Picture { kind, data } => html!(
                "<img class=\"picture\" alt=\"a picture that the tool returned\" \
                 src=\"data:{};base64,{}\">",
                kind,
                data,
            ),
            Self::Other { kind, bytes } => {
                html!(
                    "<p class=\"hint\">{}, {} kB</p>",
                    kind,
                    bytes.div_ceil(1000)
                )
            }
        }
    }
}

impl Answered {
    /// Shows it.
    pub(super) fn html(&self) -> Html {
        self.blocks.iter().map(Block::html).collect()
    }
}

fn is_small_picture(data: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    data.len() <= MOST_PICTURE && data.bytes().all(is_base64)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// What a browser draws and nothing else: no markup, no script.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MOST_BLOCKS: usize = 32;
const MOST_TEXT: usize = 128 * 1024;
const MOST_PICTURE: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        let raw = RawValue::from_string(json.to_owned()).unwrap();
        match Called::read(&raw) {
            Called::Answered(answered) => answered.html().into_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_of_a_tool_is_text() {
        let html = shown(r#"{"content":[{"type":"text","text":"<img src=x onerror=1>\nb"}]}"#);
        assert_eq!(
            html,
            "<pre tabindex=\"0\">&lt;img src=x onerror=1&gt;\nb</pre>"
        );
    }

    #[test]
    fn a_picture_is_shown_only_as_what_a_browser_draws() {
        let picture = |kind: &str, data: &str| {
            shown(&format!(
                r#"{{"content":[{{"type":"image","mimeType":"{kind}","data":"{data}"}}]}}"#
            ))
        };
        assert!(picture("image/png", "iVBORw0KGgo=").contains("src=\"data:image/png;base64,iV"));
        for (kind, data) in [
            ("image/svg+xml", "PHN2Zz4="),
            ("text/html", "PHN2Zz4="),
            ("image/png", "x onerror=1"),
            ("image/png", &"A".repeat(MOST_PICTURE + 4)),
        ] {
            assert!(!picture(kind, data).contains("<img"), "{kind}");
        }
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        let text = "é".repeat(MOST_TEXT);
        let html = shown(&format!(
            r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#
        ));
        assert!(html.len() < MOST_TEXT + 200);
        assert!(html.contains("more bytes are not shown"));
    }

    #[test]
    fn a_result_without_blocks_is_shown_as_it_is() {
        assert!(shown(r#"{"structuredContent":{"a":1}}"#).contains("&quot;a&quot;: 1"));
        assert!(shown("5").contains('5'));
    }
}
