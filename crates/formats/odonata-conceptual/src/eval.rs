//! Evaluation of expressions, conditions and ranges, in integer and in floating context.

use std::cell::Cell;

use super::ast::{Binary, Func, Relation, Unary};
use super::functions::{self, Mesh, OVERFLOW, Value};
use super::ir::{Cond, Counter, Dims, Expr, LOCALS, Range, word};
use super::random;
use super::table::Table;

/// Maximum number of elements of a list of values.
pub(super) const MOST_ELEMENTS: usize = if cfg!(fuzzing) { 1 << 8 } else { 1 << 22 };

/// The mapping of tasks to processors.
#[derive(Debug)]
pub(super) struct Map {
    pub processor_of: Vec<u32>,
    pub task_of: Vec<u32>,
}

/// The environment of an evaluation.
pub(super) struct Env<'a> {
    pub tasks: i64,
    /// The memory words of the rank.
    pub memory: &'a [u64],
    pub locals: [i64; LOCALS],
    /// The task of the rank.
    pub me: i64,
    /// Simulated time in picoseconds.
    pub now: u64,
    /// Number of the rank's next operation.
    pub op: u32,
    pub seed: u64,
    /// `None` while every task is on the processor of its number.
    pub map: Option<&'a Map>,
    pub tables: &'a [Table],
    /// Words that distinguish executions of the same place.
    pub ordinals: &'a [u32],
    /// Steps left until the next operation: nested lists let a short text request any number.
    pub effort: &'a Cell<u64>,
}

/// Consumes one step of `effort`.
#[inline]
pub(super) fn spend(effort: &Cell<u64>) -> Value<()> {
    match effort.get().checked_sub(1) {
        Some(left) => {
            effort.set(left);
            Ok(())
        }
        None => Err(EXHAUSTED),
    }
}

/// A rank has used all its steps between two operations.
pub(super) const EXHAUSTED: super::functions::Fault =
    "100,000,000 steps without an operation: the program may not terminate";

impl<'a> Env<'a> {
    /// The environment before a program runs: no variables, no words.
    pub(super) fn constant(tasks: i64, effort: &'a Cell<u64>) -> Env<'a> {
        Env {
            tasks,
            memory: &[],
            locals: [0; LOCALS],
            me: 0,
            now: 0,
            op: 0,
            seed: 0,
            map: None,
            tables: &[],
            ordinals: &[],
            effort,
        }
    }
}

impl Env<'_> {
    fn counter(&self, counter: Counter) -> i64 {
        let at = |word: usize| self.memory.get(word).copied().unwrap_or(0) as i64;
        match counter {
            Counter::Elapsed => (self.elapsed() / 1_000_000) as i64,
            Counter::BytesSent => at(word::SENT_BYTES),
            Counter::BytesReceived => at(word::RECEIVED_BYTES),
            Counter::TotalBytes => at(word::SENT_BYTES).wrapping_add(at(word::RECEIVED_BYTES)),
            Counter::MsgsSent => at(word::SENT),
            Counter::MsgsReceived => at(word::RECEIVED),
            Counter::TotalMsgs => at(word::SENT).wrapping_add(at(word::RECEIVED)),
            // The network loses and damages nothing.
            Counter::BitErrors => 0,
        }
    }

    /// Picoseconds since the last reset of the counters, or the start of the run.
    fn elapsed(&self) -> u64 {
        let origin = self.memory.get(word::ORIGIN).copied().unwrap_or(0);
        self.now.saturating_sub(origin)
    }

    fn slot(&self, slot: u32) -> i64 {
        self.memory.get(slot as usize).copied().unwrap_or(0) as i64
    }

    /// The processor of `task`, or the task of a processor; -1 if out of range.
    fn mapped(&self, number: i64, to_task: bool) -> i64 {
        if !(0..self.tasks).contains(&number) {
            return -1;
        }
        match self.map {
            None => number,
            Some(map) if to_task => i64::from(map.task_of[number as usize]),
            Some(map) => i64::from(map.processor_of[number as usize]),
        }
    }

    /// The random stream of a place: equal for every evaluation of the same execution.
    fn draws(&self, site: u32) -> random::Draws {
        let own = [u64::from(site), self.me as u64, u64::from(self.op)];
        let passes = self.ordinals.iter().map(|&word| self.slot(word) as u64);
        random::Draws::new(self.seed, own.into_iter().chain(passes))
    }

    fn mesh(&self, dims: &Dims) -> Value<Mesh> {
        let mut extents = [1; 3];
        for (extent, expr) in extents.iter_mut().zip(&dims.extents) {
            *extent = self.int(expr)?;
        }
        Ok(Mesh {
            extents,
            wraps: dims.wraps,
        })
    }

