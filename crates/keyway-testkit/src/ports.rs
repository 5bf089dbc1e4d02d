//! Ports for third-party servers, which have to be told where to listen.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Returns a port that is free and stays so: each process has a few of its own, outside the range
/// that connections and servers without a wish are given.
///
/// # Panics
///
/// If none is left.
pub fn free_port() -> u16 {
    let first = u16::try_from(std::process::id() % PROCESSES).unwrap_or_default();
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let own = std::iter::repeat_with(|| {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        FIRST + first * EACH + number
    });
    let found = own.take(usize::from(EACH)).find(is_free);
    match found {
        Some(port) => port,
        None => panic!("no port is free"),
    }
}

static NEXT: AtomicU16 = AtomicU16::new(0);
const FIRST: u16 = 20_000;
const EACH: u16 = 10;
const PROCESSES: u32 = 1_200;
