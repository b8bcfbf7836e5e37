//! The speeds of jobs that share links.
//!
//! A demand is active for the fraction `share` of its job's time, and then wants the rate b = rate / share per node. On
//! link l it takes w(l) times its rate. Only links whose demands together want more than the capacity C(l) matter. If
//! all demands were always active, they would get the max-min fair rates M ([`filling`](crate::filling)). A demand
//! meets each of the others only part of the time, so it gets
//!
//! ```text
//! r = max(M, min over l of E[max-min fair rate at l among the active demands])     [`meeting`](crate::meeting)
//! p = share b / r v                                      probability that a demand is active: its fraction of the time
//! v = 1 / (1 - sum of share + sum of share b / r)        speed of a job, 1 alone
//! ```
//!
//! With several traffic classes "fair" means by class ([`sharing`](crate::sharing)): each link divides its capacity by the
//! shares and priorities of the classes, and fairly within each. A class that gets nothing keeps [`LEAST`] of its rate.
//!
//! Demands of different jobs are active independently, those of a job in turn. With share 1 this is max-min fairness.
//! Speeds are found by repeated substitution. A change concerns the jobs that are connected with it by contended links;
//! the others keep their speeds.
//!
//! Lost time, 1 - v, is charged at the bottleneck of each demand to the others there whose class can delay it, in
//! proportion to w(l) rate v.

use crate::filling::{fill, fill_by_class};
use crate::job::Demand;
use crate::meeting::{Meeting, Other};
use crate::sharing::{Loads, Sharing, TrafficClass, Wish};

/// The links of a machine, and the loads of a job's traffic on them.
pub trait LinkLoads {
    /// Bytes per second of every link.
    fn capacities(&self) -> Vec<f64>;
    /// The class of each link.
    fn classes(&self) -> Vec<u8>;
    /// The traffic classes of the network; empty: one.
    fn traffic_classes(&self) -> Vec<TrafficClass> {
        Vec::new()
    }
    /// Whether each link tells traffic classes apart.
    fn tells_classes(&self) -> Vec<bool> {
        vec![true; self.capacities().len()]
    }
    /// The links that a demand of `job` loads, with bytes per second for 1 byte per second of each node; every link
    /// once.
    fn loads(&mut self, job: u32, nodes: &[u32], demand: &Demand) -> Vec<(u32, f64)>;
}

/// Loads are summed as multiples of 2^-16 bytes per second, so that sums can be undone exactly.
const UNIT: f64 = 65_536.0;
/// Most rounds of substitution, and the change of a speed at which they end.
const ROUNDS: u32 = 60;
const TOLERANCE: f64 = 1e-6;
/// The part of its rate that a demand keeps where higher priorities take all.
const LEAST: f64 = 1e-6;
const NONE: u32 = u32::MAX;

/// A demand of a running job.
#[derive(Clone, Debug)]
struct Active {
    job: u32,
    weights: Vec<(u32, f64)>,
    /// Rate of a node while it is active; mean rate without contention.
    burst: f64,
    rate: f64,
    share: f64,
    /// Its traffic class.
    class: u8,
    /// The rate it gets while it is active.
    gets: f64,
    /// Its bottleneck; NONE without.
    bottleneck: u32,
}

impl Active {
    /// The load on `link` for 1 byte per second of each node.
    fn weight(&self, link: u32) -> f64 {
        let at = self.weights.binary_search_by_key(&link, |used| used.0);
        at.map_or(0.0, |at| self.weights[at].1)
    }
}

#[derive(Clone, Debug)]
struct Link {
    capacity: f64,
    /// The sum of its demands while they are active, in [`UNIT`]s.
    wanted: u128,
    users: Vec<u32>,
    tells_classes: bool,
}

impl Link {
    fn is_contended(&self) -> bool {
        self.wanted as f64 > self.capacity * UNIT * (1.0 + 1e-9)
    }
}

