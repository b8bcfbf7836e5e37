//! Matching, compared with a slow and obviously correct matcher.

use super::mpi::Library;
use super::*;
use crate::mpi::effect::MpiEffect;
use crate::mpi::matching::{Envelope, PostedReceive, Poster};
use crate::mpi::request::kind::RequestKind;
use std::collections::BTreeMap;

/// (source, context, sequence, tag)
type Sent = (u32, u32, u32, u32);

/// (source, tag, context, message)
type Receive = (Option<u32>, Option<u32>, u32, Option<Sent>);

/// The matching rules of MPI, literally.
#[derive(Default)]
struct Reference {
    /// Messages passed to matching, in order, and whether they were taken.
    through: Vec<(Sent, bool)>,
    early: Vec<Sent>,
    next: BTreeMap<(u32, u32), u32>,
    /// Receives in the order of posting.
    receives: Vec<Receive>,
}

impl Reference {
    fn fit(receive: (Option<u32>, Option<u32>, u32), message: Sent) -> bool {
        receive.2 == message.1
            && receive.0.is_none_or(|source| source == message.0)
            && receive.1.is_none_or(|tag| tag == message.3)
    }

    fn post(&mut self, source: Option<u32>, tag: Option<u32>, context: u32) {
        let found = self
            .through
            .iter_mut()
            .find(|(m, taken)| !taken && Self::fit((source, tag, context), *m));
        let message = found.map(|(message, taken)| {
            *taken = true;
            *message
        });
        self.receives.push((source, tag, context, message));
    }

    fn arrive(&mut self, message: Sent) {
        self.early.push(message);
        while let Some(at) = self
            .early
            .iter()
            .position(|m| m.2 == self.next.get(&(m.0, m.1)).copied().unwrap_or_default())
        {
            let m = self.early.remove(at);
            *self.next.entry((m.0, m.1)).or_default() += 1;
            let open = self
                .receives
                .iter_mut()
                .find(|r| r.3.is_none() && Self::fit((r.0, r.1, r.2), m));
            let taken = open.is_some();
            if let Some(receive) = open {
                receive.3 = Some(m);
            }
            self.through.push((m, taken));
        }
    }
}

#[test]
fn matching_agrees_with_the_slow_matcher_on_random_histories() {
    for seed in 0..200 {
        let mut random = Stream::new(seed, 0, Purpose::Host);
        let mut library = Library::new(4, |_| {});
        let mut reference = Reference::default();
        // Messages in flight, and their sequence numbers.
        let mut flying: Vec<Sent> = Vec::new();
        let mut sent: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for step in 0..300 {
            match random.below(4) {
                0 => {
                    let (source, context) = (random.below(3), 2 * random.below(2));
                    let number = sent.entry((source, context)).or_default();
                    flying.push((source, context, *number, random.below(3)));
                    *number += 1;
                }
                1 | 2 if !flying.is_empty() => {
                    let m = flying.remove(random.below(flying.len() as u32) as usize);
                    let (source, context, sequence, tag) = m;
                    let message = Envelope {
                        source,
                        tag,
                        context,
                        sequence,
                        bytes: 1,
                        rendezvous: NIL,
                        next: NIL,
                    };
                    let arrives = library.at(Time::ZERO, |mpi, turn| {
                        mpi.message_arrives::<Speculative>(turn, 3, message);
                    });
                    let is_tag = |effect: &MpiEffect| matches!(effect, MpiEffect::TakeTag { .. });
                    assert!(arrives.iter().all(is_tag), "{arrives:?}");
                    reference.arrive(m);
                }
                _ => {
                    let source = (random.below(3) > 0).then(|| random.below(3));
                    let tag = (random.below(3) > 0).then(|| random.below(3));
                    let context = 2 * random.below(2);
                    let number = Request(reference.receives.len() as u32);
                    let requests = &mut library.mpi.requests;
                    let request = requests.open_numbered::<Speculative>(3, OpId(0), number, RequestKind::Receive);
                    let receive = PostedReceive {
                        source: source.map_or(Source::Any, Source::Rank),
                        tag: tag.map_or(Tag::Any, Tag::Is),
                        context,
                        bytes: 1,
                        request,
                        op: OpId(0),
                        poster: Poster::Receive,
                        next: NIL,
                    };
                    library.at(Time::ZERO, |mpi, turn| {
                        mpi.post_receive::<Speculative>(turn, 3, receive);
                    });
                    reference.post(source, tag, context);
                }
            }
            let matching = &library.mpi.matching;
            let unexpected: Vec<Sent> = matching
                .unexpected(3)
                .map(|m| (m.source, m.context, m.sequence, m.tag))
                .collect();
            let left: Vec<Sent> = reference
                .through
                .iter()
                .filter(|(_, taken)| !taken)
                .map(|(m, _)| *m)
                .collect();
            assert_eq!(unexpected, left, "seed {seed} step {step}");
            let open: Vec<u32> = matching
                .posted(3)
                .map(|receive| library.mpi.requests.get(receive.request).number)
                .collect();
            let without = |&i: &u32| reference.receives[i as usize].3.is_none();
            let expected: Vec<u32> = (0..reference.receives.len() as u32).filter(without).collect();
            assert_eq!(open, expected, "seed {seed} step {step}");
            assert_eq!(matching.held(3), reference.early.len());
        }
    }
}

#[test]
fn a_wildcard_receive_never_takes_the_message_of_a_collective() {
    let sum = OpKind::Collective(allreduce(8, 1));
    let any = OpKind::Irecv {
        from: Source::Any,
        tag: Tag::Any,
        bytes: 64,
        comm: Comm::WORLD,
        request: Request(0),
    };
    let first = sequence([any, sum, wait_all(1)]);
    let second = sequence([sum, send(0, 77, 64)]);
    Setup::new().script(vec![first, second], &[0, 40]).complete();
}
