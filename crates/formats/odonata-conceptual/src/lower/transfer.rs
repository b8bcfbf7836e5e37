//! Statements that move messages between two sets of tasks.

use super::super::ast::{self, ReduceTo};
use super::super::diagnostic::Span;
use super::super::ir::{Expr, InstKind, Tasks};
use super::tasks::Role;
use super::{Lower, Place};

impl<'a> Lower<'a> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn send(
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
        (self.scopes.since(mark).iter_mut()).for_each(|scope| scope.source = true);
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
                        "sender and receiver both verify a message, or neither does".into(),
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

    /// A RECEIVES; its variables extend from the receivers to the senders, unless only the senders declare one.
    pub(super) fn receive(
        &mut self,
        span: Span,
        receivers: &'a ast::Tasks,
        asynchronous: bool,
        message: &'a ast::Message,
        senders: &'a ast::Tasks,
    ) {
        if self.dialect.strict && matches!(receivers.kind, ast::TasksKind::All(_)) {
            self.error(
                "source-task variable or ALL TASKS used where release 1.5.1b forbids it",
                "release 1.5.1b has no ALL TASKS as receivers".into(),
                receivers.span,
            );
        }
        let (own, other) = (Self::declares(receivers), Self::declares(senders));
        // ALL OTHER TASKS excludes the sender.
        let others = |tasks: &ast::Tasks| matches!(tasks.kind, ast::TasksKind::AllOther);
        if others(receivers) && others(senders) {
            self.error(
                "receive whose scope direction is ambiguous",
                "ALL OTHER TASKS receive from ALL OTHER TASKS: the excluded task is ambiguous".into(),
                span,
            );
        }
        let mut reversed = others(receivers) || (other.is_some() && own.is_none());
        if let (Some(own), Some(other)) = (own, other)
            && Self::mentions(receivers, other)
        {
            if self.scopes.find(other).is_some() {
                self.error_with(
                    "receive whose scope direction is ambiguous",
                    format!(
                        "{other:?} is both an outer variable and the variable of the senders: the receivers' use is \
                         ambiguous"
                    ),
                    span,
                    Some("name the variables differently".into()),
                );
            }
            reversed = !Self::mentions(senders, own) || self.scopes.find(own).is_some();
        }
        let mark = self.scopes.len();
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
        let first = self.set(first, first_role);
        let second = self.set(second, second_role);
        (self.scopes.since(mark).iter_mut()).for_each(|scope| scope.source = true);
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
                self.error("only INTEGERS and DOUBLEWORDS reduce", message, span);
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
        let mark = self.scopes.len();
        let sources = self.set(sources, Role::Source);
        (self.scopes.since(mark).iter_mut()).for_each(|scope| scope.source = true);
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
                targets = Some(self.set(tasks, Role::Partner));
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
                    "the result of a reduction has the count and type of its input".into(),
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
