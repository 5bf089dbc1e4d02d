//! A server and a client on the official Rust SDK, for both protocol eras.
//!
//! Usage: `rust-peer server stdio | http PORT [both | modern | legacy]`, `rust-peer conformance PORT`,
//! `rust-peer client legacy | auto COMMAND ARGUMENT…`

mod client;
mod conformance;
mod server;

use std::error::Error;

use crate::server::Eras;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["server", "stdio", eras @ ..] => server::stdio(Eras::read(eras)?).await,
        ["server", "http", port, eras @ ..] => server::http(port.parse()?, Eras::read(eras)?).await,
        ["conformance", port] => conformance::serve(port.parse()?).await,
        ["client", era, command, rest @ ..] => client::run(era, command, rest).await,
        _ => Err(
            "usage: rust-peer server stdio | http PORT | conformance PORT | client legacy | auto COMMAND ARGUMENT…"
                .into(),
        ),
    }
}
