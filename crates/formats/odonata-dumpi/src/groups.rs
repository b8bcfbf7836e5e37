//! Groups created by the calls of a rank, evaluated once their communicators are known.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::label as l;
use super::record::{Arg, Record};

/// The construction of a group. Operands are indices of earlier groups.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Empty,
    /// The group of a communicator.
    Communicator(u32),
    /// The remote group of an intercommunicator.
    Remote(u32),
    Incl(u32, Box<[i32]>),
    Excl(u32, Box<[i32]>),
    /// Ranks as triplets first, last, stride.
    RangeIncl(u32, Box<[i32]>),
    RangeExcl(u32, Box<[i32]>),
    Union(u32, u32),
    Intersection(u32, u32),
    Difference(u32, u32),
}

/// The reason why a group has no known ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// A communicator is unknown so far.
    Later,
    /// A call names invalid members.
    Never,
}

/// The groups of one rank.
#[derive(Debug, Default)]
pub(super) struct Groups {
    nodes: Vec<Node>,
    handles: HashMap<i32, u32>,
    /// Groups of communicators, cached.
    of: HashMap<u32, u32>,
}

/// The handle of the empty group.
const EMPTY: i32 = 2;

impl Groups {
    /// The group that `handle` currently refers to.
    pub(super) fn get(&mut self, handle: i32) -> Option<u32> {
        if handle == EMPTY {
            return Some(self.push(Node::Empty));
        }
        self.handles.get(&handle).copied()
    }

    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// Records a call that creates a group; `object` is the communicator that it names.
    pub(super) fn note(&mut self, record: &Record, object: Option<u32>) {
        let list = |arg| record.list(arg).into();
        let new = record.int(Arg::New);
        let node = match record.label {
            l::COMM_GROUP => {
                let Some(object) = object else { return };
                let node = match self.of.get(&object) {
                    Some(&node) => node,
                    None => {
                        let node = self.push(Node::Communicator(object));
                        self.of.insert(object, node);
                        node
                    }
                };
                self.handles.insert(record.int(Arg::Group), node);
                return;
            }
            l::COMM_REMOTE_GROUP => {
                let Some(object) = object else { return };
                let node = self.push(Node::Remote(object));
                self.handles.insert(record.int(Arg::Group), node);
                return;
            }
            l::GROUP_INCL | l::GROUP_EXCL | l::GROUP_RANGE_INCL | l::GROUP_RANGE_EXCL => {
                let Some(group) = self.get(record.int(Arg::Group)) else {
                    return;
                };
                match record.label {
                    l::GROUP_INCL => Node::Incl(group, list(Arg::Ranks)),
                    l::GROUP_EXCL => Node::Excl(group, list(Arg::Ranks)),
                    l::GROUP_RANGE_INCL => Node::RangeIncl(group, list(Arg::Ranges)),
                    _ => Node::RangeExcl(group, list(Arg::Ranges)),
                }
            }
            l::GROUP_UNION | l::GROUP_INTERSECTION | l::GROUP_DIFFERENCE => {
                let (one, other) = (self.get(record.int(Arg::G1)), self.get(record.int(Arg::G2)));
                let (Some(one), Some(other)) = (one, other) else { return };
                match record.label {
                    l::GROUP_UNION => Node::Union(one, other),
                    l::GROUP_INTERSECTION => Node::Intersection(one, other),
                    _ => Node::Difference(one, other),
                }
            }
            _ => return,
        };
        let node = self.push(node);
        self.handles.insert(new, node);
    }