/// The demands of running jobs, and the speeds that follow.
#[derive(Debug)]
pub struct Contention {
    links: Vec<Link>,
    classes: Vec<u8>,
    sharing: Sharing,
    demands: Vec<Option<Active>>,
    free: Vec<u32>,
    /// Demands of each job.
    of_job: Vec<Vec<u32>>,
    speeds: Vec<f64>,
    /// Links to start from in the next computation.
    changed: Vec<u32>,
    /// Marks of the present computation.
    round: u32,
    link_mark: Vec<u32>,
    link_place: Vec<u32>,
    demand_mark: Vec<u32>,
    clipped: Vec<bool>,
}

impl Contention {
    /// The links of `machine`, and `jobs` jobs without demands.
    pub fn new(machine: &dyn LinkLoads, jobs: usize) -> Contention {
        let link = |(capacity, tells_classes)| Link {
            capacity,
            wanted: 0,
            users: Vec::new(),
            tells_classes,
        };
        let capacities = machine.capacities().into_iter();
        let links: Vec<Link> = capacities.zip(machine.tells_classes()).map(link).collect();
        Contention {
            classes: machine.classes(),
            sharing: Sharing::new(&machine.traffic_classes()),
            demands: Vec::new(),
            free: Vec::new(),
            of_job: vec![Vec::new(); jobs],
            speeds: vec![1.0; jobs],
            changed: Vec::new(),
            round: 0,
            link_mark: vec![0; links.len()],
            link_place: vec![0; links.len()],
            demand_mark: Vec::new(),
            clipped: vec![false; jobs],
            links,
        }
    }

    /// The speed of a job: work per time, 1 without contention.
    pub fn speed(&self, job: u32) -> f64 {
        self.speeds[job as usize]
    }

    /// Whether a job once wanted more than the machine gives it alone. Its demand was lowered to that.
    pub fn is_clipped(&self, job: u32) -> bool {
        self.clipped[job as usize]
    }

    /// Adds all demands of `job`, with their loads on links.
    ///
    /// A demand of more than the machine gives the job alone is lowered to that: it is active for longer, and the
    /// job takes longer alone.
    pub fn add(&mut self, job: u32, demands: &[(&Demand, &[(u32, f64)])]) {
        let most = |weights: &[(u32, f64)]| {
            let alone = |&(link, weight): &(u32, f64)| self.links[link as usize].capacity / weight;
            weights.iter().map(alone).fold(f64::INFINITY, f64::min)
        };
        let mut added: Vec<Active> = Vec::with_capacity(demands.len());
        let mut longer = 0.0;
        for &(demand, weights) in demands {
            let (wanted, most) = (demand.rate / demand.share, most(weights));
            if wanted <= 0.0 || weights.is_empty() {
                continue;
            }
            let burst = wanted.min(most);
            self.clipped[job as usize] |= wanted > most * (1.0 + 1e-9);
            longer += demand.share * (wanted / burst - 1.0);
            added.push(Active {
                job,
                burst,
                rate: burst,
                share: demand.share * wanted / burst,
                class: demand.class,
                gets: burst,
                bottleneck: NONE,
                weights: weights.to_vec(),
            });
        }
        let active: f64 = added.iter().map(|one| one.share).sum();
        let alone = elapsed(active - longer, longer);
        for mut one in added {
            one.share /= alone;
            one.rate *= one.share;
            self.put(one);
        }
    }

