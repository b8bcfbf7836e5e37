//! Speeds and lost time against closed forms.

use odonata_batch::*;

/// Links with these capacities; pattern p loads link p with 1 byte per byte of each node, pattern 100 all links. The last
/// link of several tells no traffic classes apart.
struct Links(Vec<f64>, Vec<TrafficClass>);

impl LinkLoads for Links {
    fn capacities(&self) -> Vec<f64> {
        self.0.clone()
    }
    fn classes(&self) -> Vec<u8> {
        (0..self.0.len() as u8).collect()
    }
    fn traffic_classes(&self) -> Vec<TrafficClass> {
        self.1.clone()
    }
    fn tells_classes(&self) -> Vec<bool> {
        let last = self.0.len() - 1;
        (0..self.0.len()).map(|link| link == 0 || link < last).collect()
    }
    fn loads(&mut self, _: u32, nodes: &[u32], demand: &Demand) -> Vec<(u32, f64)> {
        let pattern = demand.pattern;
        let weight = nodes.len() as f64;
        let links = 0..self.0.len() as u32;
        links
            .filter(|&link| pattern == 100 || link == u32::from(pattern))
            .map(|link| (link, weight))
            .collect()
    }
}

const S: Micros = 1_000_000;

fn demand(pattern: u8, rate: f64, share: f64) -> Demand {
    Demand {
        pattern,
        rate,
        share,
        access: 0,
        class: 0,
    }
}

fn phase(lasts_s: Option<f64>, demands: Vec<Demand>) -> Phase {
    Phase { lasts_s, demands }
}

fn job(submit: u64, run: u64, phases: Vec<Phase>) -> Job {
    Job {
        submit: submit * S,
        nodes: 1,
        run: run * S,
        phases,
        ..Job::default()
    }
}

fn run(capacities: &[f64], jobs: &[Job]) -> (Vec<JobRecord>, Vec<Lost>) {
    run_classes(capacities, &[], jobs)
}

/// Shares and priorities of the traffic classes.
fn run_classes(capacities: &[f64], classes: &[(f64, i32)], jobs: &[Job]) -> (Vec<JobRecord>, Vec<Lost>) {
    let class = |&(share, priority): &(f64, i32)| TrafficClass {
        name: String::new(),
        share,
        priority,
    };
    let classes = classes.iter().map(class).collect();
    let settings = Settings {
        partitions: vec![(0..16).collect()],
        group_of: vec![0; 16],
        contention: true,
        ..Settings::default()
    };
    let mut batch = Batch::new(settings, jobs.to_vec(), Box::new(Links(capacities.to_vec(), classes)));
    while batch.step() {}
    (batch.records(), batch.lost().collect())
}

fn end_s(record: &JobRecord) -> f64 {
    record.end.unwrap() as f64 / SECOND
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-3 * expected.abs().max(1e-9)
}

/// The jobs with traffic of the first `count` classes only.
fn of_classes(mut jobs: Vec<Job>, count: usize) -> Vec<Job> {
    let phases = jobs.iter_mut().flat_map(|job| &mut job.phases);
    for one in phases.flat_map(|phase| &mut phase.demands) {
        one.class = one.class.min(count.max(1) as u8 - 1);
    }
    jobs
}

/// A job that always wants `rate` of link `link`, in a class.
fn steady_of_class(run: u64, link: u8, rate: f64, class: u8) -> Job {
    let one = Demand {
        class,
        ..demand(link, rate, 1.0)
    };
    job(0, run, vec![phase(None, vec![one])])
}

/// Two jobs of 10 s want a whole link in classes with shares 0.2 and 0.6: they get 1/4 and 3/4. The second one ends at
/// 10 / (3/4) s, the first one then has 20/3 s of its work left and the link alone.
#[test]
fn classes_of_one_priority_share_a_link_by_their_shares() {
    let classes = [(0.2, 0), (0.6, 0)];
    let jobs = [steady_of_class(10, 0, 1.0, 0), steady_of_class(10, 0, 1.0, 1)];
    let (records, lost) = run_classes(&[1.0], &classes, &jobs);
    assert!(close(end_s(&records[1]), 40.0 / 3.0), "{}", end_s(&records[1]));
    assert!(close(end_s(&records[0]), 20.0), "{}", end_s(&records[0]));
    for (one, (victim, culprit, lost_s)) in lost.iter().zip([(0, 1, 10.0), (1, 0, 10.0 / 3.0)]) {
        assert_eq!((one.victim, one.culprit), (victim, culprit));
        assert!(close(one.lost_s, lost_s), "{one:?}");
    }
    // A link that tells no classes apart, such as the devices of a server: half each.
    let jobs = [steady_of_class(10, 1, 1.0, 0), steady_of_class(10, 1, 1.0, 1)];
    let (records, _) = run_classes(&[1.0, 1.0], &classes, &jobs);
    assert!(records.iter().all(|record| close(end_s(record), 20.0)));
}

