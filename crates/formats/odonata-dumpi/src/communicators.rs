//! Reconstruction of communicator members.
//!
//! A trace names communicators by numbers chosen by each rank. All members of the parent make the calls that create
//! communicators in the same order: the k-th call of one member matches the k-th call of every other. Starting from the
//! world, a communicator is resolved once the calls of all its members are known.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use odonata_workload::Group;

use super::groups::Groups;
use super::knowledge::CommOf;
use super::translate::{SELF, WORLD};

/// The way a call creates a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Making {
    Dup,
    /// From this group; an index into the rank's [`Groups`].
    Create(Option<u32>),
    Split {
        color: i32,
        key: i32,
    },
    Cart {
        dims: Box<[i32]>,
        reorder: bool,
    },
    CartSub(Box<[i32]>),
    Graph {
        nodes: i32,
        reorder: bool,
    },
    Inter {
        leader: i32,
        peer: u32,
        remote: i32,
        tag: i32,
    },
    Merge {
        high: bool,
    },
    /// With other jobs, whose members are unknown.
    Foreign,
}

impl Making {
    fn name(&self) -> &'static str {
        match self {
            Making::Dup => "MPI_Comm_dup",
            Making::Create(_) => "MPI_Comm_create",
            Making::Split { .. } => "MPI_Comm_split",
            Making::Cart { .. } => "MPI_Cart_create",
            Making::CartSub(_) => "MPI_Cart_sub",
            Making::Graph { .. } => "MPI_Graph_create",
            Making::Inter { .. } => "MPI_Intercomm_create",
            Making::Merge { .. } => "MPI_Intercomm_merge",
            Making::Foreign => "a connection to another job",
        }
    }
}

/// A call that creates a communicator.
#[derive(Clone, Debug)]
pub(super) struct Creation {
    pub(super) parent: u32,
    pub(super) making: Making,
    /// The new communicator, if this rank is a member.
    pub(super) object: Option<u32>,
}

/// The calls of one rank.
#[derive(Debug, Default)]
pub(super) struct Creations {
    pub(super) list: Vec<Creation>,
    pub(super) groups: Groups,
    /// Results of `MPI_Comm_rank`, by communicator.
    pub(super) ranks: HashMap<u32, i32>,
    /// Number of communicators, including the two predefined ones.
    pub(super) objects: u32,
}

/// The rank-local number of a new communicator, for each member.
type Objects = HashMap<u32, Option<u32>>;

/// The key shared by both sides of an intercommunicator: the leaders' communicator, the lower and the higher leader,
/// the tag.
type Leaders = (u32, u32, u32, i32);

/// A communicator of the job.
#[derive(Clone, Debug)]
struct Made {
    members: Arc<[u32]>,
    /// For an intercommunicator, the size of the first group.
    first: Option<u32>,
    dims: Option<Box<[i32]>>,
}

/// All communicators.
#[derive(Debug)]
pub(super) struct Communicators {
    /// By number.
    pub(super) groups: Arc<[Group]>,
    /// By rank, then in order of creation.
    pub(super) of_ranks: Vec<Vec<Option<CommOf>>>,
    /// Inconsistencies.
    pub(super) problems: Vec<String>,
}

/// Maximum number of problems that are described.
const MOST_PROBLEMS: usize = 100;

struct Work<'a> {
    ranks: &'a [Creations],
    made: Vec<Made>,
    /// By rank and rank-local communicator: its number.
    numbers: Vec<Vec<Option<u32>>>,
    /// By rank and number: the rank-local communicator.
    objects: Vec<HashMap<u32, u32>>,
    /// By rank and parent: unresolved calls.
    queues: Vec<HashMap<u32, VecDeque<u32>>>,
    lists: HashSet<Arc<[u32]>>,
    /// Sides of intercommunicators that wait for the other side.
    sides: BTreeMap<Leaders, u32>,
    problems: Vec<String>,
}

/// The result of resolving the next call on a communicator.
enum Step {
    Done,
    Nothing,
    /// It depends on an unknown communicator.
    Later,
}

