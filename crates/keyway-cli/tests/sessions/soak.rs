//! An hour of work: connections that stay, calls all the time, and a token that is refused every few
//! seconds. Memory and descriptors stay what they were.
//!
//! `KEYWAY_SOAK_MINUTES=60 cargo nextest run -p keyway-cli --test sessions --run-ignored only soak`

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Gateway};

use crate::client::Client;
use crate::{Program, allow_many_connections};

#[test]
#[ignore = "takes an hour, or KEYWAY_SOAK_MINUTES"]
fn an_hour_of_calls_and_refreshes_takes_no_more_memory_and_no_more_descriptors() {
    allow_many_connections();
    let minutes = std::env::var("KEYWAY_SOAK_MINUTES").ok();
    let minutes: u32 = minutes.map_or(60, |text| text.parse().unwrap());
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    desk.sign_in();
    let token = Gateway::token(desk.without_browser(&[]), &["--name", "n"]);
    let words = [".", "--trust", "--quiet"];
    let gateway = Program::new(Gateway::start(desk.without_browser(&[]), &words));
    let path = served_path(&desk);
    let mut clients: Vec<Client> = (0..CONNECTIONS)
        .map(|_| Client::new(gateway.process.port(), &path, Some(&token)))
        .collect();
    for client in &mut clients {
        client.begin();
    }
    let (calls, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let samples = thread::scope(|scope| {
        for some in clients.chunks_mut(CONNECTIONS / THREADS) {
            let (calls, is_over) = (&calls, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    for client in &mut *some {
                        client.call();
                        calls.fetch_add(1, Ordering::Relaxed);
                    }
                    // The load: so many calls in so much time.
                    thread::sleep(PAUSE);
                }
            });
        }
        let samples = watch(&desk, &gateway, Duration::from_secs(60) * minutes);
        is_over.store(true, Ordering::Relaxed);
        samples
    });
    for client in &mut clients {
        assert!(client.is_listening(), "a stream has ended");
    }
    let families = desk.rig.families();
    assert!(families.iter().all(|it| it.is_chain()), "{families:?}");
    let refreshes: usize = families.iter().map(|it| it.redemptions.len()).sum();
    let (first, last) = (settled(&samples, 1), settled(&samples, SLICES - 1));
    println!(
        "{minutes} minutes, {CONNECTIONS} connections, {calls:?} calls, {refreshes} refreshes"
    );
    println!(
        "resident: {} -> {} KiB, descriptors: {} -> {}",
        first.0 >> 10,
        last.0 >> 10,
        first.1,
        last.1
    );
    assert!(
        last.0 * 100 < first.0 * 105,
        "memory grew: {} -> {}",
        first.0,
        last.0
    );
    assert!(
        last.1 <= first.1 + SPARE,
        "descriptors: {} -> {}",
        first.1,
        last.1
    );
}

/// Has every token refused from time to time, and samples memory and descriptors.
fn watch(desk: &Desk, gateway: &Program, time: Duration) -> Vec<(usize, usize)> {
    let started = Instant::now();
    let mut samples = Vec::new();
    while started.elapsed() < time {
        desk.rig.reset();
        desk.rig.forget();
        // How often a token is renewed.
        thread::sleep(REFRESH);
        samples.push((gateway.resident(), gateway.descriptors()));
    }
    samples
}

/// The median of a slice of the samples; the first slice is for what is filled once.
#[expect(
    clippy::indexing_slicing,
    reason = "a test that is too short must stop"
)]
fn settled(samples: &[(usize, usize)], slice: usize) -> (usize, usize) {
    let length = samples.len() / SLICES;
    let part = &samples[slice * length..(slice + 1) * length];
    let median = |mut values: Vec<usize>| {
        values.sort_unstable();
        values[values.len() / 2]
    };
    let resident = part.iter().map(|sample| sample.0).collect();
    let descriptors = part.iter().map(|sample| sample.1).collect();
    (median(resident), median(descriptors))
}

pub(crate) fn served_path(desk: &Desk) -> String {
    let name = desk.folder.path().file_name().unwrap().to_str().unwrap();
    format!("/mcp/{name}/s")
}

const CONNECTIONS: usize = 200;
const THREADS: usize = 4;
const SLICES: usize = 5;
const PAUSE: Duration = Duration::from_millis(1000);
const REFRESH: Duration = Duration::from_secs(5);
/// Connections to the server that wait for the next call.
const SPARE: usize = 16;
