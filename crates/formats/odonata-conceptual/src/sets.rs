//! The pairs of tasks in a statement, computed once for all ranks.
//!
//! Task sets and value lists depend on the variables that they read. The first rank at a statement with given values
//! computes them, and all ranks share the result; simple forms need no table ([`Inverse`]). The caches hold only
//! recomputable data.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use super::ast::{Binary, Unary};
use super::eval::{Env, spend, walk};
use super::functions::{Fault, Mesh, Value};
use super::ir::{Expr, Set, Site, Tasks};

/// Maximum number of task pairs in one table of a statement.
const MOST_PAIRS: usize = 1 << 26;
/// Maximum memory of the tables of one statement, in bytes.
const MOST_BYTES: usize = 64 << 20;
/// Maximum number of tables of one statement.
const MOST_TABLES: usize = 4096;

/// The members depend on counters or the clock, which are unknown before the run.
const UNFORESEEN: Fault = "a collective among tasks unknown before the run";

/// A set of tasks in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Members {
    All(u32),
    One(u32),
    List(Arc<[u32]>),
}

impl Members {
    pub(super) fn none() -> Members {
        Members::List(Arc::new([]))
    }

    /// From members in ascending order, among `tasks`.
    pub(super) fn from_sorted(list: Vec<u32>, tasks: u32) -> Members {
        match list[..] {
            [one] => Members::One(one),
            _ if list.len() == tasks as usize => Members::All(tasks),
            _ => Members::List(list.into()),
        }
    }

    pub(super) fn len(&self) -> u32 {
        match self {
            Members::All(count) => *count,
            Members::One(_) => 1,
            Members::List(list) => list.len() as u32,
        }
    }

    pub(super) fn get(&self, index: u64) -> Option<u32> {
        match self {
            Members::All(count) => (index < u64::from(*count)).then_some(index as u32),
            Members::One(one) => (index == 0).then_some(*one),
            Members::List(list) => list.get(usize::try_from(index).ok()?).copied(),
        }
    }

    /// The index of `task` among the members.
    pub(super) fn place(&self, task: u32) -> Option<u32> {
        match self {
            Members::All(count) => (task < *count).then_some(task),
            Members::One(one) => (task == *one).then_some(0),
            Members::List(list) => list.binary_search(&task).ok().map(|at| at as u32),
        }
    }

    pub(super) fn contains(&self, task: u32) -> bool {
        self.place(task).is_some()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..u64::from(self.len())).filter_map(|index| self.get(index))
    }

    /// The union of both.
    pub(super) fn union(&self, other: &Members, tasks: u32) -> Members {
        if self == other || other.len() == 0 || matches!(self, Members::All(_)) {
            return self.clone();
        }
        if self.len() == 0 || matches!(other, Members::All(_)) {
            return other.clone();
        }
        let mut list: Vec<u32> = self.iter().chain(other.iter()).collect();
        list.sort_unstable();
        list.dedup();
        Members::from_sorted(list, tasks)
    }
}

/// Rows of a sparse matrix.
#[derive(Debug, Default)]
pub(super) struct Rows {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    /// From pairs (row, item) with ascending items per row.
    fn new(tasks: u32, pairs: &[(u32, u32)]) -> Rows {
        let mut starts = vec![0u32; tasks as usize + 1];
        for &(row, _) in pairs {
            starts[row as usize + 1] += 1;
        }
        for row in 0..tasks as usize {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut items = vec![0; pairs.len()];
        for &(row, item) in pairs {
            let at = &mut next[row as usize];
            items[*at as usize] = item;
            *at += 1;
        }
        Rows { starts, items }
    }

    pub(super) fn get(&self, row: u32, index: u64) -> Option<u32> {
        let (start, end) = (self.starts[row as usize], self.starts[row as usize + 1]);
        (index < u64::from(end - start)).then(|| self.items[start as usize + index as usize])
    }

    fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.items.len())
    }
}

/// The only source of a target as a function of the target, if the target is a simple function of the source.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inverse {
    /// target = source + value
    Plus(i64),
    /// target = value - source
    Minus(i64),
    /// target = source xor value
    Xor(i64),
    /// target = (source + value) mod modulus
    PlusModulo(i64, i64),
    /// target = (value - source) mod modulus
    MinusModulo(i64, i64),
    /// target = the mesh neighbor at these offsets, negated
    Mesh(Mesh, [i64; 3]),
}

