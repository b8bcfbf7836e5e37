use super::*;
use odonata_engine::{Journalled, Plain, Savepoint, Speculative};

const LINK: Cause = 0;
const CREDIT: Cause = 1;

fn at(ps: u64) -> Time {
    Time(ps)
}

fn ledger() -> Ledger {
    Ledger::new(vec![0, 1], 2, 8, 2, None)
}

/// (victim, culprit, cause, ps) of line 0.
fn booked(ledger: &Ledger) -> Vec<(Owner, Option<Owner>, Cause, u64)> {
    let of_line = ledger.charges().filter(|charge| charge.line == 0);
    of_line.map(|c| (c.victim, c.culprit, c.cause, c.time.0)).collect()
}

#[test]
fn each_waiter_adds_a_second_per_second() {
    let mut ledger = ledger();
    ledger.join::<Plain>(0, at(0), 1);
    ledger.charge::<Plain>(0, at(4), 2, LINK);
    ledger.join::<Plain>(0, at(4), 1);
    ledger.join::<Plain>(0, at(4), 3);
    ledger.charge::<Plain>(0, at(6), 2, LINK);
    ledger.leave::<Plain>(0, at(6), 1);
    ledger.charge::<Plain>(0, at(11), 1, LINK);
    ledger.leave::<Plain>(0, at(11), 1);
    ledger.leave::<Plain>(0, at(11), 3);
    // Owner 1: one waiter for 4 ps and two for 2 ps behind owner 2, then one for 5 ps behind owner 1 itself.
    let expected = [
        (1, Some(1), LINK, 5),
        (1, Some(2), LINK, 4 + 2 * 2),
        (3, Some(1), LINK, 5),
        (3, Some(2), LINK, 2),
    ];
    assert_eq!(booked(&ledger), expected);
    ledger.audit().unwrap();
    assert_eq!(
        ledger.waited(1),
        Waited {
            waits: 2,
            time: at(6 + 7)
        }
    );
}

#[test]
fn deferred_waits_are_charged_to_the_actual_holder() {
    let mut ledger = ledger();
    ledger.join::<Plain>(0, at(10), 1);
    ledger.defer::<Plain>(0, at(15));
    ledger.charge::<Plain>(0, at(18), 4, LINK);
    assert_eq!(booked(&ledger), [(1, None, 0, 5), (1, Some(4), LINK, 3)]);
    assert!(ledger.audit().unwrap_err().contains("no culprit"));
    ledger.settle::<Plain>(0, at(18), 5, CREDIT);
    ledger.leave::<Plain>(0, at(18), 1);
    assert_eq!(booked(&ledger), [(1, Some(4), LINK, 3), (1, Some(5), CREDIT, 5)]);
    ledger.audit().unwrap();
}

#[test]
fn a_line_takes_any_number_of_culprits_and_owners() {
    let mut ledger = Ledger::new(vec![0], 1, 40, 1, None);
    for owner in 0..20 {
        ledger.join::<Plain>(0, at(0), owner);
    }
    for culprit in 0..40 {
        ledger.charge::<Plain>(0, at(u64::from(culprit) + 1), culprit, LINK);
    }
    for owner in 0..20 {
        ledger.leave::<Plain>(0, at(40), owner);
    }
    let charges: Vec<Charge> = ledger.charges().collect();
    assert_eq!(charges.len(), 20 * 40);
    assert!(charges.iter().all(|charge| charge.time == at(1)));
    ledger.audit().unwrap();
}

/// More owners than have a place in a line take a held link in turn, twice: each waits for those before it.
#[test]
fn every_owner_in_a_held_line_is_charged_for_the_holders_before_it() {
    let mut ledger = ledger();
    let held = |holder: Owner, until: u64| Hold {
        free_at: at(until),
        holder,
        cause: LINK,
    };
    let mut now = 0;
    for _ in 0..2 {
        for owner in 0..7 {
            ledger.join_held::<Plain>(0, at(now), owner, held(7, now + 10));
        }
        for owner in 0..7 {
            now += 10;
            let taker = Taker {
                joined: true,
                returns: false,
                lacked: || (7, CREDIT),
            };
            ledger.pass::<Plain, _>(0, (at(now), at(now)), held(owner, now + 10), Some(taker));
        }
        now += 10;
    }
    let of_victim = |victim| {
        (0..victim)
            .chain([7])
            .map(move |culprit| (victim, Some(culprit), LINK, 20))
    };
    let expected: Vec<_> = (0..7).flat_map(of_victim).collect();
    assert_eq!(booked(&ledger), expected);
    ledger.audit().unwrap();
}

