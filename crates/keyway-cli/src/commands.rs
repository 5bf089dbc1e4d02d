//! One file per command: its flags, and a `run` that gets them together with the [`CommandContext`].

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod client_metadata;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod embed;
pub(crate) mod env;
pub(crate) mod explain;
pub(crate) mod headers;
pub(crate) mod help;
pub(crate) mod install;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod mtls;
pub(crate) mod open;
pub(crate) mod probe;
pub(crate) mod readme;
pub(crate) mod rotate;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod uninstall;
pub(crate) mod vault;

use crate::runtime::{block_on, block_on_to_its_end};