impl std::fmt::Debug for Mesh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.extents, self.wraps)
    }
}

impl Inverse {
    /// The only possible source of `target`; it may not be a source.
    pub(super) fn source(&self, target: u32) -> Option<u32> {
        let target = i64::from(target);
        let source = match *self {
            Inverse::Plus(by) => target.checked_sub(by)?,
            Inverse::Minus(from) => from.checked_sub(target)?,
            Inverse::Xor(with) => target ^ with,
            Inverse::PlusModulo(by, modulus) if target < modulus => target.checked_sub(by)?.rem_euclid(modulus),
            Inverse::MinusModulo(from, modulus) if target < modulus => from.checked_sub(target)?.rem_euclid(modulus),
            Inverse::PlusModulo(..) | Inverse::MinusModulo(..) => return None,
            Inverse::Mesh(mesh, offsets) => mesh.neighbor(target, offsets).ok()?,
        };
        u32::try_from(source).ok()
    }
}

/// The two sets of a statement.
#[derive(Debug)]
pub(super) enum Pairs {
    /// There is only one set.
    None,
    /// All of the first set with all of these.
    Fixed(Members),
    /// All of the first set with all other tasks.
    Others,
    Linked {
        out: Rows,
        into: Rows,
    },
    Inverse(Inverse),
    /// Too many for a table: every pair is tried.
    Tried,
}

/// A communicator of a collective.
#[derive(Clone, Debug)]
pub(super) struct Circle {
    pub members: Members,
    /// `None` if it was not foreseen.
    pub comm: Option<u32>,
}

impl Circle {
    /// Checks that the communicator has a number, if it needs one.
    ///
    /// # Errors
    /// There are several members, and the walk before the run did not reach them.
    pub(super) fn foreseen(&self) -> Value<()> {
        if self.comm.is_none() && self.members.len() > 1 {
            return Err(UNFORESEEN);
        }
        Ok(())
    }
}

/// A statement's sets for given values of the variables.
#[derive(Debug)]
pub(super) struct SiteData {
    pub first: Members,
    pub pairs: Pairs,
    pub circles: Vec<Circle>,
    /// For a FOR EACH.
    pub list: Vec<i64>,
}

impl SiteData {
    pub(super) fn of(first: Members) -> SiteData {
        SiteData {
            first,
            pairs: Pairs::None,
            circles: Vec::new(),
            list: Vec::new(),
        }
    }

    fn bytes(&self) -> usize {
        let members = |members: &Members| match members {
            Members::List(list) => 4 * list.len(),
            _ => 0,
        };
        let pairs = match &self.pairs {
            Pairs::Fixed(fixed) => members(fixed),
            Pairs::Linked { out, into } => out.bytes() + into.bytes(),
            _ => 0,
        };
        let circles: usize = self.circles.iter().map(|circle| 64 + members(&circle.members)).sum();
        256 + members(&self.first) + pairs + 8 * self.list.len() + circles
    }
}

/// By the values of the variables read, with the total size in bytes.
type Tables = (HashMap<Box<[u64]>, Arc<SiteData>>, usize);

/// The cached sets of one statement.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// For a statement that reads no variable.
    constant: OnceLock<Value<Arc<SiteData>>>,
    tables: RwLock<Tables>,
}

