//! Messages between tasks.

use std::sync::Arc;

use super::super::eval::Env;
use super::super::functions::{OVERFLOW, Value};
use super::super::ir::{self, Bytes, Messages, Receive, Send, Set, Site, Tasks, word};
use super::super::sets::{Pairs, SiteData};
use super::counters::Counters;
use super::{Machine, Step};

/// The largest numeric tag; string tags are above.
const MOST_TAG: i64 = (1 << 30) - 1;

/// An entry of a list of peers.
enum Peer {
    End,
    /// No peer at this index, but perhaps later.
    Skip,
    Is(u32),
}

/// The bytes of an item, rounded up from bits.
pub(super) fn bytes(env: &Env, bytes: &Bytes) -> Value<u64> {
    let amount = u64::try_from(env.int(&bytes.amount)?).map_err(|_| "negative message size")?;
    let bits = u128::from(amount) * u128::from(bytes.bits);
    u64::try_from(bits.div_ceil(8)).map_err(|_| OVERFLOW)
}

impl<'a> Machine<'a> {
    /// The data of a statement with two sets.
    fn pairs(&self, site: &Site, first: &Tasks, second: &Tasks) -> Value<Arc<SiteData>> {
        self.program.caches[site.number as usize].get(site, self.memory, || {
            let mut env = self.env();
            let members = env.members(first)?;
            let pairs = env.pairs(first, &members, second, site.linked)?;
            Ok(SiteData {
                pairs,
                ..SiteData::of(members)
            })
        })
    }

    /// The peer in the first set of this rank, a member of the second, at `index` of the list.
    fn incoming(&self, data: &SiteData, first: &Tasks, second: &Tasks, index: u64) -> Value<Peer> {
        let me = self.me();
        let found = match &data.pairs {
            Pairs::None => None,
            Pairs::Fixed(targets) => targets.contains(me).then(|| data.first.get(index)).flatten(),
            Pairs::Others => {
                let own = data.first.place(me).map_or(u64::MAX, u64::from);
                data.first.get(index + u64::from(index >= own))
            }
            Pairs::Linked { into, .. } => into.get(me, index),
            Pairs::Inverse(inverse) => {
                let candidate = inverse
                    .source(me)
                    .filter(|&source| index == 0 && data.first.contains(source));
                match candidate {
                    Some(source) if self.forward(first, second, source)? == Some(me) => candidate,
                    _ => None,
                }
            }
            Pairs::Tried => {
                let Some(source) = data.first.get(index) else {
                    return Ok(Peer::End);
                };
                let mut env = self.env();
                env.bind(first, source);
                return Ok(if env.is_member(second, me)? {
                    Peer::Is(source)
                } else {
                    Peer::Skip
                });
            }
        };
        Ok(found.map_or(Peer::End, Peer::Is))
    }

    /// The peer in the second set of this rank, a member of the first.
    fn outgoing(&self, data: &SiteData, first: &Tasks, second: &Tasks, index: u64) -> Value<Peer> {
        let me = self.me();
        if !data.first.contains(me) {
            return Ok(Peer::End);
        }
        let tasks = u64::from(self.program.tasks);
        let found = match &data.pairs {
            Pairs::None => None,
            Pairs::Fixed(targets) => targets.get(index),
            Pairs::Others => {
                let other = index + u64::from(index >= u64::from(me));
                (other < tasks).then_some(other as u32)
            }
            Pairs::Linked { out, .. } => out.get(me, index),
            Pairs::Inverse(_) if index > 0 => None,
            Pairs::Inverse(_) => self.forward(first, second, me)?,
            Pairs::Tried => {
                if index >= tasks {
                    return Ok(Peer::End);
                }
                let mut env = self.env();
                env.bind(first, me);
                let target = index as u32;
                return Ok(if env.is_member(second, target)? {
                    Peer::Is(target)
                } else {
                    Peer::Skip
                });
            }
        };
        Ok(found.map_or(Peer::End, Peer::Is))
    }

    /// The only target of `source`.
    fn forward(&self, first: &Tasks, second: &Tasks, source: u32) -> Value<Option<u32>> {
        let Set::One(expr) = &second.set else { return Ok(None) };
        let mut env = self.env();
        env.bind(first, source);
        let target = env.int(expr)?;
        Ok((0..env.tasks).contains(&target).then_some(target as u32))
    }

