//! Resources: a text, an image, one to watch, and a template.

use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResponse,
    ReadResourceResult,
};
use serde_json::json;

use super::{PNG, result};

pub fn list() -> Result<ListResourcesResult, ErrorData> {
    let resource = |uri: &str, name: &str, kind: &str| json!({ "uri": uri, "name": name, "description": name, "mimeType": kind });
    result(json!({ "resources": [
        resource("test://static-text", "static-text", "text/plain"),
        resource("test://static-binary", "static-binary", "image/png"),
        resource("test://watched-resource", "watched-resource", "text/plain"),
    ]}))
}

pub fn templates() -> Result<ListResourceTemplatesResult, ErrorData> {
    result(json!({ "resourceTemplates": [{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "template",
        "mimeType": "application/json",
    }]}))
}

pub fn read(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let template = || uri.strip_prefix("test://template/")?.strip_suffix("/data");
    let content = match (uri, template()) {
        ("test://static-text", _) => json!({
            "uri": uri,
            "mimeType": "text/plain",
            "text": "This is the content of the static text resource.",
        }),
        ("test://watched-resource", _) => {
            json!({ "uri": uri, "mimeType": "text/plain", "text": "watched" })
        }
        ("test://static-binary", _) => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        (_, Some(id)) => {
            let data = format!("Data for ID: {id}");
            let text = json!({ "id": id, "templateTest": true, "data": data }).to_string();
            json!({ "uri": uri, "mimeType": "application/json", "text": text })
        }
        _ => {
            let data = json!({ "uri": uri });
            return Err(ErrorData::resource_not_found(
                "Resource not found",
                Some(data),
            ));
        }
    };
    result::<ReadResourceResult>(json!({ "contents": [content] })).map(Into::into)
}
