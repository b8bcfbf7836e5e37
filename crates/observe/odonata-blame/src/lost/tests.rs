use super::*;
use odonata_engine::random::Purpose;
use odonata_engine::{Plain, Stream};

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
    // A message arrives at 10 s, 4 s of which were lost; its receiver computed until 9 s.
    let mut receive = Stamp::start(s(9));
    receive.join(&Stamp::new(s(10), NO_JOB, vec![by(1, 4)]));
    assert_eq!((receive.lost(), receive.losses.clone()), (s(1), vec![by(1, 1)]));
    // With computation until 11 s, nothing is lost.
    let mut late = Stamp::start(s(11));
    late.join(&Stamp::new(s(10), NO_JOB, vec![by(1, 4)]));
    assert_eq!((late.lost(), late.losses.len()), (Time::ZERO, 0));
}

#[test]
fn the_later_of_two_culprits_counts_for_the_remainder() {
    let mut both = Stamp::new(s(12), NO_JOB, vec![by(1, 5)]);
    both.join(&Stamp::new(s(15), NO_JOB, vec![by(2, 10)]));
    // Undisturbed: 7 s and 5 s.
    assert_eq!((both.undisturbed, both.losses), (s(7), vec![by(2, 8)]));
}

/// Two messages of job 0. The first arrives at 12 s after 5 s of waits for its own job, the second at 15 s after 10 s
/// of waits for job 1. Without job 1 they would arrive at 12 s and 5 s, without any waits at 7 s and 5 s: job 1 costs 3
/// s, job 0 itself 5 s.
#[test]
fn waits_for_the_own_job_are_not_slack_for_others() {
    let (own, others) = (by(0, 5), by(2, 10));
    let mut both = Stamp::new(s(12), 0, vec![own]);
    both.join(&Stamp::new(s(15), 0, vec![others]));
    assert_eq!((both.at, both.alone, both.undisturbed), (s(15), s(12), s(7)));
    assert_eq!(both.losses, [own, by(2, 3)]);
    both.audit().unwrap();
    // For a stamp of another job, all of it is lost to others.
    both.belongs_to(3);
    assert_eq!((both.to_others(), both.to_itself()), (s(8), Time::ZERO));
    both.audit().unwrap();
}

/// Random steps and joins: each clock equals that of a run in which the excluded waits take no time.
#[test]
fn every_clock_is_that_of_a_world_without_the_waits_that_it_leaves_out() {
    let mut random = Stream::new(7, 0, Purpose::Host);
    for _ in 0..200 {
        let mut stamps = vec![Stamp::start(s(1)); 3];
        let mut clocks = [[s(1); 3]; 3];
        for _ in 0..40 {
            let at = random.below(3) as usize;
            if random.below(2) == 0 {
                let from = random.below(3) as usize;
                let other = stamps[from].clone();
                stamps[at].join(&other);
                clocks[at] = std::array::from_fn(|clock| clocks[at][clock].max(clocks[from][clock]));
            } else {
                let [work, own, others] = [0; 3].map(|_| Time(u64::from(random.below(1_000))));
                let mut losses = stamps[at].losses.clone();
                for (culprit, time) in [(5, own), (2 + random.below(2) as Owner, others)] {
                    add(&mut losses, Loss { time, ..by(culprit, 0) });
                }
                stamps[at] = Stamp::new(stamps[at].at + work + own + others, 2, losses);
                let takes = [work + own + others, work + own, work];
                clocks[at] = std::array::from_fn(|clock| clocks[at][clock] + takes[clock]);
            }
            let Stamp {
                at: then,
                alone,
                undisturbed,
                ..
            } = stamps[at];
            assert_eq!([then, alone, undisturbed], clocks[at]);
            stamps[at].audit().unwrap();
        }
    }
}

