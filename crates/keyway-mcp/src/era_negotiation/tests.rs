//! Every answer in every state.

use super::Step::{Ask, Decided, Failed, NoCommonVersion, Wait, WaitBriefly};
use super::*;
use Answer::{Accepted, OtherEra, OtherVersion};
use ClientEra::{Legacy, Modern};
use Question::{Discover, Initialize};

/// What a server does.
#[derive(Debug, Clone)]
enum Input {
    Answers(Question, Answer),
    KeepsSilent,
}

fn to(question: Question, answer: Answer) -> Input {
    Input::Answers(question, answer)
}

fn versions(names: &[&str]) -> Vec<String> {
    names.iter().copied().map(str::to_owned).collect()
}

fn other(names: &[&str]) -> Answer {
    OtherVersion(versions(names))
}

/// Follows a negotiation; returns every step, and whether the last state waits for a limited time.
fn follow(mut negotiation: EraNegotiation, inputs: &[Input]) -> Vec<Step> {
    let step = |input: &Input| match input.clone() {
        Input::Answers(question, answer) => negotiation.answered(question, answer),
        Input::KeepsSilent => {
            assert!(negotiation.is_timed(), "{negotiation:?} waits for ever");
            negotiation.silent()
        }
    };
    inputs.iter().map(step).collect()
}

#[test]
fn a_session_decides_by_the_first_answer_to_discover() {
    for (answer, expected) in [
        (Accepted, Decided(Modern)),
        (OtherEra, Ask(Initialize)),
        (Answer::Failed, Failed(Discover)),
        (other(&[MODERN]), Ask(Discover)),
        (other(&["2099-01-01", MODERN]), Ask(Discover)),
        (other(&["2025-06-18"]), Ask(Initialize)),
        (
            other(&["2099-01-01"]),
            NoCommonVersion(versions(&["2099-01-01"])),
        ),
        (other(&[]), NoCommonVersion(Vec::new())),
    ] {
        let (negotiation, first) = EraNegotiation::of_session();
        assert_eq!(first, Ask(Discover));
        let steps = follow(negotiation, &[to(Discover, answer.clone())]);
        assert_eq!(steps, [expected], "{answer:?}");
    }
}

#[test]
fn a_session_repeats_discover_once() {
    let again = to(Discover, other(&[MODERN]));
    for (second, expected) in [
        (Accepted, Decided(Modern)),
        (OtherEra, Ask(Initialize)),
        (other(&[MODERN]), NoCommonVersion(versions(&[MODERN]))),
        (other(&[MODERN, "2025-11-25"]), Ask(Initialize)),
    ] {
        let (negotiation, _) = EraNegotiation::of_session();
        let steps = follow(negotiation, &[again.clone(), to(Discover, second.clone())]);
        assert_eq!(steps, [Ask(Discover), expected], "{second:?}");
    }
}

#[test]
fn after_a_legacy_answer_initialize_decides() {
    let legacy = to(Discover, OtherEra);
    for (answer, expected) in [
        (Accepted, Decided(Legacy)),
        (OtherEra, Failed(Initialize)),
        (Answer::Failed, Failed(Initialize)),
    ] {
        let (negotiation, _) = EraNegotiation::of_session();
        let inputs = [legacy.clone(), to(Initialize, answer.clone())];
        assert_eq!(
            follow(negotiation, &inputs),
            [Ask(Initialize), expected.clone()]
        );
        let (negotiation, first) = EraNegotiation::of_legacy_session();
        assert_eq!(first, Ask(Initialize));
        assert!(!negotiation.is_timed());
        let steps = follow(negotiation, &[to(Initialize, answer.clone())]);
        assert_eq!(steps, [expected], "{answer:?}");
    }
}

