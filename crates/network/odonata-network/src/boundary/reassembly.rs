//! Reassembly of messages whose packets arrive from other parts.

use crate::message::{EXPECTED, Message, Payload};
use odonata_engine::{Mode, NIL, Pool, Store};

/// The incomplete messages with packets from other parts: a hash table chained through the pool of messages.
#[derive(Debug)]
pub(crate) struct Reassembly {
    heads: Store<u32>,
}
odonata_engine::journalled!(Reassembly { heads });

impl Reassembly {
    /// For a part with `nodes` nodes; `divided`: there are other parts.
    pub(crate) fn new(nodes: u32, divided: bool) -> Reassembly {
        let heads = if divided { (2 * nodes).next_power_of_two() } else { 0 };
        Reassembly {
            heads: Store::filled(heads as usize, NIL),
        }
    }

    fn chain<P>(&self, message: &Message<P>) -> u32 {
        let name = u64::from(message.source) << 32 | u64::from(message.number);
        (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 & (self.heads.len() as u32 - 1)
    }

    /// The slot of the message of `copy`, which arrived with a packet; a new slot for the first packet.
    pub(crate) fn find<M: Mode, P: Payload>(&mut self, messages: &mut Pool<Message<P>>, copy: Message<P>) -> u32 {
        let chain = self.chain(&copy);
        let mut at = *self.heads.get(chain);
        while at != NIL {
            let message = messages.get(at);
            if (message.source, message.number) == (copy.source, copy.number) {
                return at;
            }
            at = message.next;
        }
        let slot = messages.allocate::<M>(Message {
            undelivered: copy.bytes,
            home: EXPECTED,
            next: *self.heads.get(chain),
            ..copy
        });
        *self.heads.edit::<M>(chain) = slot;
        slot
    }

    /// All packets of the message in `slot` have arrived.
    pub(crate) fn remove<M: Mode>(&mut self, messages: &mut Pool<Message<impl Payload>>, slot: u32) {
        let message = *messages.get(slot);
        let chain = self.chain(&message);
        if *self.heads.get(chain) == slot {
            *self.heads.edit::<M>(chain) = message.next;
            return;
        }
        let mut at = *self.heads.get(chain);
        while messages.get(at).next != slot {
            at = messages.get(at).next;
        }
        messages.edit::<M>(at).next = message.next;
    }
}