#[test]
fn a_join_does_not_depend_on_the_order() {
    let stamps = [
        Stamp::new(s(12), 0, vec![by(1, 5)]),
        Stamp::new(s(15), 0, vec![by(2, 10), by(3, 1)]),
        Stamp::start(s(6)),
    ];
    let joined = |order: [usize; 3]| {
        let mut all = stamps[order[0]].clone();
        order[1..].iter().for_each(|&i| all.join(&stamps[i]));
        all.audit().unwrap();
        (all.at, all.alone, all.undisturbed)
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
    let of = |n: u64| Stamp::new(s(20 + n), NO_JOB, vec![by(1, n % 3 + 1), by(4, 2)]);
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
    let mut other = Stamp::new(s(9), NO_JOB, vec![by(2, 1)]);
    other.rebase(from(4, 7));
    both.join(&other);
    assert_eq!(both.origin, from(4, 7));
    let mut stamps = Stamps::new(1);
    stamps.set::<Plain>((1, 2), &both);
    stamps.stems::<Plain>((1, 3), from(5, 6));
    assert_eq!(stamps.get((1, 2)), Some(both));
    assert_eq!(stamps.get((1, 3)).unwrap().origin, from(5, 6));
}

/// With many places, the largest ones remain, and the sums of each culprit and kind stay.
#[test]
fn the_largest_places_are_kept_and_the_others_merged() {
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
    assert!(losses.iter().filter(|loss| loss.place == LostAt::OTHER).count() <= 6);
    let sums = |losses: &[Loss]| {
        let mut plain = losses.to_vec();
        without_places(&mut plain);
        plain
    };
    assert_eq!(sums(&losses), sums(&before));
    // A few places stay unchanged.
    let few = losses.clone();
    bound_places(&mut losses);
    assert_eq!(losses, few);
}

/// The shortcut of a join changes nothing.
#[test]
fn joining_kept_losses_equals_joining_stamps() {
    for n in 0..200 {
        let of = |at: u64, lost: u64| {
            let mut losses = Vec::new();
            add(&mut losses, by(1, lost % 3));
            add(&mut losses, by(2, lost % 4));
            Stamp::new(s(at % 7), (n % 2) as u16, losses)
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

/// Accesses of two jobs at a first-come, first-served device. The clock `alone` follows Lindley's recursion `end =
/// max(arrival, previous end) + service` over the accesses of its own job. The clock `undisturbed` is arrival plus
/// service.
#[test]
fn waiting_behind_the_own_job_passes_on_its_delay() {
    let mut random = Stream::new(5, 0, Purpose::Host);
    for _ in 0..300 {
        let mut comes = 0;
        let mut free = 0;
        // Holders of the device with their ends; the last stamp of each job; the end of its last access alone.
        let mut held: Vec<(u16, u64, u64)> = Vec::new();
        let mut last: [Option<Stamp>; 2] = [None, None];
        let mut alone = [0, 0];
        for _ in 0..25 {
            comes += u64::from(random.below(70));
            let (job, takes) = (random.below(2) as u16, 1 + u64::from(random.below(60)));
            let begin = comes.max(free);
            let mut stamp = Stamp::start(Time(comes));
            stamp.belongs_to(job);
            let mut from = comes;
            if let Some(own) = last[usize::from(job)].as_ref().filter(|own| own.at > Time(comes)) {
                stamp.waits_for_own(own, (2 * job + 1, Kind::Device, LostAt::NOWHERE));
                from = own.at.0;
            }
            for &(by, since, until) in &held {
                let time = Time(until.saturating_sub(since.max(from)));
                let loss = Loss {
                    culprit: 2 * by + 1,
                    kind: Kind::Device,
                    place: LostAt::NOWHERE,
                    time,
                };
                stamp.loses(loss, stamp.at + time);
            }
            assert_eq!(stamp.at, Time(begin));
            free = begin + takes;
            held.push((job, begin, free));
            let stamp = stamp.later(Time(free));
            let ends = &mut alone[usize::from(job)];
            *ends = (*ends).max(comes) + takes;
            assert_eq!((stamp.alone, stamp.undisturbed), (Time(*ends), Time(comes + takes)));
            stamp.audit().unwrap();
            last[usize::from(job)] = Some(stamp);
        }
    }
}