/// Resolves the communicators of a job from the calls of its ranks.
pub(super) fn work_out(ranks: &[Creations]) -> Communicators {
    let count = ranks.len() as u32;
    let world: Arc<[u32]> = (0..count).collect();
    let mut work = Work {
        ranks,
        made: Vec::new(),
        numbers: ranks.iter().map(|rank| vec![None; rank.objects as usize]).collect(),
        objects: vec![HashMap::new(); ranks.len()],
        queues: ranks.iter().map(queues).collect(),
        lists: HashSet::new(),
        sides: BTreeMap::new(),
        problems: Vec::new(),
    };
    let mut todo = VecDeque::new();
    work.add(world, None, None, |_| Some(WORLD), &mut todo);
    // Number 1 is MPI_COMM_SELF of every rank. Communicators derived from it are separate.
    work.made.push(Made {
        members: Arc::new([]),
        first: None,
        dims: None,
    });
    for rank in 0..count {
        work.numbers[rank as usize][SELF as usize] = Some(SELF);
        work.work_alone(rank, &mut todo);
    }
    let mut later = Vec::new();
    let mut progress = true;
    while progress {
        progress = false;
        while let Some(number) = todo.pop_front() {
            loop {
                match work.step(number, &mut todo) {
                    Step::Done => progress = true,
                    Step::Nothing => break,
                    Step::Later => {
                        later.push(number);
                        break;
                    }
                }
            }
        }
        todo.extend(later.drain(..));
    }
    work.leftovers();
    work.finish()
}

fn queues(rank: &Creations) -> HashMap<u32, VecDeque<u32>> {
    let mut queues: HashMap<u32, VecDeque<u32>> = HashMap::new();
    for (at, creation) in (0..).zip(&rank.list) {
        queues.entry(creation.parent).or_default().push_back(at);
    }
    queues
}