/// The higher priority takes its 0.6 of the link and loses nothing, the other class gets 0.4: 10 s of its work end after
/// 25 s. Beside a higher priority that takes all, it waits until that job has ended.
#[test]
fn a_higher_priority_is_not_slowed() {
    let classes = [(0.5, 0), (0.5, 1)];
    let (records, lost) = run_classes(
        &[1.0],
        &classes,
        &[steady_of_class(10, 0, 1.0, 0), steady_of_class(30, 0, 0.6, 1)],
    );
    assert!(close(end_s(&records[0]), 25.0), "{}", end_s(&records[0]));
    assert_eq!(records[1].end, Some(30 * S));
    assert!(lost.iter().all(|one| (one.victim, one.culprit) == (0, 1)));
    let (records, _) = run_classes(
        &[1.0],
        &classes,
        &[steady_of_class(10, 0, 1.0, 0), steady_of_class(30, 0, 1.0, 1)],
    );
    assert_eq!(records[1].end, Some(30 * S));
    assert!(close(end_s(&records[0]), 40.0), "{}", end_s(&records[0]));
}

/// Both want the whole link half of the time. The higher priority gets it; the other class gets it while that one is
/// silent, r = 1/2, so its communication takes twice as long: 1/2 + 1/2 / r = 1.5.
#[test]
fn bursts_wait_behind_a_higher_priority() {
    let bursty = |class| {
        let one = Demand {
            class,
            ..demand(0, 0.5, 0.5)
        };
        job(
            0,
            if class == 1 { 100_000 } else { 1_000 },
            vec![phase(None, vec![one])],
        )
    };
    let (records, _) = run_classes(&[1.0], &[(0.5, 0), (0.5, 1)], &[bursty(0), bursty(1)]);
    assert!(close(end_s(&records[0]), 1_500.0), "{}", end_s(&records[0]));
    assert_eq!(records[1].end, Some(100_000 * S));
}

/// Two jobs that always want the whole link get half of it: 10 s and 20 s of work end at 20 and 30 s.
#[test]
fn steady_jobs_share_a_link_equally() {
    let steady = |run| job(0, run, vec![phase(None, vec![demand(0, 1.0, 1.0)])]);
    let (records, lost) = run(&[1.0], &[steady(10), steady(20)]);
    assert!(
        close(end_s(&records[0]), 20.0) && close(end_s(&records[1]), 30.0),
        "{records:?}"
    );
    let expected = [(0, 1, 10.0), (1, 0, 10.0)];
    for (one, (victim, culprit, lost_s)) in lost.iter().zip(expected) {
        assert_eq!((one.victim, one.culprit, one.class), (victim, culprit, 0));
        assert!(close(one.lost_s, lost_s));
    }
}

/// A steady demand of 0.25 beside one of 1: max-min gives 0.25 and 0.75.
#[test]
fn a_small_steady_demand_is_not_slowed() {
    let steady = |rate| job(0, 30, vec![phase(None, vec![demand(0, rate, 1.0)])]);
    let (records, _) = run(&[1.0], &[steady(0.25), steady(1.0)]);
    assert!(close(end_s(&records[0]), 30.0), "{}", end_s(&records[0]));
    // 22.5 s of its work in the first 30 s, the rest alone.
    assert!(close(end_s(&records[1]), 37.5), "{}", end_s(&records[1]));
}

/// Two jobs that communicate half of the time at the whole rate. At a part r of it each communicates for the fraction
/// 1 / (1 + r) of its time, and has the link alone or half of it: r = 1 - 1 / (2 (1 + r)) = sqrt(1/2). The slowdown is
/// 1/2 + 1 / (2 r) = 1.207.
#[test]
fn bursts_meet_part_of_the_time() {
    let bursty = job(0, 1000, vec![phase(None, vec![demand(0, 0.5, 0.5)])]);
    let (records, _) = run(&[1.0], &[bursty.clone(), bursty]);
    let slowdown = 0.5 + 0.5_f64.sqrt();
    assert!(close(end_s(&records[0]), 1000.0 * slowdown), "{}", end_s(&records[0]));
}

/// A steady stream that takes 0.6 of the link: bursts of another job that want the whole link get the fair share 0.5.
#[test]
fn bursts_get_at_least_their_fair_share() {
    let stream = job(0, 100_000, vec![phase(None, vec![demand(0, 0.6, 1.0)])]);
    let bursty = job(0, 1000, vec![phase(None, vec![demand(0, 0.01, 0.01)])]);
    let (records, _) = run(&[1.0], &[stream, bursty]);
    assert!(
        close(end_s(&records[1]), 1000.0 * (0.99 + 0.01 / 0.5)),
        "{}",
        end_s(&records[1])
    );
}

