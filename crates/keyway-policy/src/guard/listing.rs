//! The tools of a server: listed for a decision, and taken out of lists for the client.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use keyway_mcp::jsonrpc;
use keyway_mcp::splice::with_member;
use keyway_transport::{Envelope, Frame, RequestId};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use super::Guard;
use crate::digest::ListedTool;
use crate::timeouts::{TOOL_LIST_AGE, TOOL_LIST_TIMEOUT};
use crate::{Access, ToolDigest};

/// The tools as they were last listed.
#[derive(Debug, Default)]
pub(super) struct CurrentTools {
    listed: Option<Listed>,
}

#[derive(Debug)]
struct Listed {
    tools: Arc<Tools>,
    at: Instant,
    list_changes: u64,
}

/// Every tool of a server by its name; `None` for one that is listed twice.
pub(super) type Tools = HashMap<String, Option<ToolDigest>>;

impl Guard {
    /// Returns the tools if a list of them still counts, and no other task makes one.
    pub(super) fn tools_at_hand(&self) -> Option<Arc<Tools>> {
        let current = self.listing.try_lock().ok()?;
        self.fresh(&current)
    }

    /// Returns the tools, listing them if need be; `None` if the server does not list them.
    ///
    /// Cancel safety: the list is begun again by the next call.
    pub(super) async fn tools(&self, meta: Option<&str>) -> Option<Arc<Tools>> {
        // Over awaits on purpose: those that come meanwhile wait for the same list.
        let mut current = self.listing.lock().await;
        if let Some(tools) = self.fresh(&current) {
            return Some(tools);
        }
        // Before the list: a change in between makes it stale.
        let (at, list_changes) = (Instant::now(), self.lock().list_changes);
        let tools = Arc::new(self.list_all(meta).await?);
        if self.access.is_first_sight() && !tools.is_empty() {
            let seen = tools.iter();
            let seen = seen.filter_map(|(name, digest)| Some((name.clone(), (*digest)?)));
            let (seen, access) = (seen.collect::<BTreeMap<_, _>>(), Arc::clone(&self.access));
            // It writes to the vault. The decision needs it, so that it is waited for.
            let _ended = tokio::task::spawn_blocking(move || access.note_first_sight(seen)).await;
        }
        current.listed = Some(Listed {
            tools: Arc::clone(&tools),
            at,
            list_changes,
        });
        Some(tools)
    }

    fn fresh(&self, current: &CurrentTools) -> Option<Arc<Tools>> {
        let listed = current.listed.as_ref()?;
        let is_fresh = listed.at.elapsed() < TOOL_LIST_AGE
            && listed.list_changes == self.lock().list_changes
            && !self.access.is_first_sight();
        is_fresh.then(|| Arc::clone(&listed.tools))
    }

    async fn list_all(&self, meta: Option<&str>) -> Option<Tools> {
        let mut tools = Tools::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let (id, mut own) = self.own_request()?;
            let members = [
                meta.map(|meta| format!(r#""_meta":{meta}"#)),
                cursor.map(|cursor| format!(r#""cursor":{}"#, Value::from(cursor))),
            ];
            let members: Vec<String> = members.into_iter().flatten().collect();
            let params = format!("{{{}}}", members.join(","));
            let frame = Frame::new(jsonrpc::request(&id, "tools/list", Some(&params))).ok()?;
            self.server.send(frame).await.ok()?;
            let answer = timeout(TOOL_LIST_TIMEOUT, &mut own.answer).await.ok()?;
            let page = answer.ok()?.read_with(Page::of).await?;
            for tool in page.tools {
                tools
                    .entry(tool.name)
                    .and_modify(|digest| *digest = None)
                    .or_insert(Some(tool.digest));
            }
            cursor = page.next;
            if cursor.is_none() {
                return Some(tools);
            }
            if tools.len() > MOST_TOOLS {
                return None;
            }
        }
        None
    }
}

/// One page of a list; tools that cannot be read are left out.
struct Page {
    tools: Vec<ListedTool>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct ListResult<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor")]
    next: Option<String>,
}

impl Page {
    fn of(frame: &Frame) -> Option<Self> {
        let envelope = frame.envelope().ok()?;
        let result: ListResult<'_> = serde_json::from_str(envelope.result?.get()).ok()?;
        let tools = result.tools.into_iter();
        Some(Self {
            tools: tools.filter_map(ListedTool::read).collect(),
            next: result.next,
        })
    }
}

/// Returns what of a request's `_meta` says how the client speaks, which a list of ours repeats.
pub(super) fn meta(envelope: &Envelope<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: HashMap<String, &'a RawValue>,
    }
    let params: Params<'_> = serde_json::from_str(envelope.params?.get()).ok()?;
    let own = params
        .meta
        .iter()
        .filter(|(name, _)| name.starts_with(META));
    let own: Vec<String> = own
        .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.get()))
        .collect();
    (!own.is_empty()).then(|| format!("{{{}}}", own.join(",")))
}

/// Returns the answer to a list without the tools that the client may not call. Everything else in
/// it stays as it was written.
pub(super) fn filtered(frame: &Frame, id: &RequestId, access: &Access) -> Frame {
    let Some(result) = frame
        .envelope()
        .ok()
        .and_then(|it| it.result.map(|it| it.get()))
    else {
        return frame.clone();
    };
    let shown = serde_json::from_str(result).map(|list: ListResult<'_>| {
        let count = list.tools.len();
        let tools = list.tools.into_iter();
        let shown: Vec<&str> = tools
            .filter(|tool| access.shows(tool))
            .map(RawValue::get)
            .collect();
        (shown.len() < count).then(|| format!("[{}]", shown.join(",")))
    });
    let shown = match shown {
        Ok(None) => return frame.clone(),
        Ok(Some(shown)) => shown,
        // A list that says something twice, or cannot be read, shows nothing.
        Err(_) => "[]".to_owned(),
    };
    let result = with_member(result, "tools", &shown);
    let result = result.unwrap_or_else(|| r#"{"tools":[]}"#.to_owned());
    Frame::new(jsonrpc::result(id, &result)).unwrap_or_else(|_| frame.clone())
}

/// What members of `_meta` begin with that the protocol itself defines.
const META: &str = "io.modelcontextprotocol/";
const MOST_PAGES: usize = 100;
const MOST_TOOLS: usize = 10_000;
