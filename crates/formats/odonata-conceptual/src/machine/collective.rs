//! Barriers, multicasts and reductions.

use std::sync::Arc;

use super::super::eval::{Env, spend};
use super::super::functions::{OVERFLOW, Value};
use super::super::instance::Instance;
use super::super::ir::{Expr, InstKind, Messages, Site, Tasks, word};
use super::super::sets::{Circle, Members, Pairs, SiteData};
use super::message::bytes;
use super::{Machine, Step};

impl Instance {
    /// The processors of `members`, as a communicator.
    fn circle(&self, members: &Members, env: &Env) -> Circle {
        let members = match (env.map, members) {
            (Some(map), Members::One(one)) => Members::One(map.processor_of[*one as usize]),
            (Some(map), Members::List(list)) => {
                let mut list: Vec<u32> = list.iter().map(|&task| map.processor_of[task as usize]).collect();
                list.sort_unstable();
                Members::from_sorted(list, self.tasks)
            }
            _ => members.clone(),
        };
        Circle {
            comm: self.groups.find(&members),
            members,
        }
    }

    /// The data of a collective statement under `env`; `None` for other statements.
    pub(in super::super) fn collective(&self, kind: &InstKind, env: &mut Env) -> Option<Value<SiteData>> {
        match kind {
            InstKind::Barrier { tasks, .. } => Some(env.members(tasks).map(|members| {
                let circle = self.circle(&members, env);
                let mut data = SiteData::of(members);
                data.circles.push(circle);
                data
            })),
            InstKind::Reduce {
                sources, targets, site, ..
            } => Some(self.reduction(sources, targets.as_ref(), site, env)),
            InstKind::Multicast {
                sources, targets, site, ..
            } => Some(self.broadcasts(sources, targets, site, env)),
            _ => None,
        }
    }

    /// Circles: contributors, receivers, both.
    fn reduction(&self, sources: &Tasks, targets: Option<&Tasks>, site: &Site, env: &mut Env) -> Value<SiteData> {
        let from = env.members(sources)?;
        let to = match targets {
            None => from.clone(),
            Some(targets) => match env.pairs(sources, &from, targets, site.linked)? {
                Pairs::Others if from.len() > 1 => Members::All(self.tasks),
                Pairs::Others => {
                    let others = (0..self.tasks)
                        .filter(|&task| from.len() == 1 && !from.contains(task))
                        .collect();
                    Members::from_sorted(others, self.tasks)
                }
                Pairs::Fixed(members) if from.len() > 0 => members,
                Pairs::None | Pairs::Fixed(_) => Members::none(),
                Pairs::Linked { .. } | Pairs::Inverse(_) | Pairs::Tried => {
                    let mut hit = vec![false; self.tasks as usize];
                    for source in from.iter() {
                        env.bind(sources, source);
                        env.members(targets)?
                            .iter()
                            .for_each(|target| hit[target as usize] = true);
                    }
                    let list = (0..self.tasks).filter(|&task| hit[task as usize]).collect();
                    Members::from_sorted(list, self.tasks)
                }
            },
        };
        let both = from.union(&to, self.tasks);
        let circles = [&from, &to, &both].map(|members| self.circle(members, env)).to_vec();
        let mut data = SiteData::of(from);
        data.circles = circles;
        Ok(data)
    }