#[test]
fn a_silent_server_is_asked_both_and_the_first_answer_decides() {
    let silent = Input::KeepsSilent;
    for (answers, expected) in [
        (vec![to(Initialize, Accepted)], vec![Decided(Legacy)]),
        (
            vec![to(Initialize, Answer::Failed)],
            vec![Failed(Initialize)],
        ),
        // Modern, and the `initialize` that is still open gets its time.
        (
            vec![to(Discover, Accepted), Input::KeepsSilent],
            vec![WaitBriefly, Decided(Modern)],
        ),
        (
            vec![to(Discover, Accepted), to(Initialize, Accepted)],
            vec![WaitBriefly, Decided(Legacy)],
        ),
        (
            vec![to(Discover, Accepted), to(Initialize, OtherEra)],
            vec![WaitBriefly, Decided(Modern)],
        ),
        (
            vec![to(Discover, Accepted), to(Initialize, Answer::Failed)],
            vec![WaitBriefly, Decided(Modern)],
        ),
        // Legacy: `initialize` was asked already.
        (
            vec![to(Discover, OtherEra), to(Initialize, Accepted)],
            vec![Wait, Decided(Legacy)],
        ),
        (
            vec![
                to(Discover, other(&["2025-06-18"])),
                to(Initialize, Accepted),
            ],
            vec![Wait, Decided(Legacy)],
        ),
        (
            vec![to(Discover, other(&[MODERN])), to(Discover, Accepted)],
            vec![Ask(Discover), WaitBriefly],
        ),
        (
            vec![to(Discover, other(&["x"]))],
            vec![NoCommonVersion(versions(&["x"]))],
        ),
        (vec![to(Discover, Answer::Failed)], vec![Failed(Discover)]),
        // `initialize` is refused for a reason that only modern servers have.
        (
            vec![to(Initialize, OtherEra), to(Discover, Accepted)],
            vec![Wait, Decided(Modern)],
        ),
        (
            vec![to(Initialize, OtherEra), to(Discover, OtherEra)],
            vec![Wait, Failed(Initialize)],
        ),
        (
            vec![to(Initialize, OtherEra), to(Discover, Answer::Failed)],
            vec![Wait, Failed(Discover)],
        ),
        (
            vec![
                to(Initialize, OtherEra),
                to(Discover, other(&["2025-06-18"])),
            ],
            vec![Wait, Failed(Initialize)],
        ),
    ] {
        let (negotiation, _) = EraNegotiation::of_session();
        let inputs: Vec<_> = [silent.clone()].into_iter().chain(answers).collect();
        let steps = follow(negotiation, &inputs);
        assert_eq!(steps[0], Ask(Initialize));
        assert_eq!(steps[1..], expected, "{inputs:?}");
    }
}

#[test]
fn a_client_gets_the_other_era_only_if_the_server_does_not_speak_its_own() {
    for (era, input, expected) in [
        (Modern, to(Discover, Accepted), Decided(Modern)),
        (Modern, to(Discover, OtherEra), Ask(Initialize)),
        (Modern, to(Discover, Answer::Failed), Failed(Discover)),
        (Modern, Input::KeepsSilent, Ask(Initialize)),
        // Client and server agree on the version themselves.
        (
            Modern,
            to(Discover, other(&["2099-01-01"])),
            Decided(Modern),
        ),
        (Modern, to(Discover, other(&[MODERN])), Decided(Modern)),
        (Legacy, to(Initialize, Accepted), Decided(Legacy)),
        (Legacy, to(Initialize, OtherEra), Ask(Discover)),
        (Legacy, to(Initialize, Answer::Failed), Failed(Initialize)),
    ] {
        let steps = follow(EraNegotiation::of_client(era), std::slice::from_ref(&input));
        assert_eq!(steps, [expected], "{era:?} {input:?}");
    }
    // A client's `initialize` has as long as the client waits.
    assert!(!EraNegotiation::of_client(Legacy).is_timed());
}

#[test]
fn failures_are_read_in_one_way() {
    let status = |status| TransportError::Status {
        status,
        retry_after: None,
    };
    for (error, expected) in [
        (status(400), OtherEra),
        (status(404), OtherEra),
        (status(405), OtherEra),
        (status(500), OtherEra),
        (status(501), OtherEra),
        // It is asked too often: another question at once makes it worse.
        (status(429), Answer::Failed),
        (status(502), Answer::Failed),
        (status(503), Answer::Failed),
        (TransportError::Closed, Answer::Failed),
        (TransportError::Timeout { seconds: 1 }, Answer::Failed),
    ] {
        assert_eq!(Answer::to_failed_discovery(&error), expected, "{error}");
    }
    for (code, expected) in [
        (-32022, OtherEra),
        (-32020, OtherEra),
        (-32601, Answer::Failed),
        (-32602, Answer::Failed),
    ] {
        assert_eq!(Answer::to_refused_initialize(code), expected, "{code}");
    }
}
