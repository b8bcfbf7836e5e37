//! Statements that move messages between two sets of tasks.

use super::super::ast::{self, ReduceTo};
use super::super::diagnostic::Span;
use super::super::ir::{Expr, InstKind, Messages, Receive, Send, Tasks};
use super::Lower;
use super::expression::Place;
use super::tasks::{Role, declares, mentions};

impl<'a> Lower<'a> {
    /// The two sets and the messages of a statement that sends. The variables of the sources stay in scope; the caller
    /// closes it.
    fn sent(
        &mut self,
        sources: &'a ast::Tasks,
        message: &'a ast::Message,
        asynchronous: bool,
        targets: &'a ast::Tasks,
    ) -> (Tasks, Messages, Tasks) {
        let mark = self.expressions.scopes.len();
        let sources = self.expressions.set(sources, Role::Source);
        self.expressions.scopes.mark_source(mark);
        let messages = self.expressions.message(message);
        self.expressions.detaches(message, asynchronous);
        let targets = self.expressions.set(targets, Role::Target);
        (sources, messages, targets)
    }

    pub(super) fn send(&mut self, span: Span, send: &'a ast::Send) {
        let &ast::Send {
            asynchronous,
            ref message,
            unsuspecting,
            ref receive,
            ..
        } = send;
        let mark = self.expressions.scopes.len();
        let (sources, messages, targets) = self.sent(&send.sources, message, asynchronous, &send.targets);
        let mut as_received = None;
        if !unsuspecting {
            let mut tag = messages.tag.clone();
            let mut receives_asynchronously = asynchronous;
            if let Some(receive) = receive {
                if receive
                    .verification
                    .is_some_and(|verification| verification != message.verification)
                {
                    self.expressions.diagnostics.error(
                        "VERIFICATION on one side only",
                        "sender and receiver both verify a message, or neither does".into(),
                        receive.span,
                    );
                }
                self.expressions.checked(&receive.others);
                if let Some(own) = &receive.tag {
                    tag = Some(self.expressions.at(Place::Message, |inner| inner.tag(own)));
                }
                receives_asynchronously = receive.asynchronous.unwrap_or(asynchronous);
            }
            as_received = Some((receives_asynchronously, tag));
        }
        self.expressions.close(mark);
        let site = self.site(&[&sources, &targets], &[]);
        self.emit(
            span,
            InstKind::Send(Send {
                site,
                sources,
                targets,
                messages,
                asynchronous,
                receive: as_received,
            }),
        );
    }

