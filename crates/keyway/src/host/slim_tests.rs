//! A host with the least that can be built: what it can do, and how it says what it cannot.
//!
//! Compiled without default features; `cargo xtask features` runs it.

use std::sync::Arc;

use keyway_auth::BoxFuture;
use keyway_code::Code;
use keyway_testkit::Folder;
use keyway_testkit::rig::{Rig, Settings};

use super::*;
use crate::approval::{Answer, Question};

#[derive(Debug)]
struct Agreeing;

impl ApprovalPrompt for Agreeing {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::Yes))
    }
}

fn host() -> Host {
    let prompt = Arc::new(Agreeing);
    Host::builder().approval_prompt(prompt).build().unwrap()
}

async fn code_of(entry: &str) -> Code {
    let folder = Folder::with_entries(&format!(r#"{{"s": {entry}}}"#));
    let plan = host().load(folder.path()).unwrap().plan("s").unwrap();
    let approved = plan.approve().await.unwrap();
    approved.connect().await.unwrap_err().code()
}

#[tokio::test]
async fn what_is_not_built_in_is_an_error_with_its_code() {
    for entry in [
        r#"{"command": "true"}"#,
        r#"{"type": "http", "url": "https://h.example/mcp", "headersHelper": "./h"}"#,
        #[cfg(not(feature = "sse"))]
        r#"{"type": "sse", "url": "https://h.example/mcp"}"#,
        #[cfg(not(feature = "ws"))]
        r#"{"type": "ws", "url": "wss://h.example/mcp"}"#,
    ] {
        assert_eq!(code_of(entry).await, Code::NotBuiltIn, "{entry}");
    }
}

#[cfg(not(feature = "vault"))]
#[tokio::test]
async fn a_sign_in_without_a_store_names_what_is_missing() {
    let rig = Rig::start(Settings::default());
    let plan = host().server(&rig.mcp().parse().unwrap()).unwrap();
    let error = plan.approve().await.unwrap().connect().await.unwrap_err();
    assert_eq!(error.code(), Code::NotBuiltIn, "{error}");
    assert!(error.hint().unwrap().contains("`vault`"), "{error:?}");
}

#[cfg(not(feature = "vault"))]
#[tokio::test]
async fn an_approval_lasts_as_long_as_the_host() {
    let folder = Folder::with_entries(r#"{"s": {"command": "true"}}"#);
    let host = host();
    let plan = |host: &Host| host.load(folder.path()).unwrap().plan("s").unwrap();
    assert!(!plan(&host).is_approved());
    plan(&host).approve().await.unwrap();
    assert!(plan(&host).is_approved());
    assert!(plan(&host.clone()).is_approved(), "clones share it");
}