    /// The value of `expr` in integer context.
    pub(super) fn int(&self, expr: &Expr) -> Value<i64> {
        Ok(match expr {
            Expr::Int(value) => *value,
            Expr::Slot(slot) => self.slot(*slot),
            Expr::Local(local) => self.locals[usize::from(*local)],
            Expr::Counter(counter) => self.counter(*counter),
            Expr::MyTask => self.me,
            Expr::Real(inner) => functions::to_int(self.float(inner)?)?,
            Expr::Unary(Unary::Minus, inner) => self.int(inner)?.checked_neg().ok_or(OVERFLOW)?,
            Expr::Unary(Unary::Not, inner) => !self.int(inner)?,
            Expr::Binary(operator, sides) => {
                let (a, b) = (self.int(&sides[0])?, self.int(&sides[1])?);
                match operator {
                    Binary::Add => a.checked_add(b).ok_or(OVERFLOW)?,
                    Binary::Sub => a.checked_sub(b).ok_or(OVERFLOW)?,
                    Binary::Mul => a.checked_mul(b).ok_or(OVERFLOW)?,
                    Binary::Div => functions::divide(a, b)?,
                    Binary::Mod => functions::modulo(a, b)?,
                    Binary::Power => functions::power(a, b)?,
                    _ => bitwise(*operator, a, b),
                }
            }
            Expr::If(parts) => {
                let (cond, yes, no) = &**parts;
                if self.cond(cond, false)? {
                    self.int(yes)?
                } else {
                    self.int(no)?
                }
            }
            Expr::Call(function, args) => self.call(*function, args)?,
            Expr::Random(..) | Expr::Cell(..) => functions::to_int(self.float(expr)?)?,
            Expr::Neighbor(dims, task, offsets) => {
                let mut by = [0; 3];
                for (offset, expr) in by.iter_mut().zip(offsets.iter()) {
                    *offset = self.int(expr)?;
                }
                self.mesh(dims)?.neighbor(self.int(task)?, by)?
            }
            Expr::Coordinate(dims, args) => {
                let mesh = self.mesh(dims)?;
                mesh.coordinate(self.int(&args[0])?, self.int(&args[1])?)?
            }
            Expr::Distance(dims, args) => {
                let mesh = self.mesh(dims)?;
                mesh.distance(self.int(&args[0])?, self.int(&args[1])?)?
            }
        })
    }

    /// Argument `index`, or `default` if absent.
    fn arg(&self, args: &[Expr], index: usize, default: i64) -> Value<i64> {
        args.get(index).map_or(Ok(default), |expr| self.int(expr))
    }

    fn call(&self, function: Func, args: &[Expr]) -> Value<i64> {
        let first = self.arg(args, 0, 0)?;
        match function {
            Func::Abs => first.checked_abs().ok_or(OVERFLOW),
            Func::Min => args.iter().try_fold(first, |least, arg| Ok(least.min(self.int(arg)?))),
            Func::Max => args.iter().try_fold(first, |most, arg| Ok(most.max(self.int(arg)?))),
            Func::Bits => Ok(functions::bits(first)),
            Func::Sqrt => functions::root(2, first),
            Func::Cbrt => functions::root(3, first),
            Func::Root => functions::root(first, self.arg(args, 1, 0)?),
            Func::Log10 => functions::log10(first),
            Func::Factor10 => Ok(functions::factor10(first)),
            Func::Floor | Func::Ceiling | Func::Round => Ok(first),
            Func::TreeParent => functions::tree_parent(first, self.arg(args, 1, 2)?),
            Func::TreeChild => functions::tree_child(first, self.arg(args, 1, 0)?, self.arg(args, 2, 2)?),
            Func::KnomialParent => {
                functions::knomial_parent(first, self.arg(args, 1, 2)?, self.arg(args, 2, self.tasks)?)
            }
            Func::KnomialChildren => {
                functions::knomial_children(first, self.arg(args, 1, 2)?, self.arg(args, 2, self.tasks)?)
            }
            Func::KnomialChild => {
                let (index, k) = (self.arg(args, 1, 0)?, self.arg(args, 2, 2)?);
                functions::knomial_child(first, index, k, self.arg(args, 3, self.tasks)?)
            }
            Func::ProcessorOf => Ok(self.mapped(first, false)),
            Func::TaskOf => Ok(self.mapped(first, true)),
            Func::RandomUniform | Func::RandomGaussian | Func::RandomPoisson | Func::RandomPareto => Ok(0),
        }
    }

