//! Statements.

use super::super::ast::{self, Bound, CounterAction, RandomLimits, ReduceTo, Stmt, StmtKind, Stride};
use super::super::diagnostic::Span;
use super::super::ir::{Bytes, Expr, InstKind, Limits, Loop, Report, Tasks, Touch, count, each, timed};
use super::tasks::Role;
use super::{Binding, Lower, Place};

/// The deepest stack of stored counters.
pub(in super::super) const MOST_STORES: u32 = 8;
/// Words of one set of stored counters.
pub(in super::super) const STORED_WORDS: u32 = 5;

impl<'a> Lower<'a> {
    fn target(&mut self, at: usize, target: u32) {
        match &mut self.code.insts[at].kind {
            InstKind::Jump { to, .. } | InstKind::Unless { to, .. } => *to = target,
            InstKind::CountStart(state) | InstKind::CountHead(state) => state.end = target,
            InstKind::EachHead { end, .. } | InstKind::TimedHead { end, .. } => *end = target,
            _ => {}
        }
    }

    /// A statement of `tasks` alone: `make` gets the set, with its variable in scope.
    fn local_statement(&mut self, tasks: &'a ast::Tasks, span: Span, make: impl FnOnce(&mut Self, Tasks) -> InstKind) {
        let mark = self.scopes.len();
        let tasks = self.set(tasks, Role::Source);
        let kind = make(self, tasks);
        self.close(mark);
        self.emit(span, kind);
    }

    fn report(&mut self, report: Report) -> u32 {
        self.code.reports.push(report);
        self.code.reports.len() as u32 - 1
    }

