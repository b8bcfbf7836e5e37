//! Parameters of toys, random toys, and their division.

use odonata_engine::random::Purpose;
use odonata_engine::{Lp, Partition, Stream, Time};

/// A toy. LPs form *districts* of equal size in a ring; messages travel along the ring.
#[derive(Clone, Debug)]
pub(crate) struct Params {
    pub(crate) seed: u64,
    pub(crate) lps: Lp,
    /// LPs per district.
    pub(crate) district: Lp,
    /// Lookahead between LPs of a district.
    pub(crate) near: Time,
    /// Additional lookahead per district on the way.
    pub(crate) far: Time,
    /// Maximum distance of a job's destination, in districts.
    pub(crate) reach: u32,
    /// Jobs per LP at the start.
    pub(crate) jobs: u32,
    /// Number of times a job is sent.
    pub(crate) visits: u32,
    /// Mean of the time added to the lookahead, and of the delay of an LP's events to itself.
    pub(crate) mean: Time,
    /// All times are multiples of this.
    pub(crate) grain: Time,
    /// Share of the jobs that are sent to another LP.
    pub(crate) remote: f64,
    /// Share of the jobs that pay.
    pub(crate) paying: f64,
    /// Credits per LP at the start.
    pub(crate) purse: u32,
    /// Time to send a job; zero: the LP sends all that can go.
    pub(crate) service: Time,
    pub(crate) halts: Vec<Halt>,
    /// An LP whose handler panics after this number of visits.
    pub(crate) breaks: Option<(Lp, u32)>,
    /// Additional steps of arithmetic per event, about 1 ns each.
    pub(crate) work: u32,
}

/// An LP that halts the run after `visits` visits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halt {
    pub(crate) lp: Lp,
    pub(crate) visits: u32,
    pub(crate) code: u32,
}

/// A toy of four LPs and a few hundred events, for variation.
pub(crate) const SMALLEST: Params = Params {
    seed: 1,
    lps: 4,
    district: 2,
    near: Time(1_000),
    far: Time(3_000),
    reach: 1,
    jobs: 2,
    visits: 40,
    mean: Time(800),
    grain: Time(1),
    remote: 0.5,
    paying: 0.5,
    purse: 1,
    service: Time(300),
    halts: Vec::new(),
    breaks: None,
    work: 0,
};

impl Params {
    /// A random toy: some have one LP per district, many ties, credits, halts, long idle times, unequal lookaheads.
    pub(crate) fn random(seed: u64) -> Params {
        let mut random = Stream::new(seed, 0, Purpose::Host);
        let mut one_of = |choices: &[u64]| choices[random.below(choices.len() as u32) as usize];
        let lps = one_of(&[2, 3, 7, 16, 24, 40]) as Lp;
        let near = Time(one_of(&[1, 50, 1_000, 30_000]));
        let halts = (0..one_of(&[0, 0, 1, 3])).map(|_| Halt {
            lp: one_of(&[0, 1, 5, 17, 39]) as Lp % lps,
            visits: one_of(&[3, 20, 60]) as u32,
            code: one_of(&[1, 2, 3]) as u32,
        });
        let halts = halts.collect();
        Params {
            seed,
            lps,
            district: one_of(&[1, 2, 5, 8]) as Lp,
            near,
            far: Time(near.0 * one_of(&[0, 1, 10])),
            reach: one_of(&[0, 1, 2, 1_000]) as u32,
            jobs: one_of(&[1, 3, 10]) as u32,
            visits: one_of(&[5, 30, 80]) as u32,
            mean: Time(near.0 * one_of(&[0, 1, 20]) + one_of(&[0, 3])),
            grain: Time(near.0.min(one_of(&[1, 1, 7, 1_000, 1 << 20]))),
            remote: one_of(&[5, 50, 100]) as f64 / 100.0,
            paying: one_of(&[0, 50, 100]) as f64 / 100.0,
            purse: one_of(&[1, 2, 8]) as u32,
            service: Time(near.0 * one_of(&[0, 1, 4]) / 4),
            halts,
            breaks: None,
            work: 0,
        }
    }

    fn districts(&self) -> u32 {
        self.lps.div_ceil(self.district)
    }

    /// The distance of two districts, the shorter way round.
    fn steps(&self, a: u32, b: u32) -> u32 {
        let around = a.abs_diff(b);
        around.min(self.districts() - around)
    }

    /// The smallest delay from `from` to `to`, another LP.
    pub(crate) fn delay(&self, from: Lp, to: Lp) -> Time {
        self.district_delay(from / self.district, to / self.district)
    }

    fn district_delay(&self, from: u32, to: u32) -> Time {
        match self.steps(from, to) {
            steps if steps > self.reach => Time::NEVER,
            steps => self.near + Time(self.far.0 * u64::from(steps)),
        }
    }

    /// `time` rounded up to a multiple of the grain.
    pub(crate) fn round(&self, time: Time) -> Time {
        Time(time.0.div_ceil(self.grain.0) * self.grain.0)
    }

    /// Whether job `id` pays.
    pub(crate) fn pays(&self, id: u32) -> bool {
        Stream::new(self.seed, u64::from(id), Purpose::Placement).unit() < self.paying
    }

    /// The destination of a job sent by `lp`: any LP of a district within reach (the opposite district counts from both
    /// sides).
    pub(crate) fn destination(&self, lp: Lp, stream: &mut Stream) -> Lp {
        if stream.unit() >= self.remote {
            return lp;
        }
        let reach = self.reach.min(self.districts() / 2);
        let home = lp / self.district + self.districts() - reach;
        let district = (home + stream.below(2 * reach + 1)) % self.districts();
        let first = district * self.district;
        first + stream.below((self.lps - first).min(self.district))
    }

    /// The partition with these bounds, and its actual lookahead.
    pub(crate) fn partition(&self, bounds: Vec<Lp>) -> Partition {
        let parts = bounds.len() - 1;
        let districts = |part: usize| bounds[part] / self.district..=(bounds[part + 1] - 1) / self.district;
        let delay = |from: usize, to: usize| {
            let pairs = districts(from).flat_map(|a| districts(to).map(move |b| (a, b)));
            pairs
                .map(|(a, b)| self.district_delay(a, b))
                .min()
                .unwrap_or(Time::NEVER)
        };
        let senders = |to: usize| {
            let others = (0..parts).filter(|&from| from != to);
            let delays = others.map(|from| (from as u32, delay(from, to)));
            delays.filter(|&(_, delay)| delay < Time::NEVER).collect()
        };
        let senders = (0..parts).map(senders).collect();
        Partition::new(bounds, senders).expect("bounds that rise from 0")
    }

    /// A partition into `parts` parts of random sizes, at most one per LP.
    pub(crate) fn random_partition(&self, parts: usize, seed: u64) -> Partition {
        let mut random = Stream::new(seed, parts as u64, Purpose::Storage);
        let mut inner: Vec<Lp> = (1..self.lps).collect();
        random.shuffle(&mut inner);
        inner.truncate(parts - 1);
        inner.extend([0, self.lps]);
        inner.sort_unstable();
        self.partition(inner)
    }
}
