//! What crosses the border between two parts of the fabric: packets on links that leave, and credits on their way
//! back.
//!
//! A packet takes its message along, by value, since the slot of a message means nothing in another part:
//!
//! ```text
//!  part of the source             a part on the way            part of the target
//!  [message] NIC ─ packets ──►  packet + copy of message ──►  packets ─► [message] ─► host
//!   freed with the last           freed when the packet         made by the packet that comes
//!   packet that leaves            leaves                        first, see `Arrivals`
//! ```
//!
//! A packet can come back to the part of its source, if that is its target's as well: then the message has stayed,
//! and the packet knows its slot ([`Message::home`]).

use crate::congestion::Notification;
use crate::fabric::Fabric;
use crate::message::Message;
use crate::packet::{Packet, Wants};
use crate::params::RouterModel;
use crate::routing::Header;
use crate::{FabricEvent, Traffic};
use odonata_engine::{Context, Mode, NIL, Pool, Store, Time, Wire};

/// A packet with its message, on its way to another part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    packet: Packet,
    message: Message,
}

impl Parcel {
    /// A body flit for buffer `buffer` of the machine: only that counts.
    fn flit(buffer: u32) -> Parcel {
        let message = Message::new(0, 0, 0, 0, Time::ZERO, crate::Content::default());
        let packet = Packet {
            created: Time::ZERO,
            injected: Time::ZERO,
            tail_in: Time::ZERO,
            header: Header::NONE,
            message: NIL,
            bytes: 0,
            buffer,
            next: NIL,
            next_waiting: NIL,
            traffic: 0,
            vc: 0,
            class: 0,
            marked: false,
            hops: 0,
            wants: Wants::NONE,
        };
        Parcel { packet, message }
    }

    /// A notification of congestion control, without packet or message.
    pub(crate) fn notification(notification: &Notification) -> Parcel {
        let mut parcel = Parcel::flit(NIL);
        parcel.packet.header = notification.header;
        parcel.packet.class = notification.class;
        parcel.message.target = notification.about;
        let rate = notification.rate.to_bits();
        (parcel.message.content[0], parcel.message.content[1]) = (rate as u32, (rate >> 32) as u32);
        parcel
    }

    /// The message that the packet belongs to.
    pub fn message(&self) -> &Message {
        &self.message
    }
}

/// What is on its way to another part and causes no event there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(Told);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// A credit.
    Credit {
        /// The machine's number of the router port that gets its space back.
        link: u32,
        flits: u16,
        /// Whose packet held the space.
        owner: Traffic,
        vc: u8,
    },
    /// What is published of a global port, see [`knowledge`](crate::knowledge).
    Report {
        /// Its number in the machine.
        port: u32,
        value: u32,
    },
}

impl Token {
    /// Of a report, in the place of a credit's virtual channel.
    const REPORT: u8 = u8::MAX;

    /// A report of `value` on port `port` of the machine.
    pub(crate) fn report(port: u32, value: u32) -> Token {
        Token(Told::Report { port, value })
    }
}

/// Messages of which packets have come from other parts and more are to come: a hash table with chains through the
/// pool of messages.
#[derive(Debug)]
pub(crate) struct Arrivals {
    heads: Store<u32>,
}
odonata_engine::journalled!(Arrivals { heads });

impl Arrivals {
    /// For a part with `nodes` nodes; `divided`: there are other parts.
    pub(crate) fn new(nodes: u32, divided: bool) -> Arrivals {
        let heads = if divided { (2 * nodes).next_power_of_two() } else { 0 };
        Arrivals {
            heads: Store::filled(heads as usize, NIL),
        }
    }