/// Jobs on different links, or on a link wide enough for both, keep their speed exactly.
#[test]
fn jobs_without_a_common_bottleneck_keep_their_speed() {
    let on = |pattern, rate| job(0, 50, vec![phase(None, vec![demand(pattern, rate, 0.5)])]);
    let (records, lost) = run(&[1.0, 4.0], &[on(0, 0.5), on(1, 1.0), on(1, 1.0)]);
    assert!(records.iter().all(|record| record.end == Some(50 * S)) && lost.is_empty());
}

/// A job that wants 0.6 of the link, half of the time, beside one that always wants 0.8: while both are active each
/// gets 0.5. The steady one meets the other for the fraction p = 0.6 / 1.1 of the time that the bursts then take, and
/// gets 0.8 (1 - p) + 0.5 p.
#[test]
fn a_job_is_slowed_while_it_meets_another() {
    let bursts = job(0, 1_000, vec![phase(None, vec![demand(0, 0.3, 0.5)])]);
    let steady = job(0, 1_000_000, vec![phase(None, vec![demand(0, 0.8, 1.0)])]);
    let (records, lost) = run(&[1.0], &[bursts, steady]);
    assert!(close(end_s(&records[0]), 1_100.0), "{}", end_s(&records[0]));
    let p = 0.6 / 1.1;
    let part = (0.8 * (1.0 - p) + 0.5 * p) / 0.8;
    let of_steady = lost.iter().find(|one| one.victim == 1).map_or(0.0, |one| one.lost_s);
    assert!(close(of_steady, 1_100.0 * (1.0 - part)), "{of_steady}");
}

/// Phases of 10 s alternate between the link and silence. The steady job loses time only beside the other's traffic.
#[test]
fn phases_change_the_speed() {
    let steady = job(0, 60, vec![phase(None, vec![demand(0, 1.0, 1.0)])]);
    let writer = job(
        0,
        20,
        vec![phase(Some(10.0), vec![]), phase(Some(10.0), vec![demand(0, 1.0, 1.0)])],
    );
    let (records, lost) = run(&[1.0], &[steady, writer]);
    // Silence until 10 s, then 20 s at half speed; the steady job has then done 20 s of its work.
    assert!(
        close(end_s(&records[1]), 30.0) && close(end_s(&records[0]), 70.0),
        "{records:?}"
    );
    assert!(close(lost.iter().map(|one| one.lost_s).sum(), 20.0));
}

/// A demand of twice the link's capacity is lowered to it: alone, the job takes its run time.
#[test]
fn a_job_alone_takes_its_run_time() {
    let greedy = job(0, 30, vec![phase(None, vec![demand(0, 2.0, 1.0)])]);
    let (records, _) = run(&[1.0], &[greedy]);
    assert_eq!((records[0].end, records[0].clipped), (Some(30 * S), true));
}

/// A slower job delays the queue behind it: the third job needs the nodes of all.
#[test]
fn slowdown_moves_the_queue() {
    let mut steady = job(0, 10, vec![phase(None, vec![demand(0, 1.0, 1.0)])]);
    steady.nodes = 8;
    let mut last = job(1, 10, vec![]);
    last.nodes = 16;
    let (records, _) = run(&[1.0], &[steady.clone(), steady, last]);
    let start = records[2].start.unwrap() as f64 / SECOND;
    assert!(close(start, 20.0), "{start}");
}

/// Random jobs over several links: the time that each job lost is charged completely, and none goes faster than alone.
#[test]
fn lost_time_is_charged_completely() {
    for seed in 0..20 {
        let mut lot = odonata_units::SplitMix64(seed);
        let jobs: Vec<Job> = (0..16)
            .map(|_| {
                let class = lot.below(3) as u8;
                let mut part = |lasts| {
                    let share = 0.05 + 0.9 * lot.unit();
                    let mut demands = vec![
                        demand(lot.below(3) as u8, lot.unit(), share),
                        demand(100, 0.2 * lot.unit(), 0.05),
                    ];
                    demands.iter_mut().for_each(|one| one.class = class);
                    phase(Some(lasts), demands)
                };
                let phases = vec![part(20.0), part(30.0)];
                job(u64::from(lot.below(100)), 50 + u64::from(lot.below(100)), phases)
            })
            .collect();
        // With one class, two of equal priority, and a third one above them.
        let all = [(0.2, 0), (0.3, 0), (0.4, 1)];
        let classes = &all[..seed as usize % 4];
        let jobs = of_classes(jobs, classes.len());
        let (records, lost) = run_classes(&[1.0, 2.0, 3.0], classes, &jobs);
        for (number, (record, job)) in records.iter().zip(&jobs).enumerate() {
            let took = end_s(record) - record.start.unwrap() as f64 / SECOND;
            let run = job.run as f64 / SECOND;
            let charged: f64 = lost
                .iter()
                .filter(|one| one.victim == number as u32)
                .map(|one| one.lost_s)
                .sum();
            assert!(
                took >= run - 1e-5 && (took - run - charged).abs() < 1e-3,
                "seed {seed}: {took} {run} {charged}"
            );
        }
    }
}