impl Cache {
    /// The data of `site` under `memory`, computed by `build` if new.
    pub(super) fn get(
        &self,
        site: &Site,
        memory: &[u64],
        build: impl FnOnce() -> Value<SiteData>,
    ) -> Value<Arc<SiteData>> {
        if site.private {
            return build().map(Arc::new);
        }
        if site.reads.is_empty() {
            return self.constant.get_or_init(|| build().map(Arc::new)).clone();
        }
        let mut short = [0; 8];
        let long: Vec<u64>;
        let read = |&slot: &u32| memory.get(slot as usize).copied().unwrap_or(0);
        let key = if site.reads.len() <= short.len() {
            for (word, slot) in short.iter_mut().zip(&site.reads) {
                *word = read(slot);
            }
            &short[..site.reads.len()]
        } else {
            long = site.reads.iter().map(read).collect();
            &long
        };
        if let Ok(tables) = self.tables.read()
            && let Some(known) = tables.0.get(key)
        {
            return Ok(known.clone());
        }
        let data = Arc::new(build()?);
        if let Ok(mut tables) = self.tables.write() {
            let (known, bytes) = &mut *tables;
            if *bytes > MOST_BYTES || known.len() >= MOST_TABLES {
                known.clear();
                *bytes = 0;
            }
            *bytes += data.bytes();
            known.insert(key.into(), data.clone());
        }
        Ok(data)
    }
}