    /// A circle per source, or one for all sources if they are equal.
    fn broadcasts(&self, sources: &Tasks, targets: &Tasks, site: &Site, env: &mut Env) -> Value<SiteData> {
        let first = env.members(sources)?;
        let pairs = env.pairs(sources, &first, targets, site.linked)?;
        let all = Members::All(self.tasks);
        let mut circles = Vec::new();
        match &pairs {
            Pairs::Others => circles.push(self.circle(&all, env)),
            Pairs::Fixed(members) if first.iter().all(|source| members.contains(source)) => {
                circles.push(self.circle(members, env));
            }
            _ => {
                let mut total = 0;
                for source in first.iter() {
                    let members = match &pairs {
                        Pairs::Fixed(members) => members.clone(),
                        _ => {
                            env.bind(sources, source);
                            env.members(targets)?
                        }
                    };
                    let members = members.union(&Members::One(source), self.tasks);
                    total += members.len() as usize;
                    if total > 1 << 26 {
                        return Err("multicasts to more than 67,108,864 tasks in one statement");
                    }
                    circles.push(self.circle(&members, env));
                }
            }
        }
        let mut data = SiteData::of(first);
        data.pairs = pairs;
        data.circles = circles;
        Ok(data)
    }
}

impl<'a> Machine<'a> {
    fn circles(&self, site: &Site) -> Value<Arc<SiteData>> {
        let inst = &self.program.code.insts[self.memory[word::AT] as usize];
        self.program.caches[site.number as usize].get(site, self.memory, || {
            self.program
                .collective(&inst.kind, &mut self.env())
                .unwrap_or(Err("no collective"))
        })
    }

    pub(super) fn barrier(&mut self, site: &Site) -> Value<Option<Step>> {
        let data = self.circles(site)?;
        let mine = data.circles[0].members.contains(self.rank);
        if mine {
            data.circles[0].foreseen()?;
        }
        self.done();
        Ok(mine.then_some(Step::Barrier(Some(data))))
    }

    pub(super) fn multicast(
        &mut self,
        site: &Site,
        sources: &Tasks,
        targets: &Tasks,
        messages: &Messages,
    ) -> Value<Option<Step>> {
        let data = self.circles(site)?;
        let single = data.circles.len() == 1;
        loop {
            spend(self.effort)?;
            let index = self.memory[word::INDEX];
            let Some(source) = data.first.get(index) else {
                self.done();
                return Ok(None);
            };
            let circle = if single { 0 } else { index as usize };
            if data.circles[circle].members.contains(self.rank) {
                let mut env = self.env();
                env.bind(targets, source);
                env.bind(sources, source);
                let count = env.int(&messages.count)?;
                if (self.memory[word::REPEAT] as i64) < count {
                    data.circles[circle].foreseen()?;
                    let bytes = bytes(&env, &messages.bytes)?;
                    self.memory[word::REPEAT] += 1;
                    return Ok(Some(Step::Multicast {
                        root: self.processor(source),
                        data,
                        circle,
                        bytes,
                    }));
                }
            }
            self.memory[word::REPEAT] = 0;
            self.memory[word::INDEX] += 1;
        }
    }

    pub(super) fn reduce(&mut self, site: &Site, sources: &Tasks, items: &Expr, item: u64) -> Value<Option<Step>> {
        let data = self.circles(site)?;
        if !data.circles[2].members.contains(self.rank) {
            self.done();
            return Ok(None);
        }
        let mut env = self.env();
        if let Some(first) = data.first.get(0) {
            env.bind(sources, first);
        }
        let items = u64::try_from(env.int(items)?).map_err(|_| "negative message size")?;
        let bytes = items.checked_mul(item).ok_or(OVERFLOW)?;
        // Receivers other than the contributors get the result from the first receiver.
        let [from, to, _] = &data.circles[..] else {
            return Err("no collective");
        };
        data.circles[2].foreseen()?;
        if to.members.contains(self.rank) {
            to.foreseen()?;
        }
        let spreads = !self.moment.record && from.members != to.members && to.members.len() > 1;
        if !spreads {
            self.done();
        } else if self.memory[word::STAGE] == 0 {
            self.memory[word::STAGE] = 1;
        } else {
            self.done();
            let root = to.members.get(0).unwrap_or(0);
            let mine = to.members.contains(self.rank);
            return Ok(mine.then_some(Step::Multicast {
                data,
                root,
                circle: 1,
                bytes,
            }));
        }
        Ok(Some(Step::Reduce { data, items, bytes }))
    }
}
