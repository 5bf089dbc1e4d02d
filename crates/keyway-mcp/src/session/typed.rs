//! Tools and resources with types, for hosts that do not want to read JSON themselves.
//!
//! What a server sent beyond these fields is kept as it was written.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Request, Session, SessionError};

/// A tool that a server offers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tool {
    /// The name by which it is called.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, in the server's words.
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The tool as the server wrote it.
    pub raw: Box<RawValue>,
}

/// What a tool answered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallResult {
    /// The blocks of its answer.
    pub content: Vec<Value>,
    /// Its answer as data, for a tool with an output schema.
    pub structured_content: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// The result as the server wrote it.
    pub raw: Box<RawValue>,
}

impl CallResult {
    /// Returns the text blocks, one below the other.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self
            .content
            .iter()
            .filter_map(|block| block.get("text")?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// What a resource holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadResult {
    /// Its contents; a folder may have several.
    pub contents: Vec<Value>,
    /// The result as the server wrote it.
    pub raw: Box<RawValue>,
}

impl Session {
    /// Lists the tools of the server, all pages; none if it offers none.
    ///
    /// Cancel safety: dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// As [`Session::request`]; a tool without a name is [`SessionError::Protocol`].
    pub async fn tools(&self) -> Result<Vec<Tool>, SessionError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            name: String,
            title: Option<String>,
            description: Option<String>,
            #[serde(default)]
            input_schema: Value,
        }
        if !self.facts().offers("tools") {
            return Ok(Vec::new());
        }
        let listed = self.list("tools/list", "tools").await?;
        let read = listed.into_iter().map(|raw| {
            let Wire {
                name,
                title,
                description,
                input_schema,
            } = serde_json::from_str(raw.get()).map_err(|_| NOT_A_TOOL)?;
            Ok(Tool {
                name,
                title,
                description,
                input_schema,
                raw,
            })
        });
        read.collect()
    }

    /// Calls a tool; `arguments` is a JSON object.
    ///
    /// Cancel safety: dropping the future cancels the request; the tool may have run.
    ///
    /// # Errors
    ///
    /// As [`Session::request`]. A tool that fails answers with [`CallResult::is_error`].
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallResult, SessionError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            #[serde(default)]
            content: Vec<Value>,
            structured_content: Option<Value>,
            #[serde(default)]
            is_error: bool,
        }
        let params = Map::from_iter([
            ("name".to_owned(), Value::from(tool)),
            ("arguments".to_owned(), arguments),
        ]);
        let raw = self.request(Request::new("tools/call", params)).await?;
        let Wire {
            content,
            structured_content,
            is_error,
        } = serde_json::from_str(raw.get()).map_err(|_| NOT_A_RESULT)?;
        Ok(CallResult {
            content,
            structured_content,
            is_error,
            raw,
        })
    }

    /// Reads a resource by its address.
    ///
    /// Cancel safety: dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// As [`Session::request`].
    pub async fn read(&self, uri: &str) -> Result<ReadResult, SessionError> {
        #[derive(Deserialize)]
        struct Wire {
            contents: Vec<Value>,
        }
        let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
        let raw = self.request(Request::new("resources/read", params)).await?;
        let Wire { contents } = serde_json::from_str(raw.get()).map_err(|_| NOT_A_RESULT)?;
        Ok(ReadResult { contents, raw })
    }
}

const NOT_A_TOOL: SessionError = SessionError::Protocol {
    what: "a tool without a name",
};
const NOT_A_RESULT: SessionError = SessionError::Protocol {
    what: "a result that is not one",
};
