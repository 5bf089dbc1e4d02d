//! Buses that misbehave.

use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

use keyway_testkit::PATIENCE;
use tempfile::TempDir;

use super::*;

/// Listens, reads the handshake, and then does what the test says.
fn bus(behave: impl FnOnce(UnixStream) + Send + 'static) -> (TempDir, BusAddress, JoinHandle<()>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bus");
    let listener = UnixListener::bind(&path).unwrap();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut greeting = String::new();
        BufReader::new(stream.try_clone().unwrap())
            .read_line(&mut greeting)
            .unwrap();
        assert!(greeting.starts_with("\0AUTH EXTERNAL "), "{greeting}");
        behave(stream);
    });
    (folder, BusAddress::Path(path), thread)
}

/// Stays until the other side hangs up: hanging up first could overtake what was said.
fn wait_for_the_end(mut stream: UnixStream) {
    drop(stream.read_to_end(&mut Vec::new()));
}

fn connect(address: BusAddress, within: Duration) -> BusError {
    Bus::connect(&[address], Instant::now() + within).unwrap_err()
}

#[test]
fn silent_bus_is_given_up_at_the_deadline() {
    let (_folder, address, thread) = bus(wait_for_the_end);
    let start = Instant::now();
    let error = connect(address, Duration::from_secs(1));
    assert!(matches!(error, BusError::TimedOut), "{error}");
    assert!(start.elapsed() < PATIENCE);
    thread.join().unwrap();
}

#[test]
fn bus_that_drips_does_not_outlast_the_deadline() {
    let (_folder, address, thread) = bus(|mut stream| {
        stream.write_all(b"OK 1\r\n").unwrap();
        // The sixteenth is an error of another kind.
        while stream.write_all(b"l").is_ok() {
            // Slow on command.
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    let start = Instant::now();
    let error = connect(address, Duration::from_secs(1));
    assert!(matches!(error, BusError::TimedOut), "{error}");
    assert!(start.elapsed() < PATIENCE);
    thread.join().unwrap();
}

#[test]
fn bus_that_does_not_accept_us_is_told_from_none() {
    for answer in ["REJECTED EXTERNAL\r\n", "ERROR\r\n"] {
        let (_folder, address, thread) = bus(move |mut stream| {
            stream.write_all(answer.as_bytes()).unwrap();
            wait_for_the_end(stream);
        });
        let error = connect(address, PATIENCE);
        assert!(matches!(error, BusError::NotAuthenticated), "{error}");
        thread.join().unwrap();
    }
    let nowhere = BusAddress::Path("/nonexistent/bus".into());
    let error = connect(nowhere, PATIENCE);
    assert!(matches!(error, BusError::NoBus), "{error}");
}

#[test]
fn endless_line_and_endless_message_are_not_read() {
    let (_folder, address, thread) = bus(|mut stream| {
        drop(stream.write_all(&[b'O'; 4096]));
        wait_for_the_end(stream);
    });
    let error = connect(address, PATIENCE);
    assert!(matches!(error, BusError::NotAuthenticated), "{error}");
    thread.join().unwrap();

    let (_folder, address, thread) = bus(|mut stream| {
        stream.write_all(b"OK 1\r\n").unwrap();
        let header = [
            b'l', 2, 0, 1, 0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0, 0, 0, 0, 0,
        ];
        drop(stream.write_all(&header));
        wait_for_the_end(stream);
    });
    let error = connect(address, PATIENCE);
    assert!(
        matches!(error, BusError::Malformed(Malformed::TooLong)),
        "{error}"
    );
    thread.join().unwrap();
}

#[test]
fn bus_that_hangs_up_is_a_failure_and_not_a_missing_keyring() {
    let (_folder, address, thread) = bus(drop);
    let failure = KeyringFailure::from(connect(address, PATIENCE));
    assert!(matches!(failure, KeyringFailure::Failed(_)), "{failure:?}");
    thread.join().unwrap();
}

#[test]
fn bus_of_another_user_is_not_told_anything() {
    assert!(is_trusted(1000, 1000));
    assert!(is_trusted(0, 1000));
    assert!(!is_trusted(1000, 0), "after `sudo`");
    assert!(!is_trusted(1001, 1000));
    let failure = KeyringFailure::from(BusError::ForeignBus);
    let missing = KeyringAbsence::ForeignBus;
    assert!(matches!(failure, KeyringFailure::Absent(found) if found == missing));
}