    fn put(&mut self, active: Active) {
        let (job, burst) = (active.job, active.burst);
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.demands.push(None);
                self.demand_mark.push(0);
                self.demands.len() as u32 - 1
            }
        };
        for &(link, weight) in &active.weights {
            let at = &mut self.links[link as usize];
            at.wanted += units(weight * burst);
            at.users.push(number);
            if at.is_contended() {
                self.changed.push(link);
            }
        }
        self.demands[number as usize] = Some(active);
        self.of_job[job as usize].push(number);
    }

    /// Removes all demands of `job`.
    pub fn remove(&mut self, job: u32) {
        for number in std::mem::take(&mut self.of_job[job as usize]) {
            let Some(active) = self.demands[number as usize].take() else {
                continue;
            };
            for &(link, weight) in &active.weights {
                let at = &mut self.links[link as usize];
                if at.is_contended() {
                    self.changed.push(link);
                }
                at.wanted -= units(weight * active.burst);
                at.users.retain(|&user| user != number);
            }
            self.free.push(number);
        }
        self.speeds[job as usize] = 1.0;
    }

    /// Computes the speeds anew that the changes since the last call concern; returns these jobs in ascending order.
    pub fn solve(&mut self) -> Vec<u32> {
        let (demands, links) = self.connected();
        self.changed.clear();
        let mut jobs: Vec<u32> = demands
            .iter()
            .filter_map(|&number| self.active(number))
            .map(|one| one.job)
            .collect();
        jobs.sort_unstable();
        jobs.dedup();
        self.share(&demands, &links, &jobs);
        jobs
    }

    fn active(&self, number: u32) -> Option<&Active> {
        self.demands[number as usize].as_ref()
    }

    /// The demands of `job`.
    fn active_of(&self, job: u32) -> impl Iterator<Item = &Active> + '_ {
        self.of_job[job as usize]
            .iter()
            .filter_map(|&number| self.active(number))
    }

    /// The demands that contended links connect with a changed link, and these links, both in ascending order.
    fn connected(&mut self) -> (Vec<u32>, Vec<u32>) {
        self.round += 1;
        let (mut demands, mut links) = (Vec::new(), Vec::new());
        let mut stack = self.changed.clone();
        while let Some(link) = stack.pop() {
            let at = link as usize;
            if self.link_mark[at] == self.round {
                continue;
            }
            self.link_mark[at] = self.round;
            if self.links[at].is_contended() {
                links.push(link);
            }
            for &number in &self.links[at].users {
                if self.demand_mark[number as usize] == self.round {
                    continue;
                }
                self.demand_mark[number as usize] = self.round;
                // A job's demands share its speed.
                let Some(job) = self.demands[number as usize].as_ref().map(|one| one.job) else {
                    continue;
                };
                for &own in &self.of_job[job as usize] {
                    if own != number && self.demand_mark[own as usize] == self.round {
                        continue;
                    }
                    self.demand_mark[own as usize] = self.round;
                    demands.push(own);
                    if let Some(active) = &self.demands[own as usize] {
                        let further = active.weights.iter().map(|used| used.0);
                        stack.extend(further.filter(|&link| {
                            self.link_mark[link as usize] != self.round && self.links[link as usize].is_contended()
                        }));
                    }
                }
            }
        }
        demands.sort_unstable();
        demands.dedup();
        links.sort_unstable();
        (demands, links)
    }

    /// Computes the rates of `demands` on the contended `links`, and the speeds of their `jobs`.
    fn share(&mut self, demands: &[u32], links: &[u32], jobs: &[u32]) {
        for (place, &link) in links.iter().enumerate() {
            self.link_place[link as usize] = place as u32;
        }
        let contended =
            |link: u32| self.link_mark[link as usize] == self.round && self.links[link as usize].is_contended();
        let mut weights: Vec<Vec<(u32, f64)>> = Vec::with_capacity(demands.len());
        let mut users: Vec<Vec<(u32, f64)>> = vec![Vec::new(); links.len()];
        let (mut most, mut share, mut class) = (Vec::new(), Vec::new(), Vec::new());
        for (place, &number) in demands.iter().enumerate() {
            let Some(active) = &self.demands[number as usize] else {
                continue;
            };
            let used = active.weights.iter().filter(|used| contended(used.0));
            let own: Vec<(u32, f64)> = used.map(|used| (self.link_place[used.0 as usize], used.1)).collect();
            for &(link, weight) in &own {
                users[link as usize].push((place as u32, weight));
            }
            weights.push(own);
            most.push(active.burst);
            share.push(active.share);
            class.push(active.class);
        }
        let capacities: Vec<f64> = links.iter().map(|&link| self.links[link as usize].capacity).collect();
        let class_at = |demand: u32, link: u32| match self.links[links[link as usize] as usize].tells_classes {
            true => class[demand as usize],
            false => 0,
        };
        let is_mixed = class.iter().any(|&one| one != class[0]);
        let least = if is_mixed {
            let mut rates = fill_by_class(&most, &weights, &capacities, &users, class_at, &self.sharing);
            rates
                .iter_mut()
                .zip(&most)
                .for_each(|(rate, most)| *rate = rate.max(most * LEAST));
            rates
        } else {
            fill(&most, &weights, &capacities, &users)
        };
        let place_of = |number: &u32| demands.binary_search(number).ok();
        let of_jobs: Vec<Vec<usize>> = jobs
            .iter()
            .map(|&job| self.of_job[job as usize].iter().filter_map(place_of).collect())
            .collect();
        let mut owner = vec![0; demands.len()];
        for (number, own) in of_jobs.iter().enumerate() {
            own.iter().for_each(|&place| owner[place] = number);
        }
        // A demand gets no less than its fair share of a link on which all are active: links that leave it more than
        // another one does are skipped.
        let mut tightest: Vec<Vec<(f64, u32, f64)>> = Vec::with_capacity(demands.len());
        for (place, own) in weights.iter().enumerate() {
            let others = |link: u32| users[link as usize].iter().filter(move |user| user.0 as usize != place);
            let whole = |link: u32| others(link).map(|user| user.1).sum::<f64>();
            let fair = |&(link, weight): &(u32, f64)| {
                let (place, capacity) = (place as u32, capacities[link as usize]);
                let own = class_at(place, link);
                if !is_mixed || others(link).all(|user| class_at(user.0, link) == own) {
                    return (capacity / (weight + whole(link)), link, weight);
                }
                let (mut loads, mut open) = (Loads::default(), weight);
                loads[usize::from(own)] = f64::INFINITY;
                for &(other, weight) in others(link) {
                    let class = class_at(other, link);
                    loads[usize::from(class)] = f64::INFINITY;
                    open += if class == own { weight } else { 0.0 };
                }
                (self.sharing.part(capacity, &loads, own) / open, link, weight)
            };
            let mut found: Vec<_> = own.iter().map(fair).filter(|one| one.0 < most[place]).collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            tightest.push(found);
        }
        let speed = |own: &[usize], gets: &[f64]| {
            let longer = |&place: &usize| share[place] * (most[place] / gets[place] - 1.0);
            1.0 / elapsed(
                own.iter().map(|&place| share[place]).sum(),
                own.iter().map(longer).sum(),
            )
        };
        let mut speeds: Vec<f64> = jobs.iter().map(|&job| self.speeds[job as usize]).collect();
        let (mut gets, mut bottlenecks) = (most.clone(), vec![NONE; demands.len()]);
        let mut active: Vec<f64> = share.iter().map(|&share: &f64| share.min(1.0)).collect();
        let mut meeting = Meeting::default();
        for _ in 0..ROUNDS {
            let mut next = Vec::with_capacity(demands.len());
            for (place, links) in tightest.iter().enumerate() {
                let (mut rate, mut at) = (most[place], NONE);
                for &(fair, link, weight) in links {
                    if fair >= rate {
                        break;
                    }
                    let others = users[link as usize]
                        .iter()
                        .filter(|user| owner[user.0 as usize] != owner[place]);
                    let others = others.map(|&(other, weight)| {
                        let other = other as usize;
                        let elsewhere = bottlenecks[other] != NONE && bottlenecks[other] != link;
                        Other {
                            weight,
                            wants: if elsewhere { gets[other] } else { most[other] },
                            active: active[other],
                            class: class_at(other as u32, link),
                        }
                    });
                    let own = Wish {
                        weight,
                        wants: most[place],
                        class: class_at(place as u32, link),
                    };
                    let found = meeting.rate(own, capacities[link as usize], others, &self.sharing);
                    if found < rate {
                        (rate, at) = (found, link);
                    }
                }
                next.push((rate.max(least[place]), at));
            }
            let mut change: f64 = 0.0;
            for (place, (rate, at)) in next.into_iter().enumerate() {
                gets[place] = 0.5 * (gets[place] + rate.min(most[place]));
                bottlenecks[place] = if rate < most[place] { at } else { NONE };
            }
            for (number, own) in of_jobs.iter().enumerate() {
                let speed = speed(own, &gets);
                change = change.max((speed - speeds[number]).abs());
                speeds[number] = speed;
                for &place in own {
                    active[place] = (share[place] * most[place] / gets[place] * speed).min(1.0);
                }
            }
            if change < TOLERANCE {
                break;
            }
        }
        for (number, own) in of_jobs.iter().enumerate() {
            own.iter()
                .filter(|&&place| bottlenecks[place] == NONE)
                .for_each(|&place| gets[place] = most[place]);
            speeds[number] = speed(own, &gets);
        }
        for (&job, speed) in jobs.iter().zip(&speeds) {
            self.speeds[job as usize] = if *speed > 1.0 - 10.0 * TOLERANCE { 1.0 } else { *speed };
        }
        for (place, &number) in demands.iter().enumerate() {
            if let Some(active) = &mut self.demands[number as usize] {
                let at = bottlenecks[place];
                (active.gets, active.bottleneck) = (gets[place], if at == NONE { NONE } else { links[at as usize] });
            }
        }
    }

    /// The shares of other jobs in the time that `job` loses, with the class of the link: they sum to 1 if its speed is
    /// below 1. Calls `charge(culprit, class, share)`.
    pub fn culprits(&self, job: u32, mut charge: impl FnMut(u32, u8, f64)) {
        let own = || self.active_of(job);
        let lost = |one: &Active| match one.bottleneck {
            NONE => 0.0,
            _ => one.share * (one.burst / one.gets - 1.0),
        };
        let all: f64 = own().map(lost).sum();
        if all <= 0.0 {
            return;
        }
        for one in own().filter(|one| one.bottleneck != NONE) {
            let link = one.bottleneck;
            let at = &self.links[link as usize];
            let delays = |other: &Active| !at.tells_classes || self.sharing.delays(other.class, one.class);
            let others = || {
                let users = at.users.iter().filter_map(|&number| self.active(number));
                users
                    .filter(|&other| other.job != job && delays(other))
                    .map(|other| (other.job, self.load(other, link)))
            };
            let load: f64 = others().map(|(_, load)| load).sum();
            let class = self.classes[link as usize];
            if load > 0.0 {
                others().for_each(|(other, part)| charge(other, class, lost(one) / all * part / load));
            } else {
                // The own demands of a job meet here.
                charge(job, class, lost(one) / all);
            }
        }
    }

    /// The largest load of a link of `job` if no job were slowed, as a part of its capacity.
    pub fn overload(&self, job: u32) -> f64 {
        let links = self
            .active_of(job)
            .flat_map(|one| one.weights.iter().map(|used| used.0));
        links.map(|link| self.nominal(link)).fold(0.0, f64::max)
    }

    /// The mean load of `link` if no job were slowed, as a part of its capacity.
    fn nominal(&self, link: u32) -> f64 {
        let at = &self.links[link as usize];
        let users = at.users.iter().filter_map(|&number| self.active(number));
        users.map(|one| one.weight(link) * one.rate).sum::<f64>() / at.capacity
    }

    /// The loads of `job` on links, in bytes per second at speed 1.
    pub fn loads(&self, job: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.active_of(job)
            .flat_map(|one| one.weights.iter().map(|&(link, weight)| (link, weight * one.rate)))
    }

    /// The mean load of a demand on `link`.
    fn load(&self, one: &Active, link: u32) -> f64 {
        one.weight(link) * one.rate * self.speeds[one.job as usize]
    }
}

/// The time for what took 1 alone, of demands that were active for the fraction `active` and take `longer` more.
/// Shares of more than the whole time overlap.
fn elapsed(active: f64, longer: f64) -> f64 {
    1.0 + longer / active.max(1.0)
}

fn units(load: f64) -> u128 {
    (load * UNIT) as u128
}