    fn chain(&self, message: &Message) -> u32 {
        let name = u64::from(message.source) << 32 | u64::from(message.number);
        (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 & (self.heads.len() as u32 - 1)
    }

    /// The slot of the message that `parcel`'s copy is of; the first time a new one.
    fn find<M: Mode>(&mut self, messages: &mut Pool<Message>, copy: Message) -> u32 {
        let chain = self.chain(&copy);
        let mut at = *self.heads.get(chain);
        while at != NIL {
            let message = messages.get(at);
            if (message.source, message.number) == (copy.source, copy.number) {
                return at;
            }
            at = message.next;
        }
        let slot = messages.take::<M>(Message {
            undelivered: copy.bytes,
            home: Message::EXPECTED,
            next: *self.heads.get(chain),
            ..copy
        });
        *self.heads.edit::<M>(chain) = slot;
        slot
    }

    /// All packets of the message in `slot` are there.
    pub(crate) fn remove<M: Mode>(&mut self, messages: &mut Pool<Message>, slot: u32) {
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

    pub(crate) fn memory(&self) -> usize {
        self.heads.memory()
    }
}

impl Fabric {
    /// Puts `packet`, whose head will be through the pipeline of router `to` at `at`, into the outbox.
    #[cold]
    pub(crate) fn export<M: Mode>(&mut self, packet: u32, to: u32, at: Time) {
        let copy = *self.packets.get(packet);
        self.packets.give::<M>(packet);
        let slot = copy.message;
        let mut message = *self.messages.get(slot);
        if self.flow.links.holds(message.target) {
            message.home = slot;
        } else {
            let kept = self.messages.edit::<M>(slot);
            kept.undelivered -= u64::from(copy.bytes);
            if kept.undelivered == 0 {
                self.messages.give::<M>(slot);
            }
        }
        self.outbox.parcels.push((to, at, Parcel { packet: copy, message }));
    }

    /// Takes in a packet from another part; the event that lets it arrive.
    pub fn receive<M: Mode>(&mut self, parcel: Parcel) -> FabricEvent {
        let Parcel { packet, message: copy } = parcel;
        if packet.header == Header::NONE {
            let buffer = self.flow.links.buffer(packet.buffer);
            return FabricEvent::Flit { buffer };
        }
        if packet.buffer == NIL {
            let rate = u64::from(copy.content[0]) | u64::from(copy.content[1]) << 32;
            let notification = Notification::new(packet.header, copy.target, packet.class, f64::from_bits(rate));
            let notification = self.control.notifications.take::<M>(notification);
            return FabricEvent::Notify { notification };
        }
        let message = if !self.flow.links.holds(copy.target) {
            // On its way through: a copy of the message for this packet alone.
            self.messages.take::<M>(Message {
                undelivered: u64::from(packet.bytes),
                next: NIL,
                ..copy
            })
        } else if copy.home != NIL {
            copy.home
        } else if copy.bytes <= self.params.packet {
            self.messages.take::<M>(Message {
                undelivered: copy.bytes,
                next: NIL,
                ..copy
            })
        } else {
            self.arrivals.find::<M>(&mut self.messages, copy)
        };
        let packet = self.packets.take::<M>(Packet {
            message,
            buffer: self.flow.links.buffer(packet.buffer),
            next: NIL,
            next_waiting: NIL,
            ..packet
        });
        FabricEvent::Arrive { packet }
    }

    /// Takes in a credit or a report from another part that counts from `due` on.
    pub fn accept<E, C>(&mut self, ctx: &mut C, due: Time, token: Token)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        match token.0 {
            Told::Credit { link, flits, owner, vc } => {
                let link = self.flow.links.port(link);
                self.return_credit::<E, C>(ctx, link, vc, (flits, owner), due);
            }
            Told::Report { port, value } => self.board.post::<C>(port, due, value, ctx.settled()),
        }
    }

    /// Gives the space of a packet of `owner` in input buffer `buffer`, of virtual channel `vc`, back to whoever
    /// feeds it, the credit leaving at `leaves`.
    #[inline(always)]
    pub(crate) fn give_back<E, C>(
        &mut self,
        ctx: &mut C,
        buffer: u32,
        vc: u8,
        (flits, owner): (u16, Traffic),
        leaves: Time,
    ) where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        match self.flow.links.feeder(buffer) {
            crate::link::Feeder::Own(link) => {
                let due = leaves + self.flow.links.get(link).credit_delay;
                self.return_credit::<E, C>(ctx, link, vc, (flits, owner), due);
            }
            crate::link::Feeder::Other(link, lp, delay) => {
                let token = Token(Told::Credit { link, flits, owner, vc });
                self.export_credit(lp, leaves + delay, token);
            }
        }
    }

    /// Counts the space of a packet of `owner` for the sender of `link` from `due` on.
    #[inline(always)]
    pub(crate) fn return_credit<E, C>(&mut self, ctx: &mut C, link: u32, vc: u8, space: (u16, Traffic), due: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        if self.params.router == RouterModel::Pipelined {
            return self.return_flit::<E, C>(ctx, link, vc, due);
        }
        self.flow.return_credit::<E, C>(ctx, link, vc, space, due);
        self.load_changes::<E, C>(ctx, link, due);
    }

    /// Counts the space of a flit for the sender of `link` from `due` on.
    #[inline(always)]
    pub(crate) fn return_flit<E, C>(&mut self, ctx: &mut C, link: u32, vc: u8, due: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        self.flow.flits.put::<C>(link, vc, due);
        if link < self.flow.links.ports {
            self.load_changes::<E, C>(ctx, link, due);
            let lp = self.flow.links.get(link).lp;
            self.clocked.credited::<E, C>(ctx, lp, due);
        } else if self.flow.ports.get(link).hungry {
            // Only NICs wait for the credits of one link.
            self.flow.wake::<E, C>(ctx, link, due);
        }
    }

    /// Puts a body flit for `buffer`, by its number in the machine, of router `to` into the outbox; it is there at `at`.
    #[cold]
    pub(crate) fn export_flit(&mut self, to: u32, at: Time, buffer: u32) {
        self.outbox.parcels.push((to, at, Parcel::flit(buffer)));
    }

    /// Puts a credit for router `to` that counts from `due` on into the outbox.
    #[cold]
    fn export_credit(&mut self, to: u32, due: Time, credit: Token) {
        self.outbox.tokens.push((to, due, credit));
    }
}