    /// A MULTICASTS; it always blocks.
    pub(super) fn multicast(
        &mut self,
        span: Span,
        sources: &'a ast::Tasks,
        message: &'a ast::Message,
        targets: &'a ast::Tasks,
    ) {
        let mark = self.expressions.scopes.len();
        let (sources, messages, targets) = self.sent(sources, message, false, targets);
        self.expressions.close(mark);
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

    /// A RECEIVES; its variables extend from the receivers to the senders, unless only the senders declare one.
    pub(super) fn receive(&mut self, span: Span, receive: &'a ast::Receive) {
        let ast::Receive {
            receivers,
            asynchronous,
            message,
            senders,
        } = receive;
        if self.expressions.dialect.strict && matches!(receivers.kind, ast::TasksKind::All(_)) {
            self.expressions.diagnostics.error(
                "source-task variable or ALL TASKS used where release 1.5.1b forbids it",
                "release 1.5.1b has no ALL TASKS as receivers".into(),
                receivers.span,
            );
        }
        let (own, other) = (declares(receivers), declares(senders));
        // ALL OTHER TASKS excludes the sender.
        let others = |tasks: &ast::Tasks| matches!(tasks.kind, ast::TasksKind::AllOther);
        if others(receivers) && others(senders) {
            self.expressions.diagnostics.error(
                "receive whose scope direction is ambiguous",
                "ALL OTHER TASKS receive from ALL OTHER TASKS: the excluded task is ambiguous".into(),
                span,
            );
        }
        let mut reversed = others(receivers) || (other.is_some() && own.is_none());
        if let (Some(own), Some(other)) = (own, other)
            && mentions(receivers, other)
        {
            if self.expressions.scopes.find(other).is_some() {
                self.expressions.diagnostics.error_with(
                    "receive whose scope direction is ambiguous",
                    format!(
                        "{other:?} is both an outer variable and the variable of the senders: the receivers' use is \
                         ambiguous"
                    ),
                    span,
                    Some("name the variables differently".into()),
                );
            }
            reversed = !mentions(senders, own) || self.expressions.scopes.find(own).is_some();
        }
        let mark = self.expressions.scopes.len();
        let (first, second) = if reversed {
            (senders, receivers)
        } else {
            (receivers, senders)
        };
        let of_receivers = if others(receivers) { Role::Target } else { Role::Source };
        let (first_role, second_role) = match reversed {
            true => (Role::Partner, of_receivers),
            false => (Role::Source, Role::Partner),
        };
        let first = self.expressions.set(first, first_role);
        let second = self.expressions.set(second, second_role);
        self.expressions.scopes.mark_source(mark);
        let messages = self.expressions.message(message);
        self.expressions.detaches(message, false);
        self.expressions.close(mark);
        let site = self.site(&[&first, &second], &[]);
        self.emit(
            span,
            InstKind::Receive(Receive {
                site,
                first,
                second,
                messages,
                asynchronous: *asynchronous,
                reversed,
            }),
        );
    }

    /// Bytes of an item of a reducible type.
    fn item(&mut self, (word, span): (&'static str, Span)) -> u64 {
        match word {
            "integer" => 4,
            "doubleword" => 8,
            _ => {
                let message = format!(
                    "{} cannot be reduced: only INTEGERS and DOUBLEWORDS",
                    word.to_uppercase()
                );
                self.expressions
                    .diagnostics
                    .error("only INTEGERS and DOUBLEWORDS reduce", message, span);
                8
            }
        }
    }

    pub(super) fn reduce(
        &mut self,
        span: Span,
        sources: &'a ast::Tasks,
        what: &'a ast::Reduction,
        to: Option<&'a ReduceTo>,
    ) {
        let mark = self.expressions.scopes.len();
        let sources = self.expressions.set(sources, Role::Source);
        self.expressions.scopes.mark_source(mark);
        let mut verified = what.verification.then_some(what.span);
        self.expressions.checked(&what.others);
        let items = self.expressions.at(Place::Message, |inner| {
            what.count.as_ref().map_or(Expr::Int(1), |count| inner.expr(count))
        });
        let item = self.item(what.item);
        let mut targets = None;
        let mut result = None;
        match to {
            None => {}
            Some(ReduceTo::Same(same)) => {
                verified = verified.or(same.verification.then_some(same.span));
                self.expressions.checked(&same.others);
                result = Some((same.count.as_ref(), same.item, same.span));
            }
            Some(ReduceTo::Tasks { tasks, result: given }) => {
                targets = Some(self.expressions.set(tasks, Role::Partner));
                if let Some(given) = given {
                    verified = verified.or(given.verification.filter(|&on| on).map(|_| given.span));
                    self.expressions.checked(&given.others);
                    result = given
                        .what
                        .as_ref()
                        .map(|(count, item)| (count.as_ref(), *item, given.span));
                }
            }
        }
        if let Some((count, result_item, at)) = result {
            let count = self.expressions.at(Place::Message, |inner| {
                count.map_or(Expr::Int(1), |count| inner.expr(count))
            });
            let size = self.item(result_item);
            if size != item || format!("{count:?}") != format!("{items:?}") {
                self.expressions.diagnostics.error(
                    "reduction whose result differs in count or type",
                    "the result of a reduction has the count and type of its input".into(),
                    at,
                );
            }
        }
        if let Some(at) = verified {
            self.expressions.diagnostics.error(
                "VERIFICATION in a reduction",
                "a reduction cannot be verified".into(),
                at,
            );
        }
        self.expressions.close(mark);
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
