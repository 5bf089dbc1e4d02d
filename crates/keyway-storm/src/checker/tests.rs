//! Journals that must pass, and journals that must not.

use super::*;
use crate::families::Families;

const LIFE: Duration = Duration::from_secs(30);

fn second(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// A run with one family, as everything that is looked at.
struct Run {
    families: Families,
    current: String,
    incidents: Vec<Incident>,
    restarts: Vec<Duration>,
    stalls: Vec<(Duration, Duration)>,
    stored: Option<Stored>,
    audit: Vec<String>,
    trail: Vec<String>,
    asked: bool,
}

impl Run {
    fn of(profile: Profile) -> Self {
        let mut families = Families::default();
        let (_, current) = families.begin(profile, 0, Duration::ZERO);
        Self {
            families,
            current,
            incidents: Vec::new(),
            restarts: Vec::new(),
            stalls: Vec::new(),
            stored: None,
            audit: Vec::new(),
            trail: Vec::new(),
            asked: false,
        }
    }

    /// Redeems a token and delivers the answer; returns the new one.
    fn redeem(&mut self, token: &str, at: u64, delivery: Delivery) -> Option<String> {
        let (family, outcome) = self.families.redeem(token, second(at), LIFE).unwrap();
        let (redemption, new) = match outcome {
            Ok(issued) => (issued.redemption, Some(issued.refresh)),
            Err(redemption) => (redemption, None),
        };
        self.families
            .deliver((family, redemption), delivery, second(at));
        new
    }

    /// Notes which replica sent the last token of a family that was redeemed.
    fn sent_by(&mut self, family: usize, replica: Option<usize>) {
        let last = self.families.0[family].redemptions.len() - 1;
        self.families.sent_by((family, last), replica);
    }

    /// Renews as it should be: the answer arrives and is stored.
    fn renew(&mut self, at: u64) {
        let spent = self.current.clone();
        self.current = self.redeem(&spent, at, Delivery::Written).unwrap();
    }

    fn incident(&mut self, cause: Cause, at: u64) {
        let (from, until) = (second(at), second(at));
        self.incidents.push(Incident {
            cause,
            replica: None,
            from,
            until,
        });
    }

    fn findings(&self) -> Findings {
        let stored = self.stored.clone().unwrap_or_else(|| Stored {
            refresh: self.current.clone(),
            needs_reauth: false,
        });
        Observed {
            families: &self.families.0,
            incidents: &self.incidents,
            restarts: &self.restarts,
            stalls: &self.stalls,
            stored: &HashMap::from([(0, stored)]),
            audit: &HashMap::from([(0, self.audit.clone())]),
            trail: &HashMap::from([(0, self.trail.clone())]),
            asked: &self.asked.then_some((0, second(1))).into_iter().collect(),
            end: second(1_000),
        }
        .check()
    }

    fn passes(&self) -> Row {
        let mut findings = self.findings();
        assert_eq!(findings.violations, Vec::<String>::new());
        findings.rows.pop_first().unwrap().1
    }

    #[track_caller]
    fn fails(&self, with: &str) {
        let violations = self.findings().violations;
        let [violation] = violations.as_slice() else {
            panic!("one violation: {violations:?}");
        };
        assert!(violation.contains(with), "{violation}");
    }
}

#[test]
fn a_chain_whose_last_token_is_stored_passes() {
    let mut run = Run::of(Profile::Strict);
    (10..15).for_each(|at| run.renew(at));
    let row = run.passes();
    assert_eq!(
        (row.refreshes, row.lost.len(), row.recovered.len()),
        (5, 0, 0)
    );
}

#[test]
fn a_token_that_came_again_without_a_cause_is_wrong_even_within_grace() {
    for profile in [
        Profile::Strict,
        Profile::Grace(10),
        Profile::NoGrace,
        Profile::TwoValid,
    ] {
        let mut run = Run::of(profile);
        let spent = run.current.clone();
        run.renew(10);
        if let Some(current) = run.redeem(&spent, 11, Delivery::Written) {
            run.current = current;
        }
        run.fails("came again without a cause");
    }
}

#[test]
fn a_kill_explains_a_second_try_only_while_its_answer_was_under_way() {
    let mut run = Run::of(Profile::Grace(10));
    let spent = run.current.clone();
    run.renew(100);
    run.current = run.redeem(&spent, 102, Delivery::Written).unwrap();
    run.incident(Cause::Kill, 101);
    assert_eq!(run.passes().recovered, [(Cause::Kill, 1)].into());
    for at in [90, 110] {
        run.incidents.clear();
        run.incident(Cause::Kill, at);
        run.fails("without a cause");
    }
}

/// What the storm reads late was sent before; and where the machine stands still, so do the survivors.
#[test]
fn where_the_machine_stood_still_a_kill_explains_what_was_read_later() {
    let mut run = Run::of(Profile::Grace(2));
    let spent = run.current.clone();
    run.renew(100);
    assert_eq!(run.redeem(&spent, 104, Delivery::Written), None);
    run.stored = Some(Stored {
        refresh: spent,
        needs_reauth: true,
    });
    run.audit.push("replica-died".to_owned());
    run.incident(Cause::Kill, 98);
    run.fails("without a cause");
    run.stalls.push((second(97), second(100)));
    assert_eq!(run.passes().lost, [(Cause::Stall, 1)].into());
    run.incidents.clear();
    run.fails("without a cause");
    run.incident(Cause::Kill, 100);
    run.stalls.clear();
    run.fails("which this server's grace covers");
}

#[test]
fn ten_seconds_of_grace_are_over_only_where_the_machine_stood_still_for_most_of_them() {
    for (seconds, passes) in [(9, true), (7, false)] {
        for (delivery, named) in [
            (Delivery::Written, "replica-died"),
            (Delivery::Lost, "answer-lost"),
        ] {
            let mut run = Run::of(Profile::GraceLosing);
            let spent = run.current.clone();
            run.redeem(&spent, 100, delivery);
            run.incident(Cause::Kill, 101);
            run.stalls.push((second(102), second(102 + seconds)));
            assert_eq!(run.redeem(&spent, 112, Delivery::Written), None);
            run.stored = Some(Stored {
                refresh: spent,
                needs_reauth: true,
            });
            run.audit.push(named.to_owned());
            match passes {
                true => assert_eq!(run.passes().lost, [(Cause::Stall, 1)].into()),
                false => run.fails("which this server's grace covers"),
            }
        }
    }
}

#[test]
fn no_call_may_fail_while_nothing_but_a_rolling_restart_goes_on() {
    let rolling = [(second(10), second(30))];
    let failed = |began, ended| [(second(began), second(ended), "502".to_owned())];
    for (began, ended, count) in [(12, 20, 1), (9, 12, 0), (29, 31, 0), (40, 41, 0)] {
        let wrong = calls_cut_by_restarts(&failed(began, ended), &rolling);
        assert_eq!(wrong.len(), count, "{began} to {ended}");
    }
}

#[test]
fn what_a_dead_process_sent_may_be_read_after_what_its_survivor_sent() {
    let mut run = Run::of(Profile::Grace(10));
    let spent = run.current.clone();
    run.renew(100);
    run.sent_by(0, Some(2));
    run.current = run.redeem(&spent, 101, Delivery::Unread).unwrap();
    run.sent_by(0, Some(1));
    run.incident(Cause::Kill, 100);
    run.incidents[0].replica = Some(1);
    assert_eq!(run.passes().recovered, [(Cause::Kill, 1)].into());
    run.incidents[0].replica = Some(0);
    run.fails("without a cause");
}

#[test]
fn what_a_kill_costs_at_a_strict_server_must_be_named_in_the_audit() {
    let mut run = Run::of(Profile::Strict);
    let spent = run.current.clone();
    run.renew(100);
    assert_eq!(run.redeem(&spent, 101, Delivery::Written), None);
    run.incident(Cause::Kill, 100);
    run.stored = Some(Stored {
        refresh: spent,
        needs_reauth: true,
    });
    run.fails("and the audit says []");
    run.audit.push("server".to_owned());
    run.fails("and the audit says");
    run.audit.push("replica-died".to_owned());
    assert_eq!(run.passes().lost, [(Cause::Kill, 1)].into());
}

#[test]
fn a_kill_costs_nothing_where_there_is_grace() {
    for profile in [Profile::Grace(2), Profile::Grace(10), Profile::GraceLosing] {
        let mut run = Run::of(profile);
        let spent = run.current.clone();
        run.renew(100);
        assert_eq!(run.redeem(&spent, 120, Delivery::Written), None);
        run.incident(Cause::Kill, 100);
        run.audit.push("replica-died".to_owned());
        run.fails("which this server's grace covers");
        // Far from it, a restart is no cause_within.
        run.restarts = vec![second(107)];
        run.fails("which this server's grace covers");
        run.restarts = vec![second(102)];
        assert_eq!(run.passes().lost, [(Cause::KillAndRestart, 1)].into());
    }
}

#[test]
fn a_vanished_machine_may_cost_what_two_seconds_of_grace_cover_and_no_more() {
    for (profile, passes) in [(Profile::Grace(2), true), (Profile::Grace(10), false)] {
        let mut run = Run::of(profile);
        let spent = run.current.clone();
        run.renew(100);
        assert_eq!(run.redeem(&spent, 120, Delivery::Written), None);
        run.incident(Cause::Vanished, 100);
        run.audit.push("replica-died".to_owned());
        match passes {
            true => drop(run.passes()),
            false => run.fails("which this server's grace covers"),
        }
    }
}

#[test]
fn a_spent_token_is_sent_at_most_once() {
    let mut run = Run::of(Profile::NoGrace);
    let spent = run.current.clone();
    assert!(run.redeem(&spent, 100, Delivery::Lost).is_some());
    assert_eq!(run.redeem(&spent, 101, Delivery::Written), None);
    run.audit.push("answer-lost".to_owned());
    assert_eq!(run.passes().lost, [(Cause::LostAnswer, 1)].into());
    assert_eq!(run.redeem(&spent, 102, Delivery::Written), None);
    run.fails("came again without a cause");
    // The replica that was refused was killed before it could note that.
    run.incident(Cause::Kill, 102);
    run.passes();
}

#[test]
fn a_store_that_has_another_token_than_the_server_is_wrong() {
    let mut run = Run::of(Profile::TwoValid);
    let spent = run.current.clone();
    run.renew(10);
    let stored = |refresh: &str, needs_reauth| {
        let refresh = refresh.to_owned();
        Some(Stored {
            refresh,
            needs_reauth,
        })
    };
    run.stored = stored(&spent, false);
    run.fails("the store has token 0, the server's current one is 1");
    run.stored = stored("rt.0.1.of-another", false);
    run.fails("not of this family");
    run.stored = stored(&run.current, true);
    run.fails("no token was refused");
    run.stored = None;
    run.asked = true;
    run.fails("asked to sign in");
}

#[test]
fn a_claim_from_before_a_restart_whose_owner_was_killed_may_be_open_at_the_end() {
    let mut run = Run::of(Profile::Strict);
    let spent = run.current.clone();
    run.renew(100);
    run.stored = Some(Stored {
        refresh: spent,
        needs_reauth: false,
    });
    run.incident(Cause::Kill, 101);
    run.fails("the store has token 0");
    for (restart, passes) in [(90, false), (101, true), (110, false)] {
        run.restarts = vec![second(restart)];
        match passes {
            true => drop(run.passes()),
            false => run.fails("the store has token 0"),
        }
    }
    run.restarts = vec![second(101)];
    run.incidents.clear();
    run.fails("the store has token 0");
}

#[test]
fn a_kill_of_another_replica_explains_nothing() {
    let mut run = Run::of(Profile::Strict);
    let spent = run.current.clone();
    let family = run.families.find(&spent).unwrap().0;
    run.renew(100);
    run.sent_by(family, Some(1));
    assert_eq!(run.redeem(&spent, 103, Delivery::Written), None);
    run.incident(Cause::Kill, 100);
    run.incidents[0].replica = Some(2);
    run.fails("without a cause");
    // The one that sent it died later, in the middle of a restart of the database: another cause.
    run.incident(Cause::Kill, 102);
    run.incidents[1].replica = Some(1);
    run.restarts.push(second(101));
    run.audit.push("replica-died".to_owned());
    run.stored = Some(Stored {
        refresh: spent,
        needs_reauth: true,
    });
    assert_eq!(run.passes().lost, [(Cause::KillAndRestart, 1)].into());
}

#[test]
fn an_answer_that_only_memory_could_keep_excuses_nothing() {
    let mut run = Run::of(Profile::Slow);
    let spent = run.current.clone();
    run.renew(100);
    // The database was away when it came, and the disk was full.
    run.restarts = vec![second(99), second(108)];
    run.passes();
    run.stored = Some(Stored {
        refresh: spent.clone(),
        needs_reauth: false,
    });
    run.fails("the store has token 0");
    assert_eq!(run.redeem(&spent, 110, Delivery::Written), None);
    run.audit.push("server".to_owned());
    run.fails("came again without a cause");
}

#[test]
fn a_vanished_host_is_a_cause_for_what_it_had_under_way_alone() {
    let mut run = Run::of(Profile::Strict);
    let spent = run.current.clone();
    let family = run.families.find(&spent).unwrap().0;
    run.renew(100);
    run.sent_by(family, Some(2));
    assert_eq!(run.redeem(&spent, 105, Delivery::Written), None);
    run.audit.push("replica-died".to_owned());
    run.incident(Cause::Vanished, 101);
    run.incidents[0].replica = Some(1);
    run.fails("without a cause");
    run.incidents[0].replica = Some(2);
    assert_eq!(run.passes().lost, [(Cause::Vanished, 1)].into());
    run.audit.clear();
    run.fails("and the audit says []");
}

#[test]
fn calls_without_a_wrapping_key_fail_only_while_it_is_away_and_with_503() {
    let absences = [(second(100), second(110))];
    for (at, status, wrong) in [
        (50, 503, Some("which was there")),
        (99, 503, None),
        (105, 503, None),
        (105, 200, Some("got 200")),
        (105, 502, Some("got 502")),
        (113, 503, Some("which was there")),
    ] {
        let found = calls_without_key(&[(second(at), status)], &absences);
        match wrong {
            None => assert_eq!(found, Vec::<String>::new(), "{at} {status}"),
            Some(text) => assert!(found[0].contains(text), "{at} {status}: {found:?}"),
        }
    }
}

#[test]
fn a_key_is_asked_for_again_only_where_its_process_was_stopped_meanwhile() {
    let again = |at| Repeated {
        process: 7,
        first: second(100),
        again: second(at),
    };
    let stop = |process, from, until| (process, second(from), second(until));
    for (at, stops, wrong) in [
        (110, vec![], 0),
        (120, vec![], 1),
        (192, vec![stop(7, 102, 190)], 0),
        (192, vec![stop(8, 102, 190)], 1),
        (192, vec![stop(7, 20, 90)], 1),
        (220, vec![stop(7, 102, 190)], 1),
    ] {
        let found = keys_asked_for_again(&[again(at)], &stops);
        assert_eq!(found.len(), wrong, "{at} {stops:?}: {found:?}");
    }
}

#[test]
fn a_host_that_vanished_is_found_within_six_seconds() {
    let take_overs = [(second(100), second(106)), (second(200), second(207))];
    assert_eq!(late_take_overs(&take_overs[..1], &[]), Vec::<String>::new());
    assert_eq!(late_take_overs(&take_overs, &[]).len(), 1);
    for (from, until, late) in [(203, 205, 0), (198, 205, 0), (206, 220, 0), (120, 199, 1)] {
        let found = late_take_overs(&take_overs, &[(second(from), second(until))]);
        assert_eq!(found.len(), late, "{from} {until}");
    }
}

#[test]
fn a_token_of_an_ended_family_may_come_once_more_if_its_answer_came_after_the_end() {
    for (arrives, passes) in [(112, true), (101, false)] {
        let mut run = Run::of(Profile::Slow);
        let spent = run.current.clone();
        let (family, issued) = run.families.redeem(&spent, second(100), LIFE).unwrap();
        let issued = issued.unwrap();
        assert_eq!(run.redeem(&spent, 105, Delivery::Written), None);
        let at = (family, issued.redemption);
        run.families.deliver(at, Delivery::Written, second(arrives));
        run.incident(Cause::Vanished, 102);
        run.audit.push("replica-died".to_owned());
        run.stored = Some(Stored {
            refresh: issued.refresh.clone(),
            needs_reauth: true,
        });
        assert_eq!(run.passes().lost, [(Cause::Vanished, 1)].into());
        assert_eq!(run.redeem(&issued.refresh, 113, Delivery::Written), None);
        match passes {
            true => assert_eq!(run.passes().lost, [(Cause::Vanished, 1)].into()),
            false => run.fails("had never been good"),
        }
        assert_eq!(run.redeem(&issued.refresh, 114, Delivery::Written), None);
        run.fails(if passes {
            "without a cause"
        } else {
            "had never been good"
        });
    }
}

#[test]
fn an_answer_that_a_cut_link_held_back_comes_after_the_end_of_its_family() {
    for passes in [true, false] {
        let mut run = Run::of(Profile::Strict);
        let spent = run.current.clone();
        let family = run.families.find(&spent).unwrap().0;
        run.renew(100);
        run.sent_by(family, Some(2));
        assert_eq!(run.redeem(&spent, 104, Delivery::Written), None);
        run.incident(Cause::Vanished, 99);
        run.incidents[0].until = second(103);
        run.incidents[0].replica = Some(2);
        run.audit.push("replica-died".to_owned());
        if !passes {
            // The same, of a host that was not cut off.
            run.incidents[0].cause = Cause::Kill;
        }
        assert_eq!(
            run.redeem(&run.current.clone(), 105, Delivery::Written),
            None
        );
        match passes {
            true => assert_eq!(run.passes().lost, [(Cause::Vanished, 1)].into()),
            false => run.fails("had never been good"),
        }
    }
}

#[test]
fn a_refusal_that_ended_nothing_costs_nothing_if_the_answer_is_stored_after_all() {
    let mut run = Run::of(Profile::NoGrace);
    let spent = run.current.clone();
    run.renew(100);
    assert_eq!(run.redeem(&spent, 104, Delivery::Written), None);
    run.incident(Cause::Vanished, 101);
    assert_eq!(run.passes().recovered, [(Cause::Vanished, 1)].into());
    run.renew(120);
    assert_eq!(run.passes().recovered, [(Cause::Vanished, 1)].into());
    run.stored = Some(Stored {
        refresh: spent,
        needs_reauth: false,
    });
    run.fails("and the audit says []");
}

#[test]
fn a_lost_answer_that_waits_for_its_second_try_is_lost_where_the_server_is_strict() {
    for (profile, passes) in [(Profile::StrictLosing, true), (Profile::GraceLosing, false)] {
        let mut run = Run::of(profile);
        let spent = run.current.clone();
        run.redeem(&spent, 100, Delivery::Lost);
        run.fails("the store has token 0");
        run.trail.push("100.0: #0 answer-lost  by 1".to_owned());
        match passes {
            true => assert_eq!(run.passes().lost, [(Cause::LostAnswer, 1)].into()),
            false => run.fails("the store has token 0"),
        }
        run.trail.push("101.0: #1 committed  by 1".to_owned());
        run.fails("the store has token 0");
    }
}