    pub(super) fn statement(&mut self, statement: &'a Stmt) {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Block(list) => list.iter().for_each(|statement| self.statement(statement)),
            StmtKind::Repeat { count, warmup, body } => self.repeat(span, count, warmup.as_ref(), body),
            StmtKind::Timed {
                limit,
                unit,
                warmup,
                body,
            } => self.timed_loop(span, limit, *unit, warmup.as_ref(), body),
            StmtKind::Each { name, ranges, body } => self.for_each(span, name, ranges, body),
            StmtKind::Let { bindings, body } => self.bindings(span, bindings, body),
            StmtKind::If { cond, yes, no } => self.choice(span, cond, yes, no.as_deref()),
            StmtKind::Assert { about, cond } => {
                let cond = self.cond(cond);
                self.emit(span, InstKind::Assert(about.clone(), cond));
            }
            StmtKind::Synchronize { tasks } => {
                let mark = self.scopes.len();
                let tasks = self.set(tasks, Role::Source);
                self.close(mark);
                let site = self.site(&[&tasks], &[]);
                self.emit(span, InstKind::Barrier { site, tasks });
            }
            StmtKind::Await { tasks } => self.local_statement(tasks, span, |_, tasks| InstKind::Await(tasks)),
            StmtKind::Delay {
                tasks,
                sleep,
                time,
                unit,
            } => self.local_statement(tasks, span, |lower, tasks| InstKind::Delay {
                tasks,
                time: lower.expr(time),
                unit: *unit,
                sleep: *sleep,
            }),
            StmtKind::TouchBuffers { tasks, buffer } => {
                // Message buffers have no addresses here, and touching them no time.
                let mark = self.scopes.len();
                self.set(tasks, Role::Source);
                self.checked(buffer.as_slice());
                self.close(mark);
            }
            StmtKind::Log { tasks, items } => self.local_statement(tasks, span, |lower, tasks| {
                let report = lower.reported(|lower| lower.log(items));
                InstKind::Report {
                    tasks,
                    site: lower.report(report),
                }
            }),
            StmtKind::Output { tasks, texts } => self.local_statement(tasks, span, |lower, tasks| {
                let report = lower.reported(|lower| lower.output(texts));
                InstKind::Report {
                    tasks,
                    site: lower.report(report),
                }
            }),
            StmtKind::Aggregates { tasks } => {
                self.local_statement(tasks, span, |_, tasks| InstKind::Aggregates { tasks });
            }
            StmtKind::Counters { tasks, action } => {
                if *action == CounterAction::Store && self.code.stores.is_none() {
                    self.code.stores = Some(self.words(1 + MOST_STORES * STORED_WORDS));
                }
                self.local_statement(tasks, span, |_, tasks| InstKind::Counters { tasks, action: *action });
            }
            StmtKind::Assign { tasks, processor } => {
                if self.timed > 0 || self.split > 0 {
                    self.error(
                        "processors assigned where tasks may differ",
                        "an assignment of processors inside a timed loop or an IF on MY TASK cannot be followed by all tasks"
                            .into(),
                        span,
                    );
                }
                self.code.assigns = true;
                let loops = self.loops.clone();
                self.random_sites += 1;
                let site = self.random_sites;
                self.local_statement(tasks, span, |lower, tasks| InstKind::Assign {
                    tasks,
                    processor: processor.as_ref().map(|processor| lower.expr(processor)),
                    site,
                    loops,
                });
            }
            StmtKind::Backend { tasks, texts } => self.local_statement(tasks, span, |lower, tasks| {
                let (report, calls) = lower.backend(texts, span);
                InstKind::Backend {
                    tasks,
                    report: lower.report(report),
                    calls,
                }
            }),
            StmtKind::Io {
                tasks,
                verb,
                size,
                file,
                offset,
                asynchronous,
            } => self.local_statement(tasks, span, |lower, tasks| InstKind::Io {
                tasks,
                verb: *verb,
                bytes: size.as_ref().map(|(amount, unit)| Bytes {
                    amount: lower.expr(amount),
                    bits: match unit {
                        Some(ast::Multiplier::Bit) => 1,
                        Some(ast::Multiplier::Bytes(bytes)) => 8 * u64::from(*bytes),
                        None => 8,
                    },
                }),
                file: file.as_ref().map_or(Expr::Int(0), |file| lower.expr(file)),
                offset: offset.as_ref().map_or(Expr::Int(0), |offset| lower.expr(offset)),
                asynchronous: *asynchronous,
            }),
            StmtKind::Touch {
                tasks,
                count,
                region,
                times,
                stride,
            } => self.touch(span, tasks, count.as_ref(), region, times.as_ref(), stride),
            StmtKind::Send {
                sources,
                asynchronous,
                message,
                unsuspecting,
                targets,
                receive,
            } => self.send(
                span,
                sources,
                *asynchronous,
                message,
                *unsuspecting,
                targets,
                receive.as_ref(),
            ),
            StmtKind::Receive {
                receivers,
                asynchronous,
                message,
                senders,
            } => self.receive(span, receivers, *asynchronous, message, senders),
            StmtKind::Multicast {
                sources,
                asynchronous,
                message,
                targets,
            } => {
                if *asynchronous {
                    self.warn(
                        "asynchronous multicast",
                        "an asynchronous multicast is carried out as a blocking one".into(),
                        span,
                    );
                }
                let mark = self.scopes.len();
                let sources = self.set(sources, Role::Source);
                self.mark_source(mark);
                let messages = self.message(message);
                self.detaches(message, false);
                let targets = self.set(targets, Role::Target);
                self.close(mark);
                let site = self.site(&[&sources, &targets], &[]);
                self.emit(
                    span,
                    InstKind::Multicast {
                        site,
                        sources,
                        targets,
                        messages,
                    },
                );
            }
            StmtKind::Reduce { sources, what, to } => self.reduce(span, sources, what, to.as_ref()),
        }
    }

    fn repeat(&mut self, span: Span, count: &'a ast::Expr, warmup: Option<&'a ast::Warmup>, body: &'a Stmt) {
        let state = self.words(count::WORDS);
        let shape = Loop {
            state,
            end: 0,
            count: self.expr(count),
            warm: warmup.map(|warmup| self.expr(&warmup.count)),
            synchronize: warmup.is_some_and(|warmup| warmup.synchronize),
        };
        let mut head_shape = shape.clone();
        self.emit(span, InstKind::CountStart(shape));
        let ordinal = state + count::ORDINAL as u32;
        head_shape.count = Expr::Int(0);
        head_shape.warm = None;
        let head = self.emit(span, InstKind::CountHead(head_shape));
        self.in_loop(ordinal, body);
        self.emit(span, InstKind::Next(ordinal, head as u32));
        let end = self.here();
        self.target(head, end);
    }

    fn in_loop(&mut self, ordinal: u32, body: &'a Stmt) {
        self.loops.push(ordinal);
        self.code.ordinals.push(ordinal);
        self.statement(body);
        self.loops.pop();
    }

    fn timed_loop(
        &mut self,
        span: Span,
        limit: &'a ast::Expr,
        unit: i64,
        warmup: Option<&'a ast::Warmup>,
        body: &'a Stmt,
    ) {
        if self.split > 0 {
            self.error(
                "timed loop that only some tasks enter",
                "a timed loop needs all tasks to agree, and cannot stand inside an IF on MY TASK".into(),
                span,
            );
        }
        let state = self.words(timed::WORDS);
        let limit = self.expr(limit);
        let warm = warmup.map(|warmup| self.expr(&warmup.count));
        let warm_unit = warmup.map_or(1, |warmup| warmup.unit);
        self.code.timed = true;
        self.code.clock.get_or_insert((span, "a timed loop"));
        self.emit(
            span,
            InstKind::TimedStart {
                state,
                limit: limit.clone(),
                warm: warm.clone(),
                unit,
                warm_unit,
            },
        );
        let head = self.emit(
            span,
            InstKind::TimedHead {
                state,
                end: 0,
                limit,
                unit,
                synchronize: warmup.is_some_and(|warmup| warmup.synchronize),
            },
        );
        self.timed += 1;
        self.in_loop(state + timed::ORDINAL as u32, body);
        self.timed -= 1;
        self.emit(span, InstKind::Next(state + timed::ORDINAL as u32, head as u32));
        let end = self.here();
        self.target(head, end);
    }

    fn for_each(&mut self, span: Span, name: &'a ast::Word, ranges: &'a [ast::Range], body: &'a Stmt) {
        let state = self.words(each::WORDS);
        let slot = self.words(1);
        let ranges = self.ranges(ranges);
        let site = self.site(&[], &ranges);
        self.emit(
            span,
            InstKind::EachStart {
                state,
                ranges: ranges.clone(),
                site: site.clone(),
            },
        );
        let head = self.emit(
            span,
            InstKind::EachHead {
                state,
                slot,
                end: 0,
                ranges,
                site,
            },
        );
        let mark = self.scopes.len();
        self.push_scope(&name.text, name.span, Binding::Slot(slot));
        self.in_loop(state + each::ORDINAL as u32, body);
        self.close(mark);
        self.emit(span, InstKind::Next(state + each::ORDINAL as u32, head as u32));
        let end = self.here();
        self.target(head, end);
    }

    fn bindings(&mut self, span: Span, bindings: &'a [(ast::Word, Bound)], body: &'a Stmt) {
        let mark = self.scopes.len();
        for (name, bound) in bindings {
            let binding = match bound {
                Bound::Value(value) => {
                    let value = self.at(Place::Binding, |lower| lower.expr(value));
                    let slot = self.words(1);
                    self.emit(span, InstKind::Let(slot, value));
                    Binding::Slot(slot)
                }
                Bound::Random(limits) => {
                    let limits = self.at(Place::Binding, |lower| lower.limits(limits));
                    let slot = self.words(1);
                    self.random_sites += 1;
                    let kind = InstKind::LetRandom {
                        slot,
                        site: self.random_sites,
                        limits,
                        loops: self.loops.clone(),
                    };
                    self.emit(span, kind);
                    Binding::Slot(slot)
                }
                Bound::Tasks(tasks) => {
                    // Checked where it stands; what it is depends on where it is used.
                    let inner = self.scopes.len();
                    self.set(tasks, Role::Group);
                    self.scopes[inner..].iter_mut().for_each(|scope| scope.used = true);
                    self.close(inner);
                    Binding::Group(tasks, inner)
                }
            };
            self.push_scope(&name.text, name.span, binding);
        }
        self.statement(body);
        self.close(mark);
    }

    fn limits(&mut self, limits: &'a RandomLimits) -> Limits {
        let but = |lower: &mut Self, but: &'a Option<ast::Expr>| but.as_ref().map(|but| lower.expr(but));
        match limits {
            RandomLimits::None => Limits::All,
            RandomLimits::Other(than) => Limits::Other(self.expr(than)),
            RandomLimits::Less(than, not) => Limits::Less(self.expr(than), but(self, not)),
            RandomLimits::Greater(than, not) => Limits::Greater(self.expr(than), but(self, not)),
            RandomLimits::In(low, high, not) => Limits::In(self.expr(low), self.expr(high), but(self, not)),
        }
    }

    fn choice(&mut self, span: Span, cond: &'a ast::Cond, yes: &'a Stmt, no: Option<&'a Stmt>) {
        self.my_task = false;
        let cond = self.at(Place::If, |lower| lower.cond(cond));
        let split = std::mem::take(&mut self.my_task);
        let mut private = split;
        super::super::eval::walk_cond(&cond, &mut |expr| private |= matches!(expr, Expr::Counter(_)));
        self.split += u32::from(split);
        let unless = self.emit(span, InstKind::Unless { cond, to: 0, private });
        self.statement(yes);
        if let Some(no) = no {
            let jump = self.emit(span, InstKind::Jump { to: 0, private });
            let here = self.here();
            self.target(unless, here);
            self.statement(no);
            let end = self.here();
            self.target(jump, end);
        } else {
            let end = self.here();
            self.target(unless, end);
        }
        self.split -= u32::from(split);
    }

    fn touch(
        &mut self,
        span: Span,
        tasks: &'a ast::Tasks,
        count: Option<&'a (ast::Expr, u32)>,
        region: &'a (Option<ast::Expr>, ast::Multiplier),
        times: Option<&'a ast::Expr>,
        stride: &'a Stride,
    ) {
        let state = self.words(1);
        let mark = self.scopes.len();
        let tasks = self.set(tasks, Role::Source);
        let word = count.map_or(4, |&(_, word)| word);
        let touch = Touch {
            count: count.map(|(count, _)| self.expr(count)),
            word,
            region: self.amount(Some(region)),
            times: times.map_or(Expr::Int(1), |times| self.expr(times)),
            stride: match stride {
                Stride::Default => Some((Expr::Int(1), word)),
                Stride::Bytes(length, unit) => Some((self.expr(length), *unit)),
                Stride::Random => None,
            },
        };
        self.close(mark);
        let site = self.site(&[&tasks], &[]);
        self.emit(
            span,
            InstKind::Touch {
                site,
                state,
                tasks,
                touch: Box::new(touch),
            },
        );
    }

    #[allow(clippy::too_many_arguments)]
    fn send(
        &mut self,
        span: Span,
        sources: &'a ast::Tasks,
        asynchronous: bool,
        message: &'a ast::Message,
        unsuspecting: bool,
        targets: &'a ast::Tasks,
        receive: Option<&'a ast::ReceiveAs>,
    ) {
        let mark = self.scopes.len();
        let sources = self.set(sources, Role::Source);
        self.mark_source(mark);
        let messages = self.message(message);
        self.detaches(message, asynchronous);
        let targets = self.set(targets, Role::Target);
        let mut as_received = None;
        if !unsuspecting {
            let mut tag = messages.tag.clone();
            let mut receives_asynchronously = asynchronous;
            if let Some(receive) = receive {
                if receive
                    .verification
                    .is_some_and(|verification| verification != message.verification)
                {
                    self.error(
                        "VERIFICATION on one side only",
                        "the sender and the receiver both verify a message, or none does".into(),
                        receive.span,
                    );
                }
                self.checked(&receive.others);
                if let Some(own) = &receive.tag {
                    tag = Some(self.at(Place::Message, |lower| lower.tag(own)));
                }
                receives_asynchronously = receive.asynchronous.unwrap_or(asynchronous);
            }
            as_received = Some((receives_asynchronously, tag));
        }
        self.close(mark);
        let site = self.site(&[&sources, &targets], &[]);
        self.emit(
            span,
            InstKind::Send {
                site,
                sources,
                targets,
                messages,
                asynchronous,
                receive: as_received,
            },
        );
    }

    /// A RECEIVES, whose variables reach from the receivers to the senders, unless only the senders declare one.
    fn receive(
        &mut self,
        span: Span,
        receivers: &'a ast::Tasks,
        asynchronous: bool,
        message: &'a ast::Message,
        senders: &'a ast::Tasks,
    ) {
        if self.strict && matches!(receivers.kind, ast::TasksKind::All(_)) {
            self.error(
                "source-task variable or ALL TASKS used where release 1.5.1b forbids it",
                "release 1.5.1b has no ALL TASKS that receive".into(),
                receivers.span,
            );
        }
        let (own, other) = (Self::declares(receivers), Self::declares(senders));
        let mut reversed = other.is_some() && own.is_none();
        if let (Some(own), Some(other)) = (own, other)
            && Self::mentions(receivers, other)
        {
            if self.find(other).is_some() {
                self.error_with(
                    "receive whose scope direction is ambiguous",
                    format!(
                        "{other:?} is a variable outside and that of the senders: which one do the receivers mean?"
                    ),
                    span,
                    Some("name the variables differently".into()),
                );
            }
            reversed = !Self::mentions(senders, own) || self.find(own).is_some();
        }
        let mark = self.scopes.len();
        let (first, second) = if reversed {
            (senders, receivers)
        } else {
            (receivers, senders)
        };
        let first_role = if reversed { Role::Sender } else { Role::Source };
        let first = self.set(first, first_role);
        let second = self.set(second, if reversed { Role::Source } else { Role::Sender });
        self.mark_source(mark);
        let messages = self.message(message);
        self.detaches(message, false);
        self.close(mark);
        let site = self.site(&[&first, &second], &[]);
        self.emit(
            span,
            InstKind::Receive {
                site,
                first,
                second,
                messages,
                asynchronous,
                reversed,
            },
        );
    }

    /// Bytes of an item of a type that can be reduced.
    fn item(&mut self, (word, span): (&'static str, Span)) -> u64 {
        match word {
            "integer" => 4,
            "doubleword" => 8,
            _ => {
                let message = format!(
                    "{} cannot be reduced: only INTEGERS and DOUBLEWORDS",
                    word.to_uppercase()
                );
                self.error("only INTEGERS and DOUBLEWORDS reduce", message, span);
                8
            }
        }
    }

    fn reduce(&mut self, span: Span, sources: &'a ast::Tasks, what: &'a ast::Reduction, to: Option<&'a ReduceTo>) {
        let mark = self.scopes.len();
        let sources = self.set(sources, Role::Source);
        self.mark_source(mark);
        let mut verified = what.verification.then_some(what.span);
        self.checked(&what.others);
        let items = self.at(Place::Message, |lower| {
            what.count.as_ref().map_or(Expr::Int(1), |count| lower.expr(count))
        });
        let item = self.item(what.item);
        let mut targets = None;
        let mut result = None;
        match to {
            None => {}
            Some(ReduceTo::Same(same)) => {
                verified = verified.or(same.verification.then_some(same.span));
                self.checked(&same.others);
                result = Some((same.count.as_ref(), same.item, same.span));
            }
            Some(ReduceTo::Tasks { tasks, result: given }) => {
                targets = Some(self.set(tasks, Role::Target));
                if let Some(given) = given {
                    verified = verified.or(given.verification.filter(|&on| on).map(|_| given.span));
                    self.checked(&given.others);
                    result = given
                        .what
                        .as_ref()
                        .map(|(count, item)| (count.as_ref(), *item, given.span));
                }
            }
        }
        if let Some((count, result_item, at)) = result {
            let count = self.at(Place::Message, |lower| {
                count.map_or(Expr::Int(1), |count| lower.expr(count))
            });
            let size = self.item(result_item);
            if size != item || format!("{count:?}") != format!("{items:?}") {
                self.error(
                    "reduction whose result differs in count or type",
                    "the result of a reduction has the count and the type of what is reduced".into(),
                    at,
                );
            }
        }
        if let Some(at) = verified {
            self.error(
                "VERIFICATION in a reduction",
                "a reduction cannot be verified".into(),
                at,
            );
        }
        self.close(mark);
        let sets: Vec<&Tasks> = std::iter::once(&sources).chain(&targets).collect();
        let site = self.site(&sets, &[]);
        self.emit(
            span,
            InstKind::Reduce {
                site,
                sources,
                targets,
                items,
                item,
            },
        );
    }
}