impl Work<'_> {
    fn problem(&mut self, text: String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(text);
        }
    }

    /// Adds a communicator; `object` is its rank-local number for each rank.
    fn add(
        &mut self,
        members: Arc<[u32]>,
        first: Option<u32>,
        dims: Option<Box<[i32]>>,
        object: impl Fn(u32) -> Option<u32>,
        todo: &mut VecDeque<u32>,
    ) {
        let members = match self.lists.get(&members) {
            Some(known) => known.clone(),
            None => {
                self.lists.insert(members.clone());
                members
            }
        };
        let number = self.made.len() as u32;
        for &member in members.iter() {
            let Some(object) = object(member) else { continue };
            if let Some(place) = self.numbers[member as usize].get_mut(object as usize) {
                *place = Some(number);
                self.objects[member as usize].insert(number, object);
            }
        }
        self.made.push(Made { members, first, dims });
        todo.push_back(number);
    }

    /// Resolves the communicators that a rank derives from MPI_COMM_SELF.
    fn work_alone(&mut self, rank: u32, todo: &mut VecDeque<u32>) {
        while let Some(at) = self.next_of(rank, SELF) {
            let creation = &self.ranks[rank as usize].list[at as usize];
            let dims = match &creation.making {
                Making::Cart { dims, .. } => Some(dims.clone()),
                Making::Inter { .. } | Making::Merge { .. } | Making::Foreign => continue,
                _ => None,
            };
            let object = creation.object;
            if object.is_some() {
                self.add([rank].into(), None, dims, |_| object, todo);
            }
        }
    }

    fn next_of(&mut self, rank: u32, parent: u32) -> Option<u32> {
        self.queues[rank as usize].get_mut(&parent)?.pop_front()
    }

    /// Resolves the next call on communicator `number`.
    fn step(&mut self, number: u32, todo: &mut VecDeque<u32>) -> Step {
        let Made { members, first, dims } = self.made[number as usize].clone();
        // Positions of the next calls; none is consumed before it can be resolved.
        let mut objects = Vec::with_capacity(members.len());
        let mut calls = Vec::with_capacity(members.len());
        for &member in members.iter() {
            let Some(&object) = self.objects[member as usize].get(&number) else {
                return Step::Nothing;
            };
            let front = self.queues[member as usize].get(&object).and_then(VecDeque::front);
            objects.push(object);
            calls.push(front.copied());
        }
        if calls.iter().all(Option::is_none) {
            return Step::Nothing;
        }
        let ranks = self.ranks;
        let mut creations = Vec::with_capacity(members.len());
        for (&member, call) in members.iter().zip(&calls) {
            let Some(call) = call else {
                let others = members.iter().zip(&calls).find(|(_, call)| call.is_some());
                let (other, call) = others.map_or((0, 0), |(&other, call)| (other, call.unwrap_or(0)));
                let name = self.ranks[other as usize].list[call as usize].making.name();
                self.problem(format!(
                    "rank {other} calls {name} on a communicator, but its member {member} does not"
                ));
                return Step::Nothing;
            };
            creations.push(&ranks[member as usize].list[*call as usize]);
        }
        let name = creations[0].making.name();
        if let Some(at) = creations.iter().position(|other| other.making.name() != name) {
            let problem = format!(
                "rank {} calls {name}, but rank {} calls {} in the same collective",
                members[0],
                members[at],
                creations[at].making.name()
            );
            self.problem(problem);
            return Step::Nothing;
        }
        if let Making::Inter { .. } = creations[0].making {
            return self.join(number, &members, &creations, &objects, todo);
        }
        let side = |at: usize| first.is_some_and(|first| at >= first as usize);
        match &creations[0].making {
            Making::Dup => {
                let objects = by_member(&members, &creations);
                self.add(members.clone(), first, dims, |rank| objects.get(&rank).copied()?, todo);
            }
            Making::Split { .. } => self.split(&members, &creations, side, todo),
            Making::Create(_) => {
                if !self.create(&members, &creations, todo) {
                    return Step::Later;
                }
            }
            Making::Cart { dims, reorder } => {
                let size = product(dims);
                let list = self.in_order(&members, &creations, size, *reorder);
                let objects: Objects = by_member(&members, &creations);
                self.add(
                    list,
                    None,
                    Some(dims.clone()),
                    |rank| objects.get(&rank).copied()?,
                    todo,
                );
            }
            Making::Graph { nodes, reorder } => {
                let list = self.in_order(&members, &creations, i64::from(*nodes), *reorder);
                let objects = by_member(&members, &creations);
                self.add(list, None, None, |rank| objects.get(&rank).copied()?, todo);
            }
            Making::CartSub(remain) => self.cart_sub(&members, &creations, dims.as_deref(), remain, todo),
            Making::Merge { .. } => self.merge(&members, first, &creations, todo),
            Making::Inter { .. } | Making::Foreign => {}
        }
        self.take(&members, &objects);
        Step::Done
    }

    /// Consumes the calls that were resolved.
    fn take(&mut self, members: &[u32], objects: &[u32]) {
        for (&member, &object) in members.iter().zip(objects) {
            self.next_of(member, object);
        }
    }

    /// Members in the order given by colors and keys.
    fn split(
        &mut self,
        members: &[u32],
        creations: &[&Creation],
        side: impl Fn(usize) -> bool,
        todo: &mut VecDeque<u32>,
    ) {
        let mut colors: BTreeMap<(i32, bool), Vec<(i32, usize)>> = BTreeMap::new();
        for (at, creation) in creations.iter().enumerate() {
            if let (Making::Split { color, key }, Some(_)) = (&creation.making, creation.object) {
                colors.entry((*color, false)).or_default().push((*key, at));
            }
        }
        for list in colors.values_mut() {
            // Both groups of an intercommunicator are split alike, one after the other.
            list.sort_by_key(|&(key, at)| (side(at), key, at));
            let first = list.iter().filter(|&&(_, at)| !side(at)).count() as u32;
            let both = list.iter().any(|&(_, at)| side(at)) && first > 0;
            let ranks: Arc<[u32]> = list.iter().map(|&(_, at)| members[at]).collect();
            let objects: Objects = list
                .iter()
                .map(|&(_, at)| (members[at], creations[at].object))
                .collect();
            self.add(
                ranks,
                both.then_some(first),
                None,
                |rank| objects.get(&rank).copied()?,
                todo,
            );
        }
    }

    /// Creates the communicators of the groups that the members name; `false` if a group is unknown.
    fn create(&mut self, members: &[u32], creations: &[&Creation], todo: &mut VecDeque<u32>) -> bool {
        let mut made: Vec<(Vec<u32>, Objects)> = Vec::new();
        let mut there: HashMap<u32, usize> = HashMap::new();
        for (&member, creation) in members.iter().zip(creations) {
            let Some(object) = creation.object else { continue };
            if let Some(&at) = there.get(&member) {
                made[at].1.insert(member, Some(object));
                continue;
            }
            let Making::Create(group) = creation.making else {
                continue;
            };
            let rank = &self.ranks[member as usize];
            let resolve = |object: u32| {
                let number = (*self.numbers[member as usize].get(object as usize)?)?;
                Some(self.ranks_of(number, member, false))
            };
            let remote = |object: u32| {
                let number = (*self.numbers[member as usize].get(object as usize)?)?;
                Some(self.ranks_of(number, member, true))
            };
            let list = match group {
                Some(group) => match rank.groups.ranks(group, resolve, remote) {
                    Ok(list) => list,
                    Err(super::groups::Unknown::Later) => return false,
                    Err(super::groups::Unknown::Never) => Vec::new(),
                },
                None => Vec::new(),
            };
            if !list.contains(&member) {
                self.problem(format!(
                    "rank {member} is given a communicator by MPI_Comm_create, but is not in its group"
                ));
                continue;
            }
            for &other in &list {
                there.insert(other, made.len());
            }
            made.push((list, HashMap::from([(member, Some(object))])));
        }
        for (list, objects) in made {
            self.add(list.into(), None, None, |rank| objects.get(&rank).copied()?, todo);
        }
        true
    }

    /// Members of communicator `number` as `rank` sees its own or its remote group.
    fn ranks_of(&self, number: u32, rank: u32, remote: bool) -> Vec<u32> {
        if number == SELF {
            return vec![rank];
        }
        let made = &self.made[number as usize];
        match made.first {
            None => made.members.to_vec(),
            Some(first) => {
                let (one, other) = made.members.split_at(first as usize);
                let in_one = one.contains(&rank);
                if in_one != remote { one.to_vec() } else { other.to_vec() }
            }
        }
    }

    /// The first `size` members, or the order reported by `MPI_Comm_rank`.
    fn in_order(&self, members: &[u32], creations: &[&Creation], size: i64, reorder: bool) -> Arc<[u32]> {
        let size = usize::try_from(size).unwrap_or(0).min(members.len());
        if reorder {
            let mut list = vec![u32::MAX; size];
            for (&member, creation) in members.iter().zip(creations) {
                let recorded = creation
                    .object
                    .and_then(|object| self.ranks[member as usize].ranks.get(&object));
                let place = recorded.and_then(|&recorded| list.get_mut(usize::try_from(recorded).ok()?));
                if let Some(place) = place {
                    *place = member;
                }
            }
            if !list.contains(&u32::MAX) {
                return list.into();
            }
        }
        members[..size].into()
    }

    fn cart_sub(
        &mut self,
        members: &[u32],
        creations: &[&Creation],
        dims: Option<&[i32]>,
        remain: &[i32],
        todo: &mut VecDeque<u32>,
    ) {
        let Some(dims) = dims.filter(|dims| dims.len() == remain.len()) else {
            self.problem("MPI_Cart_sub on a communicator that is not a grid of this many dimensions".into());
            return;
        };
        let kept: Box<[i32]> = dims
            .iter()
            .zip(remain)
            .filter(|(_, remain)| **remain != 0)
            .map(|(&dim, _)| dim)
            .collect();
        let mut slices: BTreeMap<Vec<i32>, Vec<usize>> = BTreeMap::new();
        for at in 0..members.len() {
            // The last dimension is the fastest.
            let (mut rest, mut dropped) = (at as i64, Vec::new());
            for (&dim, &remain) in dims.iter().zip(remain).rev() {
                let dim = i64::from(dim.max(1));
                if remain == 0 {
                    dropped.push((rest % dim) as i32);
                }
                rest /= dim;
            }
            slices.entry(dropped).or_default().push(at);
        }
        for slice in slices.values() {
            let ranks: Arc<[u32]> = slice.iter().map(|&at| members[at]).collect();
            let objects: Objects = slice.iter().map(|&at| (members[at], creations[at].object)).collect();
            self.add(
                ranks,
                None,
                Some(kept.clone()),
                |rank| objects.get(&rank).copied()?,
                todo,
            );
        }
    }

    fn merge(&mut self, members: &[u32], first: Option<u32>, creations: &[&Creation], todo: &mut VecDeque<u32>) {
        let first = first.unwrap_or(members.len() as u32) as usize;
        let high = |at: usize| {
            matches!(
                creations.get(at).map(|creation| &creation.making),
                Some(Making::Merge { high: true })
            )
        };
        let (one, other) = members.split_at(first);
        let list: Arc<[u32]> = match high(0) && !high(first) {
            true => other.iter().chain(one).copied().collect(),
            false => members.into(),
        };
        let objects = by_member(members, creations);
        self.add(list, None, None, |rank| objects.get(&rank).copied()?, todo);
    }

    /// One side of an intercommunicator; the second side creates it.
    fn join(
        &mut self,
        number: u32,
        members: &[u32],
        creations: &[&Creation],
        objects: &[u32],
        todo: &mut VecDeque<u32>,
    ) -> Step {
        let Some((key, mine, theirs)) = self.leaders(members, creations) else {
            return Step::Later;
        };
        let Some(&other) = self.sides.get(&key).filter(|&&other| other != number) else {
            self.sides.insert(key, number);
            // The second side resolves both.
            return Step::Nothing;
        };
        self.sides.remove(&key);
        let far = self.made[other as usize].members.clone();
        if !far.contains(&theirs) {
            self.problem(format!(
                "ranks {mine} and {theirs} lead groups of an intercommunicator that do not match"
            ));
            return Step::Nothing;
        }
        let mut objects_of = by_member(members, creations);
        let mut far_objects = Vec::with_capacity(far.len());
        for &rank in far.iter() {
            let Some(&object) = self.objects[rank as usize].get(&other) else {
                return Step::Nothing;
            };
            let front = self.queues[rank as usize].get(&object).and_then(VecDeque::front);
            far_objects.push(object);
            if let Some(&call) = front {
                objects_of.insert(rank, self.ranks[rank as usize].list[call as usize].object);
            }
        }
        let list: Arc<[u32]> = members.iter().chain(far.iter()).copied().collect();
        self.add(
            list,
            Some(members.len() as u32),
            None,
            |rank| objects_of.get(&rank).copied()?,
            todo,
        );
        self.take(members, objects);
        self.take(&far, &far_objects);
        todo.push_back(other);
        Step::Done
    }

    /// The key of both sides, and the leaders of this and the other side, as ranks of the job.
    fn leaders(&self, members: &[u32], creations: &[&Creation]) -> Option<(Leaders, u32, u32)> {
        let Making::Inter { leader, .. } = creations[0].making else {
            return None;
        };
        let at = usize::try_from(leader).ok()?;
        let mine = *members.get(at)?;
        let Making::Inter { peer, remote, tag, .. } = creations[at].making else {
            return None;
        };
        let peer = (*self.numbers[mine as usize].get(peer as usize)?)?;
        let peers = self.ranks_of(peer, mine, true);
        let peers = if self.made[peer as usize].first.is_some() {
            peers
        } else {
            self.ranks_of(peer, mine, false)
        };
        let theirs = *peers.get(usize::try_from(remote).ok()?)?;
        Some(((peer, mine.min(theirs), mine.max(theirs), tag), mine, theirs))
    }

    /// Reports unresolved calls.
    fn leftovers(&mut self) {
        if self.problems.is_empty() {
            let count: usize = (self.queues.iter())
                .map(|queues| {
                    #[allow(clippy::iter_over_hash_type)] // a sum
                    queues.values().map(VecDeque::len).sum::<usize>()
                })
                .sum();
            if count > 0 {
                self.problem(format!(
                    "{count} calls that create communicators match no call of another rank"
                ));
            }
        }
    }

    fn finish(self) -> Communicators {
        let groups: Arc<[Group]> = self.made.iter().map(|made| group(&made.members)).collect();
        let of_ranks = (0..).zip(&self.numbers).map(|(rank, numbers)| {
            let known = |number: &Option<u32>| number.map(|number| self.as_seen(rank, number));
            numbers.iter().map(known).collect()
        });
        let of_ranks = of_ranks.collect();
        Communicators {
            groups,
            of_ranks,
            problems: self.problems,
        }
    }

    fn as_seen(&self, rank: u32, number: u32) -> CommOf {
        let made = &self.made[number as usize];
        let count = made.members.len() as u32;
        let (shift, peers, inter) = match made.first {
            _ if number == SELF => (0, 1, false),
            None => (0, count, false),
            Some(first) if made.members[..first as usize].contains(&rank) => (first, count, true),
            Some(first) => (0, first, true),
        };
        CommOf {
            number,
            shift,
            peers: peers - shift,
            inter,
        }
    }
}

fn by_member(members: &[u32], creations: &[&Creation]) -> Objects {
    members
        .iter()
        .zip(creations)
        .map(|(&member, creation)| (member, creation.object))
        .collect()
}

fn product(dims: &[i32]) -> i64 {
    dims.iter()
        .fold(1, |product: i64, &dim| product.saturating_mul(i64::from(dim.max(0))))
}

/// The group of these ranks, without a list if a rule describes it.
fn group(members: &[u32]) -> Group {
    match *members {
        [] => Group::world(0),
        [first] => Group::Strided {
            first,
            stride: 1,
            count: 1,
        },
        [first, second, ..]
            if second > first
                && members
                    .windows(2)
                    .all(|pair| pair[0].checked_add(second - first) == Some(pair[1])) =>
        {
            Group::Strided {
                first,
                stride: second - first,
                count: members.len() as u32,
            }
        }
        _ => Group::List(members.into()),
    }
}