    /// The value of `expr` in floating context.
    pub(super) fn float(&self, expr: &Expr) -> Value<f64> {
        Ok(match expr {
            Expr::Real(inner) => self.float(inner)?,
            Expr::Unary(Unary::Minus, inner) => {
                // No negative zero: the reference's values begin as integers.
                let value = self.float(inner)?;
                if value == 0.0 { 0.0 } else { -value }
            }
            Expr::Unary(Unary::Not, inner) => !self.truncated(inner)? as f64,
            Expr::Binary(operator, sides) => {
                if *operator == Binary::Mod {
                    // Like the reference's run-time library: modulo of integers.
                    return Ok(functions::modulo(self.truncated(&sides[0])?, self.truncated(&sides[1])?)? as f64);
                }
                if matches!(
                    operator,
                    Binary::Left | Binary::Right | Binary::And | Binary::Or | Binary::Xor
                ) {
                    return Ok(bitwise(*operator, self.truncated(&sides[0])?, self.truncated(&sides[1])?) as f64);
                }
                let (a, b) = (self.float(&sides[0])?, self.float(&sides[1])?);
                match operator {
                    Binary::Add => a + b,
                    Binary::Sub => a - b,
                    Binary::Mul => a * b,
                    Binary::Div => a / b,
                    _ => a.powf(b),
                }
            }
            Expr::If(parts) => {
                let (cond, yes, no) = &**parts;
                if self.cond(cond, true)? {
                    self.float(yes)?
                } else {
                    self.float(no)?
                }
            }
            Expr::Call(function, args) => match function {
                Func::Abs => self.float(&args[0])?.abs(),
                Func::Min => args
                    .iter()
                    .try_fold(f64::INFINITY, |least, arg| Ok(least.min(self.float(arg)?)))?,
                Func::Max => args
                    .iter()
                    .try_fold(f64::NEG_INFINITY, |most, arg| Ok(most.max(self.float(arg)?)))?,
                Func::Sqrt => self.float(&args[0])?.sqrt(),
                Func::Cbrt => self.float(&args[0])?.cbrt(),
                Func::Root => self.float(&args[1])?.powf(1.0 / self.float(&args[0])?),
                Func::Log10 => self.float(&args[0])?.log10(),
                Func::Factor10 => functions::float_factor10(self.float(&args[0])?),
                Func::Floor => self.float(&args[0])?.floor(),
                Func::Ceiling => self.float(&args[0])?.ceil(),
                Func::Round => self.float(&args[0])?.round(),
                _ => self.call(*function, args)? as f64,
            },
            Expr::Random(function, args, site) => {
                let mut values = [0.0; 3];
                for (value, arg) in values.iter_mut().zip(args.iter()) {
                    *value = self.float(arg)?;
                }
                self.draws(*site).value(*function, &values[..args.len().min(3)])?
            }
            Expr::Cell(table, args) => {
                let table = self.tables.get(*table as usize).ok_or("a file that was not read")?;
                table.cell(self.int(&args[0])?, self.int(&args[1])?)?
            }
            // Whole microseconds would be too coarse for message latencies.
            Expr::Counter(Counter::Elapsed) => self.elapsed() as f64 / 1e6,
            _ => self.int(expr)? as f64,
        })
    }

    /// The value in floating context, truncated to an integer as C does for bitwise operators.
    fn truncated(&self, expr: &Expr) -> Value<i64> {
        functions::to_int(self.float(expr)?.trunc())
    }

    /// Whether `cond` holds; relations compare in integer or in `float`ing context.
    pub(super) fn cond(&self, cond: &Cond, float: bool) -> Value<bool> {
        Ok(match cond {
            Cond::Or(sides) => self.cond(&sides[0], float)? || self.cond(&sides[1], float)?,
            Cond::And(sides) => self.cond(&sides[0], float)? && self.cond(&sides[1], float)?,
            Cond::Relation(Relation::Divides, a, b) => functions::modulo(self.int(b)?, self.int(a)?)? == 0,
            Cond::Relation(relation, a, b) if float => compare(*relation, self.float(a)?, self.float(b)?),
            Cond::Relation(relation, a, b) => compare(*relation, self.int(a)?, self.int(b)?),
            Cond::Parity(value, odd) => (self.int(value)? & 1 == 1) == *odd,
            Cond::InRanges(value, ranges, not) => self.in_ranges(self.int(value)?, ranges)? != *not,
            Cond::Between(value, low, high, not) => {
                let (value, a, b) = (self.int(value)?, self.int(low)?, self.int(high)?);
                (a.min(b)..=a.max(b)).contains(&value) != *not
            }
        })
    }