    fn tag(&self, env: &Env, tag: Option<&ir::Tag>) -> Value<(u32, bool)> {
        match tag {
            None => Ok((0, false)),
            Some(ir::Tag::Text(text)) => Ok((text_tag(&self.program.code.tag_texts[*text as usize]), true)),
            Some(ir::Tag::Number(expr)) => {
                let tag = env.int(expr)?;
                if !(0..=MOST_TAG).contains(&tag) {
                    return Err("a tag outside of 0 to 1,073,741,823");
                }
                Ok((tag as u32, false))
            }
        }
    }

    /// The message at the current index of a list of peers; `None` at its end.
    #[allow(clippy::too_many_arguments)]
    fn next_message(
        &mut self,
        data: &SiteData,
        first: &Tasks,
        second: &Tasks,
        messages: &Messages,
        tag: Option<&ir::Tag>,
        incoming: bool,
        send: bool,
        asynchronous: bool,
    ) -> Value<Option<Step>> {
        loop {
            super::spend(self.effort)?;
            let index = self.memory[word::INDEX];
            let peer = if incoming {
                self.incoming(data, first, second, index)?
            } else {
                self.outgoing(data, first, second, index)?
            };
            let peer = match peer {
                Peer::End => return Ok(None),
                Peer::Skip => {
                    self.memory[word::INDEX] += 1;
                    continue;
                }
                Peer::Is(peer) => peer,
            };
            let me = self.me();
            let mut env = self.env();
            let (one, other) = if incoming { (peer, me) } else { (me, peer) };
            env.bind(first, one);
            env.bind(second, other);
            let count = env.int(&messages.count)?;
            if (self.memory[word::REPEAT] as i64) < count {
                let bytes = bytes(&env, &messages.bytes)?;
                let (tag, text_tag) = self.tag(&env, tag)?;
                self.memory[word::REPEAT] += 1;
                let detached = send && messages.detached;
                if asynchronous && !detached {
                    self.memory[word::REQUESTS] += 1;
                }
                if !self.warm() {
                    Counters::of(self.memory).count(send, bytes, asynchronous);
                }
                return Ok(Some(Step::Message {
                    send,
                    peer: self.processor(peer),
                    bytes,
                    tag,
                    text_tag,
                    asynchronous,
                    detached,
                }));
            }
            self.memory[word::REPEAT] = 0;
            self.memory[word::INDEX] += 1;
        }
    }

    /// SENDS: on each rank, all receives of the statement precede all its sends.
    pub(super) fn send(&mut self, send: &Send) -> Value<Option<Step>> {
        let Send {
            site,
            sources,
            targets,
            messages,
            ..
        } = send;
        let data = self.pairs(site, sources, targets)?;
        if self.memory[word::STAGE] == 0 {
            if let Some((receives_asynchronously, tag)) = &send.receive {
                let tag = tag.as_ref();
                let receives = *receives_asynchronously;
                let step = self.next_message(&data, sources, targets, messages, tag, true, false, receives)?;
                if step.is_some() {
                    return Ok(step);
                }
            }
            self.memory[word::STAGE] = 1;
            self.memory[word::INDEX] = 0;
            self.memory[word::REPEAT] = 0;
        }
        let tag = messages.tag.as_ref();
        let step = self.next_message(&data, sources, targets, messages, tag, false, true, send.asynchronous)?;
        if step.is_none() {
            self.done();
        }
        Ok(step)
    }

    /// RECEIVES.
    pub(super) fn receive(&mut self, receive: &Receive) -> Value<Option<Step>> {
        let Receive {
            site,
            first,
            second,
            messages,
            asynchronous,
            reversed,
        } = receive;
        let data = self.pairs(site, first, second)?;
        let tag = messages.tag.as_ref();
        let step = self.next_message(&data, first, second, messages, tag, *reversed, false, *asynchronous)?;
        if step.is_none() {
            self.done();
        }
        Ok(step)
    }
}

/// The tag of a string: above all numeric tags (FNV-1a).
fn text_tag(text: &str) -> u32 {
    let hash = text.bytes().fold(0x811c_9dc5u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (1 << 30) | (hash & (MOST_TAG as u32))
}
