use super::*;
use odonata_engine::Plain;

const fn s(n: u64) -> Time {
    Time::from_ns(1_000_000_000 * n)
}

fn by(culprit: Owner, seconds: u64) -> Loss {
    Loss {
        culprit,
        kind: Kind::Link,
        place: LostAt::NOWHERE,
        time: s(seconds),
    }
}

#[test]
fn own_lateness_absorbs_the_delay_of_another() {
    // A message comes at 10 s, 4 s of which were lost; its receiver was at work until 9 s anyway.
    let mut receive = Stamp::start(s(9));
    receive.join(&Stamp::new(s(10), vec![by(1, 4)]));
    assert_eq!((receive.lost(), receive.losses.clone()), (s(1), vec![by(1, 1)]));
    // Had it worked until 11 s, nothing would be lost.
    let mut late = Stamp::start(s(11));
    late.join(&Stamp::new(s(10), vec![by(1, 4)]));
    assert_eq!((late.lost(), late.losses.len()), (Time::ZERO, 0));
}

#[test]
fn of_two_culprits_the_later_one_counts_for_what_the_other_leaves() {
    let mut both = Stamp::new(s(12), vec![by(1, 5)]);
    both.join(&Stamp::new(s(15), vec![by(2, 10)]));
    // Undisturbed: at 7 s and at 5 s.
    assert_eq!((both.undisturbed, both.losses), (s(7), vec![by(2, 8)]));
}

#[test]
fn a_join_does_not_depend_on_the_order() {
    let stamps = [
        Stamp::new(s(12), vec![by(1, 5)]),
        Stamp::new(s(15), vec![by(2, 10), by(3, 1)]),
        Stamp::start(s(6)),
    ];
    let joined = |order: [usize; 3]| {
        let mut all = stamps[order[0]].clone();
        order[1..].iter().for_each(|&i| all.join(&stamps[i]));
        all.audit().unwrap();
        (all.at, all.undisturbed, all.lost())
    };
    let first = joined([0, 1, 2]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(joined(order), first, "{order:?}");
    }
}

#[test]
fn scaled_losses_add_up_to_the_picosecond() {
    for sum in 0..=1_000 {
        let mut losses: Vec<Loss> = (0..7)
            .map(|culprit| Loss {
                culprit,
                kind: Kind::Buffer,
                place: LostAt::NOWHERE,
                time: Time(1 + 97 * u64::from(culprit) % 211),
            })
            .collect();
        let whole = total(&losses);
        scale(&mut losses, Time(sum));
        assert_eq!(total(&losses), whole.min(Time(sum)));
    }
}

#[test]
fn stamps_come_back_as_they_were_kept() {
    let mut stamps = Stamps::new(1);
    let of = |n: u64| Stamp::new(s(20 + n), vec![by(1, n % 3 + 1), by(4, 2)]);
    for n in 0..500 {
        stamps.set::<Plain>((n, n % 7), &of(n));
    }
    for n in (0..500).step_by(2) {
        assert_eq!(stamps.take::<Plain>((n, n % 7)), Some(of(n)));
        assert_eq!(stamps.get((n, n % 7)), None);
    }
    stamps.lose::<Plain>((1, 1), by(2, 5));
    assert_eq!(stamps.get((1, 1)).unwrap().losses, [by(1, 2), by(2, 5), by(4, 2)]);
    for n in (1..500).step_by(2) {
        stamps.forget::<Plain>((n, n % 7));
    }
    assert_eq!((stamps.live(), stamps.chunks()), (0, 0));
}

#[test]
fn places_change_no_sum_of_a_culprit_and_kind() {
    let at = |culprit: Owner, link: u32, time: u64| Loss {
        place: LostAt::link(link),
        time: Time(time),
        ..by(culprit, 0)
    };
    for sum in 0..=200 {
        let mut placed: Vec<Loss> = (0..9).map(|n| at(n / 3, u32::from(n), 7 + 13 * u64::from(n))).collect();
        let mut plain = placed.clone();
        without_places(&mut plain);
        assert_eq!(plain.len(), 3);
        scale(&mut placed, Time(sum));
        scale(&mut plain, Time(sum));
        without_places(&mut placed);
        assert_eq!(placed, plain, "{sum}");
    }
}

#[test]
fn a_join_stems_from_where_the_last_one_does() {
    let from = |rank, number| Origin { rank, number };
    let mut both = Stamp::start(s(3));
    both.rebase(from(1, 1));
    let mut other = Stamp::new(s(9), vec![by(2, 1)]);
    other.rebase(from(4, 7));
    both.join(&other);
    assert_eq!(both.origin, from(4, 7));
    let mut stamps = Stamps::new(1);
    stamps.set::<Plain>((1, 2), &both);
    stamps.stems::<Plain>((1, 3), from(5, 6));
    assert_eq!(stamps.get((1, 2)), Some(both));
    assert_eq!(stamps.get((1, 3)).unwrap().origin, from(5, 6));
}

/// However many places there are: the largest stay, the sums of each culprit and kind too.
#[test]
fn of_many_places_the_largest_are_kept_and_the_others_are_one() {
    let mut losses = Vec::new();
    let times: Vec<u64> = (0..60).map(|n| 1 + n * 37 % 61).collect();
    for (n, &time) in times.iter().enumerate() {
        let loss = Loss {
            culprit: (n % 2) as Owner,
            kind: Kind::ALL[n % 3],
            place: LostAt::link(n as u32 / 6),
            time: Time(time),
        };
        add(&mut losses, loss);
    }
    add(&mut losses, by(1, 1));
    let before = losses.clone();
    bound_places(&mut losses);
    assert!(losses.is_sorted_by(|a, b| a.name() < b.name()), "{losses:?}");
    let known: Vec<&Loss> = losses.iter().filter(|loss| loss.place.is_known()).collect();
    let least = known.iter().map(|loss| loss.time).min().unwrap();
    let larger = before
        .iter()
        .filter(|loss| loss.place.is_known() && loss.time > least)
        .count();
    assert_eq!((known.len(), larger < known.len()), (KEPT_PLACES, true));
    assert!(known.iter().all(|loss| before.contains(loss)));
    assert!(losses.iter().filter(|loss| loss.place == LostAt::ELSEWHERE).count() <= 6);
    let sums = |losses: &[Loss]| {
        let mut plain = losses.to_vec();
        without_places(&mut plain);
        plain
    };
    assert_eq!(sums(&losses), sums(&before));
    // Few stay as they are.
    let few = losses.clone();
    bound_places(&mut losses);
    assert_eq!(losses, few);
}

/// What a short cut leaves out of a join changes nothing.
#[test]
fn a_join_of_what_is_kept_is_that_of_the_stamps() {
    for n in 0..200 {
        let of = |at: u64, lost: u64| {
            let mut losses = Vec::new();
            add(&mut losses, by(1, lost % 3));
            add(&mut losses, by(2, lost % 4));
            Stamp::new(s(at % 7), losses)
        };
        let (one, other) = (of(n, n * 5), of(n * 3, n * 11 / 2));
        let mut stamps = Stamps::new(1);
        stamps.set::<Plain>((0, 0), &one);
        stamps.join::<Plain>((0, 0), &other);
        let mut joined = one.clone();
        joined.join(&other);
        assert_eq!(stamps.get((0, 0)), Some(joined), "{one:?} {other:?}");
    }
}
