//! What a session costs that does nothing: the connection of its client.

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Gateway, eventually};

use crate::client::Client;
use crate::soak::served_path;
use crate::{Program, SPARE, allow_many_connections};

#[test]
fn idle_session_costs_no_descriptor_but_those_of_its_client() {
    allow_many_connections();
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    desk.sign_in();
    let token = Gateway::token(desk.without_browser(&[]), &["--name", "n"]);
    let words = [".", "--trust", "--quiet"];
    let gateway = Program::new(Gateway::start(desk.without_browser(&[]), &words));
    let path = served_path(&desk);
    let client = || Client::new(gateway.process.port(), &path, Some(&token));
    // What is needed once, for the first session and its sign-in, is not counted.
    let mut first = client();
    first.begin();
    let before = gateway.descriptors();

    let mut silent: Vec<Client> = (0..SESSIONS).map(|_| client()).collect();
    silent.iter_mut().for_each(Client::initialize);
    eventually("sessions that only began have one descriptor each", || {
        gateway.descriptors() <= before + SESSIONS + SPARE
    });
    let mut used: Vec<Client> = (0..SESSIONS).map(|_| client()).collect();
    used.iter_mut().for_each(Client::begin);
    eventually("those that called and listen have two", || {
        gateway.descriptors() <= before + 3 * SESSIONS + SPARE
    });
    assert!(gateway.descriptors() >= 3 * SESSIONS, "they are open");
}

/// Above [`SPARE`], so that one descriptor more for each is seen.
const SESSIONS: usize = 40;