/// Reads the fields of a value from the front of some bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }
    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take()?))
    }
    fn time(&mut self) -> Option<Time> {
        Some(Time(self.long()?))
    }
    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take()?))
    }
    fn short(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take()?))
    }
    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }
    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Wire for Token {
    fn write(&self, bytes: &mut Vec<u8>) {
        match self.0 {
            Told::Credit { link, flits, owner, vc } => {
                bytes.extend_from_slice(&link.to_le_bytes());
                bytes.extend_from_slice(&flits.to_le_bytes());
                bytes.extend_from_slice(&owner.to_le_bytes());
                bytes.push(vc);
            }
            Told::Report { port, value } => {
                bytes.extend_from_slice(&port.to_le_bytes());
                bytes.extend_from_slice(&value.to_le_bytes());
                bytes.push(Token::REPORT);
            }
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Token> {
        let mut fields = Fields(bytes);
        let (link, flits, owner, vc) = (fields.word()?, fields.short()?, fields.short()?, fields.byte()?);
        *bytes = fields.0;
        Some(Token(match vc {
            Token::REPORT => Told::Report {
                port: link,
                value: u32::from(owner) << 16 | u32::from(flits),
            },
            vc => Told::Credit { link, flits, owner, vc },
        }))
    }
}

impl Wire for Parcel {
    fn write(&self, bytes: &mut Vec<u8>) {
        let Parcel { packet: p, message: m } = self;
        for long in [p.created.0, p.injected.0, p.tail_in.0, m.bytes, m.created.0, m.queued.0] {
            bytes.extend_from_slice(&long.to_le_bytes());
        }
        let words = [
            p.header.target,
            p.header.via,
            p.bytes,
            p.buffer,
            m.source,
            m.target,
            m.number,
            m.home,
        ];
        for word in words.into_iter().chain(m.content) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&p.traffic.to_le_bytes());
        bytes.extend_from_slice(&p.hops.to_le_bytes());
        bytes.extend_from_slice(&p.header.notes.to_le_bytes());
        let Header { via_reached, level, .. } = p.header;
        bytes.extend_from_slice(&[
            p.vc,
            p.class,
            level,
            u8::from(via_reached),
            u8::from(p.marked),
            u8::from(m.notify_sent),
            u8::from(m.notify_arrived),
        ]);
    }

    fn read(bytes: &mut &[u8]) -> Option<Parcel> {
        let mut f = Fields(bytes);
        let (created, injected, tail_in) = (f.time()?, f.time()?, f.time()?);
        let (length, asked, queued) = (f.long()?, f.time()?, f.time()?);
        let (goal, via, size, buffer) = (f.word()?, f.word()?, f.word()?, f.word()?);
        let (source, target, number, home) = (f.word()?, f.word()?, f.word()?, f.word()?);
        let mut content = crate::Content::default();
        for word in &mut content {
            *word = f.word()?;
        }
        let (traffic, hops, notes) = (f.short()?, f.short()?, f.short()?);
        let (vc, class, level) = (f.byte()?, f.byte()?, f.byte()?);
        let header = Header {
            target: goal,
            via,
            via_reached: f.flag()?,
            level,
            notes,
        };
        let marked = f.flag()?;
        let message = Message {
            bytes: length,
            created: asked,
            source,
            target,
            traffic,
            notify_sent: f.flag()?,
            notify_arrived: f.flag()?,
            content,
            queued,
            undelivered: 0,
            number,
            home,
            next: NIL,
        };
        let packet = Packet {
            created,
            injected,
            tail_in,
            header,
            message: NIL,
            bytes: size,
            buffer,
            next: NIL,
            next_waiting: NIL,
            traffic,
            vc,
            class,
            marked,
            hops,
            wants: Wants::default(),
        };
        *bytes = f.0;
        Some(Parcel { packet, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_crosses_a_border_comes_out_as_it_went_in() {
        let mut message = Message::new(7, 9, 1 << 40, 3, Time(5), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        (message.notify_sent, message.undelivered, message.number) = (false, 0, 77);
        let packet = Packet {
            created: Time(1),
            injected: Time(2),
            tail_in: Time(3),
            header: Header {
                target: 9,
                via: 4,
                via_reached: true,
                level: 2,
                notes: 3,
            },
            message: NIL,
            bytes: 4096,
            buffer: 99,
            next: NIL,
            next_waiting: NIL,
            traffic: 3,
            vc: 2,
            class: 5,
            marked: true,
            hops: 6,
            wants: Wants::default(),
        };
        let parcel = Parcel { packet, message };
        let token = Token(Told::Credit {
            link: 5,
            flits: 64,
            owner: 1,
            vc: 3,
        });
        let report = Token::report(77, 0x1234_5678);
        let mut bytes = Vec::new();
        parcel.write(&mut bytes);
        token.write(&mut bytes);
        report.write(&mut bytes);
        let mut rest = &bytes[..];
        assert_eq!(Parcel::read(&mut rest), Some(parcel));
        assert_eq!(Token::read(&mut rest), Some(token));
        assert_eq!(Token::read(&mut rest), Some(report));
        assert!(rest.is_empty());
        for cut in 0..bytes.len() - 18 {
            assert_eq!(Parcel::read(&mut &bytes[..cut]), None);
        }
    }
}