    fn in_ranges(&self, value: i64, ranges: &[Range]) -> Value<bool> {
        for range in ranges {
            // The common case, without a list.
            if let Range::List { items, end: None } = range {
                for item in items {
                    if self.int(item)? == value {
                        return Ok(true);
                    }
                }
                continue;
            }
            let mut list = Vec::new();
            self.expand(range, &mut list)?;
            if list.contains(&value) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The values of `ranges`, concatenated.
    pub(super) fn list(&self, ranges: &[Range]) -> Value<Vec<i64>> {
        let mut out = Vec::new();
        for range in ranges {
            self.expand(range, &mut out)?;
        }
        Ok(out)
    }

    fn expand(&self, range: &Range, out: &mut Vec<i64>) -> Value<()> {
        match range {
            Range::List { items, end } => {
                let first = out.len();
                for item in items {
                    spend(self.effort)?;
                    out.push(self.int(item)?);
                }
                if let Some(end) = end {
                    let end = self.int(end)?;
                    let starts = out.split_off(first);
                    super::progression::expand(&starts, end, |value| {
                        if out.len() >= MOST_ELEMENTS {
                            return Err("a list of more than 4,194,304 values");
                        }
                        out.push(value);
                        spend(self.effort)
                    })?;
                }
                Ok(())
            }
            Range::Each {
                value,
                generators,
                cond,
            } => {
                let mut inner = Env { ..*self };
                inner.generate(value, generators, cond.as_ref(), out, &mut 0)
            }
        }
    }

    fn generate(
        &mut self,
        value: &Expr,
        generators: &[(u8, Vec<Range>)],
        cond: Option<&Cond>,
        out: &mut Vec<i64>,
        steps: &mut usize,
    ) -> Value<()> {
        *steps += 1;
        spend(self.effort)?;
        if *steps > 4 * MOST_ELEMENTS || out.len() >= MOST_ELEMENTS {
            return Err("a list of more than 4,194,304 values");
        }
        let Some(((local, ranges), rest)) = generators.split_first() else {
            if cond.map_or(Ok(true), |cond| self.cond(cond, false))? {
                out.push(self.int(value)?);
            }
            return Ok(());
        };
        for element in self.list(ranges)? {
            self.locals[usize::from(*local)] = element;
            self.generate(value, rest, cond, out, steps)?;
        }
        Ok(())
    }
}

fn bitwise(operator: Binary, a: i64, b: i64) -> i64 {
    match operator {
        Binary::Left => functions::shift_left(a, b),
        Binary::Right => functions::shift_right(a, b),
        Binary::And => a & b,
        Binary::Or => a | b,
        _ => a ^ b,
    }
}

fn compare<T: PartialOrd>(relation: Relation, a: T, b: T) -> bool {
    match relation {
        Relation::Equal => a == b,
        Relation::Less => a < b,
        Relation::Greater => a > b,
        Relation::LessEqual => a <= b,
        Relation::GreaterEqual => a >= b,
        Relation::NotEqual | Relation::Divides => a != b,
    }
}

/// Calls `visit` for every subexpression of `expr`, including itself.
pub(super) fn walk(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    match expr {
        Expr::Int(_) | Expr::Slot(_) | Expr::Local(_) | Expr::Counter(_) | Expr::MyTask => {}
        Expr::Real(inner) | Expr::Unary(_, inner) => walk(inner, visit),
        Expr::Binary(_, sides) => sides.iter().for_each(|side| walk(side, visit)),
        Expr::If(parts) => {
            walk_cond(&parts.0, visit);
            walk(&parts.1, visit);
            walk(&parts.2, visit);
        }
        Expr::Call(_, args) | Expr::Random(_, args, _) => args.iter().for_each(|arg| walk(arg, visit)),
        Expr::Neighbor(dims, task, offsets) => {
            dims.extents
                .iter()
                .chain(offsets.iter())
                .for_each(|part| walk(part, visit));
            walk(task, visit);
        }
        Expr::Coordinate(dims, args) | Expr::Distance(dims, args) => {
            dims.extents
                .iter()
                .chain(args.iter())
                .for_each(|part| walk(part, visit));
        }
        Expr::Cell(_, args) => args.iter().for_each(|arg| walk(arg, visit)),
    }
}

pub(super) fn walk_cond(cond: &Cond, visit: &mut dyn FnMut(&Expr)) {
    match cond {
        Cond::Or(sides) | Cond::And(sides) => sides.iter().for_each(|side| walk_cond(side, visit)),
        Cond::Relation(_, a, b) => [a, b].into_iter().for_each(|side| walk(side, visit)),
        Cond::Parity(value, _) => walk(value, visit),
        Cond::InRanges(value, ranges, _) => {
            walk(value, visit);
            walk_ranges(ranges, visit);
        }
        Cond::Between(value, low, high, _) => [value, low, high].into_iter().for_each(|part| walk(part, visit)),
    }
}

pub(super) fn walk_ranges(ranges: &[Range], visit: &mut dyn FnMut(&Expr)) {
    for range in ranges {
        match range {
            Range::List { items, end } => items.iter().chain(end).for_each(|item| walk(item, visit)),
            Range::Each {
                value,
                generators,
                cond,
            } => {
                walk(value, visit);
                generators.iter().for_each(|(_, ranges)| walk_ranges(ranges, visit));
                if let Some(cond) = cond {
                    walk_cond(cond, visit);
                }
            }
        }
    }
}
