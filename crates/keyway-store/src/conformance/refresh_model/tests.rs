//! The protocol keeps its promises in every order of steps, and each rule is needed for that.

use super::explore::{Counterexample, explore};
use super::*;

/// Everything that can go wrong, once each.
const EVERYTHING: Budget = Budget {
    refreshes: 2,
    deaths: 1,
    lost: 1,
    stops: 1,
    clock_steps: 0,
    overdue: 1,
    journals: 1,
};

/// Nothing but time: no process dies, no answer is lost.
const NO_LOSS: Budget = Budget {
    refreshes: 2,
    deaths: 0,
    lost: 0,
    stops: 2,
    clock_steps: 1,
    overdue: 1,
    journals: 1,
};

fn check(processes: usize, budget: Budget, rules: &Rules) -> Result<usize, Counterexample> {
    let explored = explore(State::new(processes, budget), rules);
    match explored.counterexample() {
        None => Ok(explored.states()),
        Some(counterexample) => Err(counterexample),
    }
}

fn fault(budget: Budget, rules: &Rules) -> Fault {
    let found = check(2, budget, rules).expect_err("the rule is needed");
    println!("{rules:?}: {:?} by {:?}", found.fault, found.steps);
    found.fault
}

#[test]
fn the_protocol_keeps_its_promises_in_every_order_of_steps() {
    let two = check(2, EVERYTHING, &Rules::default()).unwrap();
    let no_loss = check(2, NO_LOSS, &Rules::default()).unwrap();
    println!("two processes: {two} states; without any loss: {no_loss}");
    let third = Budget {
        refreshes: 1,
        stops: 0,
        ..EVERYTHING
    };
    let three = check(3, third, &Rules::default()).unwrap();
    println!("three processes: {three} states");
    assert!(two > 10_000 && three > 10_000, "{two} {three}");
}

/// A million states and more: some minutes without optimisation.
#[test]
#[ignore = "takes minutes"]
fn the_protocol_keeps_its_promises_when_everything_goes_wrong_twice() {
    let twice = Budget {
        deaths: 2,
        clock_steps: 1,
        ..EVERYTHING
    };
    let states = check(2, twice, &Rules::default()).unwrap();
    println!("{states} states");
}

#[test]
fn a_server_with_grace_or_without_rotation_never_ends_a_sign_in() {
    for rotation in [Rotation::Grace, Rotation::None] {
        let rules = Rules {
            rotation,
            ..Rules::default()
        };
        check(
            2,
            Budget {
                stops: 0,
                ..EVERYTHING
            },
            &rules,
        )
        .unwrap();
    }
}

#[test]
fn a_deadline_of_callers_must_not_end_the_exchange() {
    for exchange in [
        ExchangeEnd::CallerTimeout,
        ExchangeEnd::RestOfCallerTimeout,
        ExchangeEnd::WallClock,
    ] {
        let rules = Rules {
            exchange,
            ..Rules::default()
        };
        // A process that waited for another can only be wrong if that other gave its claim back.
        let found = fault(NO_LOSS, &rules);
        assert!(
            matches!(found, Fault::RedeemedTwice | Fault::StoreIsBehind),
            "{exchange:?}: {found:?}"
        );
    }
}

#[test]
fn the_claim_of_a_living_process_must_not_end_by_any_clock() {
    for living_claim in [LivingClaim::EndsByWallClock, LivingClaim::EndsByLifetime] {
        let rules = Rules {
            living_claim,
            ..Rules::default()
        };
        assert_eq!(fault(NO_LOSS, &rules), Fault::RedeemedTwice);
    }
}

#[test]
fn an_unanswered_request_must_be_counted() {
    let rules = Rules {
        unanswered: UnansweredEnd::Released,
        ..Rules::default()
    };
    let lost = Budget { lost: 1, ..NO_LOSS };
    assert_eq!(fault(lost, &rules), Fault::CauseUnknown);
}

#[test]
fn the_claim_of_a_dead_process_must_be_taken_over() {
    let rules = Rules {
        dead_claim: DeadClaim::Stays,
        ..Rules::default()
    };
    let death = Budget {
        deaths: 1,
        ..NO_LOSS
    };
    assert_eq!(fault(death, &rules), Fault::Stuck);
}

#[test]
fn the_journal_must_be_committed_before_the_next_claim() {
    let rules = Rules {
        journal: JournalUse::Never,
        ..Rules::default()
    };
    let death = Budget {
        deaths: 1,
        ..NO_LOSS
    };
    let found = fault(death, &rules);
    assert!(
        matches!(found, Fault::RedeemedTwice | Fault::StoreIsBehind),
        "{found:?}"
    );
}