impl Env<'_> {
    /// Binds the variables of `tasks` to `member`.
    pub(super) fn bind(&mut self, tasks: &Tasks, member: u32) {
        for &local in &tasks.locals {
            self.locals[usize::from(local)] = i64::from(member);
        }
    }

    fn task(&self, number: i64) -> Option<u32> {
        (0..self.tasks).contains(&number).then_some(number as u32)
    }

    /// The members of `tasks`; empty for ALL OTHER TASKS.
    pub(super) fn members(&mut self, tasks: &Tasks) -> Value<Members> {
        let count = self.tasks as u32;
        Ok(match &tasks.set {
            Set::One(expr) => self.task(self.int(expr)?).map_or_else(Members::none, Members::One),
            Set::All => Members::All(count),
            Set::Others => Members::none(),
            Set::Such(cond) => {
                let mut list = Vec::new();
                for task in 0..count {
                    spend(self.effort)?;
                    self.bind(tasks, task);
                    if self.cond(cond, false)? {
                        list.push(task);
                    }
                }
                Members::from_sorted(list, count)
            }
            Set::Ranges(ranges) => {
                let mut list: Vec<u32> = self
                    .list(ranges)?
                    .into_iter()
                    .filter_map(|value| self.task(value))
                    .collect();
                list.sort_unstable();
                list.dedup();
                Members::from_sorted(list, count)
            }
        })
    }

    /// Whether `task` is one of `tasks`, whose variables are bound to it.
    pub(super) fn is_member(&mut self, tasks: &Tasks, task: u32) -> Value<bool> {
        self.bind(tasks, task);
        match &tasks.set {
            Set::All => Ok(true),
            Set::Others => Ok(false),
            Set::One(expr) => Ok(self.int(expr)? == i64::from(task)),
            Set::Such(cond) => self.cond(cond, false),
            Set::Ranges(ranges) => Ok(self.list(ranges)?.contains(&i64::from(task))),
        }
    }

    /// The pairs of `first` and `second`.
    pub(super) fn pairs(&mut self, first: &Tasks, members: &Members, second: &Tasks, linked: bool) -> Value<Pairs> {
        if matches!(second.set, Set::Others) {
            return Ok(Pairs::Others);
        }
        if !linked {
            return Ok(Pairs::Fixed(self.members(second)?));
        }
        let count = self.tasks as u32;
        let mut pairs = Vec::new();
        match &second.set {
            Set::One(expr) => {
                if let Some(inverse) = self.inverse(expr, &first.locals)? {
                    return Ok(Pairs::Inverse(inverse));
                }
                for source in members.iter() {
                    spend(self.effort)?;
                    self.bind(first, source);
                    if let Some(target) = self.task(self.int(expr)?) {
                        pairs.push((source, target));
                    }
                }
            }
            _ => {
                if members.len() as usize * count as usize > MOST_PAIRS {
                    return Ok(Pairs::Tried);
                }
                for source in members.iter() {
                    spend(self.effort)?;
                    self.bind(first, source);
                    pairs.extend(self.members(second)?.iter().map(|target| (source, target)));
                    if pairs.len() > MOST_PAIRS {
                        return Ok(Pairs::Tried);
                    }
                }
            }
        }
        let out = Rows::new(count, &pairs);
        for pair in &mut pairs {
            *pair = (pair.1, pair.0);
        }
        let into = Rows::new(count, &pairs);
        Ok(Pairs::Linked { out, into })
    }

    /// The inverse of `expr` as a function of its only variable `locals`, if it has a known form.
    fn inverse(&self, expr: &Expr, locals: &[u8]) -> Value<Option<Inverse>> {
        let is_source = |expr: &Expr| matches!(expr, Expr::Local(local) if locals.contains(local));
        let free = |expr: &Expr| {
            let mut free = true;
            walk(expr, &mut |part| free &= !is_source(part));
            free
        };
        Ok(match expr {
            _ if is_source(expr) => Some(Inverse::Plus(0)),
            Expr::Unary(Unary::Minus, inner) if is_source(inner) => Some(Inverse::Minus(0)),
            Expr::Binary(operator, sides) => {
                let [a, b] = &**sides;
                match operator {
                    Binary::Add if is_source(a) && free(b) => Some(Inverse::Plus(self.int(b)?)),
                    Binary::Add if is_source(b) && free(a) => Some(Inverse::Plus(self.int(a)?)),
                    Binary::Sub if is_source(a) && free(b) => self.int(b)?.checked_neg().map(Inverse::Plus),
                    Binary::Sub if is_source(b) && free(a) => Some(Inverse::Minus(self.int(a)?)),
                    Binary::Xor if is_source(a) && free(b) => Some(Inverse::Xor(self.int(b)?)),
                    Binary::Xor if is_source(b) && free(a) => Some(Inverse::Xor(self.int(a)?)),
                    Binary::Mod if free(b) => {
                        let modulus = self.int(b)?;
                        // With a smaller modulus, a target has several sources.
                        if modulus < self.tasks {
                            return Ok(None);
                        }
                        match self.inverse(a, locals)? {
                            Some(Inverse::Plus(by)) => Some(Inverse::PlusModulo(by, modulus)),
                            Some(Inverse::Minus(from)) => Some(Inverse::MinusModulo(from, modulus)),
                            _ => None,
                        }
                    }
                    // (a + e) + f and the like
                    Binary::Add | Binary::Sub if free(b) => {
                        let by = self.int(b)?;
                        let by = if *operator == Binary::Sub {
                            by.checked_neg()
                        } else {
                            Some(by)
                        };
                        match (self.inverse(a, locals)?, by) {
                            (Some(Inverse::Plus(first)), Some(by)) => first.checked_add(by).map(Inverse::Plus),
                            (Some(Inverse::Minus(first)), Some(by)) => first.checked_add(by).map(Inverse::Minus),
                            _ => None,
                        }
                    }
                    _ => None,
                }
            }
            Expr::Neighbor(dims, task, offsets) if is_source(task) => {
                if !dims.extents.iter().chain(offsets.iter()).all(free) {
                    return Ok(None);
                }
                let mut extents = [1; 3];
                let mut back = [0i64; 3];
                for axis in 0..3 {
                    extents[axis] = self.int(&dims.extents[axis])?;
                    match self.int(&offsets[axis])?.checked_neg() {
                        Some(offset) => back[axis] = offset,
                        None => return Ok(None),
                    }
                }
                let wraps = dims.wraps;
                Some(Inverse::Mesh(Mesh { extents, wraps }, back))
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_members_are_inverse_and_unions_sorted() {
        let list = Members::List([1, 4, 6].into());
        for members in [Members::All(5), Members::One(3), list.clone(), Members::none()] {
            for index in 0..members.len() {
                assert_eq!(members.place(members.get(u64::from(index)).unwrap()), Some(index));
            }
            assert_eq!(members.get(u64::from(members.len())), None);
        }
        assert_eq!(list.union(&Members::One(2), 8), Members::List([1, 2, 4, 6].into()));
        assert_eq!(Members::from_sorted(vec![0, 1], 2), Members::All(2));
    }

    #[test]
    fn rows_keep_the_order_of_their_items() {
        let rows = Rows::new(4, &[(2, 0), (0, 1), (2, 3)]);
        assert_eq!(
            (rows.get(2, 0), rows.get(2, 1), rows.get(2, 2)),
            (Some(0), Some(3), None)
        );
        assert_eq!((rows.get(1, 0), rows.get(0, 0)), (None, Some(1)));
    }
}