    /// The members of group `group`, as ranks of the job; `members` and `remote` return the members of a communicator.
    pub(super) fn ranks(
        &self,
        group: u32,
        members: impl Fn(u32) -> Option<Vec<u32>>,
        remote: impl Fn(u32) -> Option<Vec<u32>>,
    ) -> Result<Vec<u32>, Unknown> {
        let mut known: HashMap<u32, Rc<[u32]>> = HashMap::new();
        // Operands first, with an explicit stack: chains are as long as the trace makes them.
        let mut stack = vec![group];
        while let Some(&at) = stack.last() {
            let node = self.nodes.get(at as usize).ok_or(Unknown::Never)?;
            let missing = operands(node)
                .into_iter()
                .flatten()
                .find(|operand| !known.contains_key(operand));
            if let Some(operand) = missing {
                stack.push(operand);
                continue;
            }
            let of = |operand: &u32| known.get(operand).cloned().unwrap_or_default();
            let ranks: Rc<[u32]> = match node {
                Node::Empty => Rc::default(),
                Node::Communicator(object) => members(*object).ok_or(Unknown::Later)?.into(),
                Node::Remote(object) => remote(*object).ok_or(Unknown::Later)?.into(),
                Node::Incl(group, list) => pick(&of(group), list.iter().map(|&at| i64::from(at)))?.into(),
                Node::RangeIncl(group, ranges) => {
                    let group = of(group);
                    pick(&group, range(ranges, group.len())?.into_iter())?.into()
                }
                Node::Excl(group, list) => drop_from(&of(group), list.iter().map(|&at| i64::from(at))),
                Node::RangeExcl(group, ranges) => {
                    let group = of(group);
                    drop_from(&group, range(ranges, group.len())?.into_iter())
                }
                Node::Union(one, other) => {
                    let (one, other) = (of(one), of(other));
                    let there: HashSet<u32> = one.iter().copied().collect();
                    let more = other.iter().filter(|rank| !there.contains(rank));
                    one.iter().chain(more).copied().collect()
                }
                Node::Intersection(one, other) => {
                    let there: HashSet<u32> = of(other).iter().copied().collect();
                    of(one).iter().copied().filter(|rank| there.contains(rank)).collect()
                }
                Node::Difference(one, other) => {
                    let there: HashSet<u32> = of(other).iter().copied().collect();
                    of(one).iter().copied().filter(|rank| !there.contains(rank)).collect()
                }
            };
            known.insert(at, ranks);
            stack.pop();
        }
        Ok(known.get(&group).map_or(Vec::new(), |ranks| ranks.to_vec()))
    }
}

fn operands(node: &Node) -> [Option<u32>; 2] {
    match *node {
        Node::Empty | Node::Communicator(_) | Node::Remote(_) => [None, None],
        Node::Incl(group, _) | Node::Excl(group, _) | Node::RangeIncl(group, _) | Node::RangeExcl(group, _) => {
            [Some(group), None]
        }
        Node::Union(one, other) | Node::Intersection(one, other) | Node::Difference(one, other) => {
            [Some(one), Some(other)]
        }
    }
}

/// The members at these positions, without repetition.
fn pick(group: &[u32], positions: impl Iterator<Item = i64>) -> Result<Vec<u32>, Unknown> {
    let mut ranks = Vec::new();
    for at in positions {
        let rank = usize::try_from(at).ok().and_then(|at| group.get(at));
        ranks.push(*rank.ok_or(Unknown::Never)?);
        if ranks.len() > group.len() {
            return Err(Unknown::Never);
        }
    }
    Ok(ranks)
}

fn drop_from(group: &[u32], positions: impl Iterator<Item = i64>) -> Rc<[u32]> {
    let dropped: HashSet<i64> = positions.collect();
    let kept = (0..).zip(group).filter(|(at, _)| !dropped.contains(at));
    kept.map(|(_, &rank)| rank).collect()
}

/// The positions in triplets first, last, stride, at most `most` of them.
fn range(triplets: &[i32], most: usize) -> Result<Vec<i64>, Unknown> {
    let mut positions = Vec::new();
    for triplet in triplets.chunks(3) {
        let &[first, last, stride] = triplet else {
            return Err(Unknown::Never);
        };
        let (mut at, last, stride) = (i64::from(first), i64::from(last), i64::from(stride));
        if stride == 0 {
            return Err(Unknown::Never);
        }
        while (stride > 0 && at <= last) || (stride < 0 && at >= last) {
            if positions.len() >= most {
                return Err(Unknown::Never);
            }
            positions.push(at);
            at += stride;
        }
    }
    Ok(positions)
}
