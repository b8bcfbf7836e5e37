//! The losses of packets and messages, by slot.

use odonata_blame::Place;
use odonata_blame::lost::Vector;
use odonata_engine::{GrowableStore, Mode, Time};

/// The waiting object, by its slot: a packet at a router, or a message at its NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiter {
    Packet(u32),
    Message(u32),
    /// The latest packet to arrive of an incomplete message, by the message's slot. It waits no more.
    Arrived(u32),
}

/// The losses of a packet or a message, and its place in the queue; one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(super) struct Account {
    pub(super) lost: Lost,
    pub(super) place: Place,
    /// When it would have requested the link if it had been alone; [`Time::ZERO`] if it has not waited.
    pub(super) asked: Time,
}

/// The losses of a packet or message of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Lost {
    pub(super) losses_to_others: Vector,
    /// Losses to its own traffic, except those counted below, with their origin.
    pub(super) own: Vector,
    /// Losses to its own traffic if places are not recorded: in waits for links, and for credits.
    pub(super) own_link: Time,
    pub(super) own_buffer: Time,
}

impl Lost {
    pub(super) const NOTHING: Lost = Lost {
        losses_to_others: Vector::EMPTY,
        own: Vector::EMPTY,
        own_link: Time::ZERO,
        own_buffer: Time::ZERO,
    };
}

const _: () = assert!(size_of::<Account>() == 64);

/// The losses of the packets and messages of a part.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    packets: GrowableStore<Account>,
    messages: GrowableStore<Account>,
    /// The losses of arrived packets, by the slot of their incomplete message.
    arrived: GrowableStore<Account>,
}
odonata_engine::journalled!(Accounts {
    packets,
    messages,
    arrived
});

impl Accounts {
    #[inline(always)]
    pub(super) fn get(&self, waiter: Waiter) -> Account {
        match waiter {
            Waiter::Packet(slot) => self.packets.get(slot as usize),
            Waiter::Message(slot) => self.messages.get(slot as usize),
            Waiter::Arrived(slot) => self.arrived.get(slot as usize),
        }
    }

    #[inline(always)]
    pub(super) fn edit<M: Mode>(&mut self, waiter: Waiter) -> &mut Account {
        match waiter {
            Waiter::Packet(slot) => self.packets.edit::<M>(slot as usize),
            Waiter::Message(slot) => self.messages.edit::<M>(slot as usize),
            Waiter::Arrived(slot) => self.arrived.edit::<M>(slot as usize),
        }
    }

    /// Exchanges the losses of two waiters.
    pub(super) fn exchange<M: Mode>(&mut self, a: Waiter, b: Waiter) {
        let (of_a, of_b) = (self.get(a).lost, self.get(b).lost);
        if of_a != of_b || of_a != Lost::NOTHING {
            self.edit::<M>(a).lost = of_b;
            self.edit::<M>(b).lost = of_a;
        }
    }
}