#[test]
fn charges_that_do_not_add_up_and_waiters_left_over_are_found() {
    let mut wrong = ledger();
    wrong.join::<Plain>(0, at(0), 1);
    wrong.charge::<Plain>(0, at(4), 2, LINK);
    wrong.leave::<Plain>(0, at(4), 1);
    // Simulates a missed wait of 3 ps.
    wrong.waited.edit::<Plain>(1).time += at(3);
    assert!(wrong.audit().unwrap_err().contains("charged for 4 ps, but waited 7 ps"));
    let mut left = ledger();
    left.join::<Plain>(1, at(0), 1);
    assert!(left.audit().unwrap_err().contains("still waiters in line 1"));
}

#[test]
fn the_series_cuts_at_intervals_and_adds_up_to_the_charges() {
    let mut ledger = Ledger::new(vec![0, 1], 2, 8, 2, Some(at(10)));
    ledger.join::<Plain>(1, at(3), 1);
    ledger.charge::<Plain>(1, at(25), 2, CREDIT);
    ledger.leave::<Plain>(1, at(25), 1);
    let cells: Vec<(u64, u8, u64)> = ledger.series().map(|c| (c.start.0, c.place, c.time.0)).collect();
    assert_eq!(cells, [(0, 1, 7), (10, 1, 10), (20, 1, 5)]);
    assert!(
        ledger
            .series()
            .all(|c| (c.victim, c.culprit, c.cause) == (1, 2, CREDIT))
    );
}

#[test]
fn everything_can_be_taken_back() {
    let mut ledger = Ledger::new(vec![0, 1], 2, 8, 2, Some(at(10)));
    ledger.join::<Plain>(0, at(0), 1);
    let print = |ledger: &Ledger| {
        let mut digest = Digest::new();
        ledger.fingerprint(&mut digest);
        digest.value()
    };
    let before = print(&ledger);
    Savepoint(1).begin();
    for culprit in 0..6 {
        ledger.charge::<Speculative>(0, at(u64::from(culprit) * 7 + 7), culprit, LINK);
    }
    ledger.join::<Speculative>(0, at(42), 2);
    ledger.defer::<Speculative>(0, at(50));
    ledger.settle::<Speculative>(0, at(50), 3, CREDIT);
    ledger.leave::<Speculative>(0, at(50), 1);
    assert_ne!(print(&ledger), before);
    ledger.undo(Savepoint(1));
    assert_eq!(print(&ledger), before);
}

/// Waits timed by the caller: their parts add up to ends minus starts, or the audit fails.
#[test]
fn waits_charged_in_parts_add_up_to_the_whole() {
    let mut ledger = ledger();
    ledger.wait_begins::<Plain>(at(10), 1);
    ledger.charge_time::<Plain>(0, at(16), 1, at(6), (3, LINK));
    ledger.charge_time::<Plain>(0, at(20), 1, at(4), (1, LINK));
    ledger.wait_ends::<Plain>(at(20), 1);
    assert_eq!(booked(&ledger), [(1, Some(1), LINK, 4), (1, Some(3), LINK, 6)]);
    ledger.audit().unwrap();
    ledger.wait_begins::<Plain>(at(30), 2);
    ledger.charge_time::<Plain>(0, at(39), 2, at(8), (3, LINK));
    ledger.wait_ends::<Plain>(at(39), 2);
    assert!(
        ledger
            .audit()
            .unwrap_err()
            .contains("charged for 8 ps, but waited 9 ps")
    );
    ledger.defer_time::<Plain>(0, 2, at(1));
    assert!(ledger.audit().unwrap_err().contains("no culprit"));
}
