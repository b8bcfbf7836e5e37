//! Wire format of remote messages: a byte for the kind, then the fields in little-endian order.

use super::remote::{
    RemoteCredit, RemoteEvent, RemoteFlit, RemoteLoad, RemoteLoss, RemoteNotification, RemotePacket, RemoteUpdate,
};
use crate::flow::{FlowWait, LinkPart};
use crate::message::{Message, Payload};
use crate::packet::{Packet, PacketFlags, VcTerms};
use crate::routing::Header;
use odonata_engine::{NIL, Time, WireFormat};

const PACKET: u8 = 0;
const FLIT: u8 = 1;
const NOTIFICATION: u8 = 2;
const MESSAGE: u8 = 3;
const HANDOVER: u8 = 4;
const SENT: u8 = 5;
const DELIVERED: u8 = 6;
const TAKEN_BY_PACKETS: u8 = 7;
const LEFT_BY_FLOWS: u8 = 8;
const BEHIND_FLOWS: u8 = 9;
const PACKETS_OF: u8 = 10;
const ANNOUNCED: u8 = 11;
const ETHERNET: u8 = 12;
const CHUNK: u8 = 13;

const CREDIT: u8 = 0;
const LOAD: u8 = 1;
const LOSS: u8 = 2;

/// Reads the fields of a value from a byte slice.
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
    fn header(&mut self) -> Option<Header> {
        Some(Header {
            target: self.word()?,
            via: self.word()?,
            notes: self.short()?,
            level: self.byte()?,
            via_reached: self.flag()?,
        })
    }
}

fn write_header(header: Header, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&header.target.to_le_bytes());
    bytes.extend_from_slice(&header.via.to_le_bytes());
    bytes.extend_from_slice(&header.notes.to_le_bytes());
    bytes.extend_from_slice(&[header.level, u8::from(header.via_reached)]);
}

impl WireFormat for RemoteUpdate {
    fn write(&self, bytes: &mut Vec<u8>) {
        match *self {
            RemoteUpdate::Credit(RemoteCredit { link, flits, owner, vc }) => {
                bytes.push(CREDIT);
                bytes.extend_from_slice(&link.to_le_bytes());
                bytes.extend_from_slice(&flits.to_le_bytes());
                bytes.extend_from_slice(&owner.to_le_bytes());
                bytes.push(vc);
            }
            RemoteUpdate::Load(RemoteLoad { port, value }) => {
                bytes.push(LOAD);
                bytes.extend_from_slice(&port.to_le_bytes());
                bytes.extend_from_slice(&value.to_le_bytes());
            }
            RemoteUpdate::Loss(RemoteLoss {
                source,
                number,
                created,
                culprit,
                kind,
                place,
                time,
            }) => {
                bytes.push(LOSS);
                bytes.extend_from_slice(&source.to_le_bytes());
                bytes.extend_from_slice(&number.to_le_bytes());
                bytes.extend_from_slice(&created.0.to_le_bytes());
                bytes.extend_from_slice(&culprit.to_le_bytes());
                bytes.push(kind);
                bytes.extend_from_slice(&place.to_le_bytes());
                bytes.extend_from_slice(&time.0.to_le_bytes());
            }
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<RemoteUpdate> {
        let mut f = Fields(bytes);
        let update = match f.byte()? {
            CREDIT => RemoteUpdate::Credit(RemoteCredit {
                link: f.word()?,
                flits: f.short()?,
                owner: f.short()?,
                vc: f.byte()?,
            }),
            LOAD => RemoteUpdate::Load(RemoteLoad {
                port: f.word()?,
                value: f.word()?,
            }),
            LOSS => RemoteUpdate::Loss(RemoteLoss {
                source: f.word()?,
                number: f.word()?,
                created: f.time()?,
                culprit: f.short()?,
                kind: f.byte()?,
                place: f.word()?,
                time: f.time()?,
            }),
            _ => return None,
        };
        *bytes = f.0;
        Some(update)
    }
}

impl<P: Payload> WireFormat for RemoteEvent<P> {
    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            RemoteEvent::Packet(remote) => {
                bytes.push(PACKET);
                remote.write(bytes);
            }
            RemoteEvent::Flit(RemoteFlit { buffer }) => {
                bytes.push(FLIT);
                bytes.extend_from_slice(&buffer.to_le_bytes());
            }
            RemoteEvent::Notification(remote) => {
                bytes.push(NOTIFICATION);
                write_header(remote.header, bytes);
                bytes.extend_from_slice(&remote.about.to_le_bytes());
                bytes.push(remote.class);
                odonata_engine::write_compact(&remote.advice, bytes);
            }
            RemoteEvent::Message(message) => {
                bytes.push(MESSAGE);
                write_message(message, bytes);
            }
            RemoteEvent::Handover(message) => {
                bytes.push(HANDOVER);
                bytes.extend_from_slice(&message.home.to_le_bytes());
                write_message(message, bytes);
            }
            RemoteEvent::Sent(message) => {
                bytes.push(SENT);
                bytes.extend_from_slice(&message.to_le_bytes());
            }
            RemoteEvent::Announced(message) => {
                bytes.push(ANNOUNCED);
                bytes.extend_from_slice(&message.number.to_le_bytes());
                write_message(message, bytes);
            }
            RemoteEvent::Ethernet(remote) => {
                bytes.push(ETHERNET);
                odonata_engine::write_compact(remote, bytes);
            }
            RemoteEvent::Chunk(chunk) => {
                bytes.push(CHUNK);
                odonata_engine::write_compact(chunk, bytes);
            }
            RemoteEvent::Delivered(message) => {
                bytes.push(DELIVERED);
                write_message(message, bytes);
            }
            RemoteEvent::TakenByPackets(part) => {
                bytes.push(TAKEN_BY_PACKETS);
                write_part(part, bytes);
            }
            RemoteEvent::PacketsOf(link, owner) => {
                bytes.push(PACKETS_OF);
                bytes.extend_from_slice(&link.to_le_bytes());
                bytes.extend_from_slice(&owner.to_le_bytes());
            }
            RemoteEvent::LeftByFlows(part) => {
                bytes.push(LEFT_BY_FLOWS);
                write_part(part, bytes);
            }
            RemoteEvent::BehindFlows(of) => {
                bytes.push(BEHIND_FLOWS);
                bytes.extend_from_slice(&of.port.to_le_bytes());
                bytes.extend_from_slice(&of.wait.to_le_bytes());
                bytes.extend_from_slice(&of.output.to_le_bytes());
                bytes.push(of.level);
            }
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<RemoteEvent<P>> {
        let mut f = Fields(bytes);
        let event = match f.byte()? {
            PACKET => RemoteEvent::Packet(RemotePacket::read(&mut f)?),
            FLIT => RemoteEvent::Flit(RemoteFlit { buffer: f.word()? }),
            NOTIFICATION => RemoteEvent::Notification(RemoteNotification {
                header: f.header()?,
                about: f.word()?,
                class: f.byte()?,
                advice: odonata_engine::read_compact(&mut f.0)?,
            }),
            MESSAGE => RemoteEvent::Message(read_message(&mut f)?),
            HANDOVER => {
                let home = f.word()?;
                let message = read_message(&mut f)?;
                RemoteEvent::Handover(Message { home, ..message })
            }
            SENT => RemoteEvent::Sent(f.word()?),
            ANNOUNCED => {
                let number = f.word()?;
                let message = read_message(&mut f)?;
                RemoteEvent::Announced(Message { number, ..message })
            }
            ETHERNET => RemoteEvent::Ethernet(odonata_engine::read_compact(&mut f.0)?),
            CHUNK => RemoteEvent::Chunk(odonata_engine::read_compact(&mut f.0)?),
            DELIVERED => RemoteEvent::Delivered(read_message(&mut f)?),
            TAKEN_BY_PACKETS => RemoteEvent::TakenByPackets(read_part(&mut f)?),
            PACKETS_OF => RemoteEvent::PacketsOf(f.word()?, f.short()?),
            LEFT_BY_FLOWS => RemoteEvent::LeftByFlows(read_part(&mut f)?),
            BEHIND_FLOWS => RemoteEvent::BehindFlows(FlowWait {
                port: f.word()?,
                wait: f.word()?,
                output: f.short()?,
                level: f.byte()?,
            }),
            _ => return None,
        };
        *bytes = f.0;
        Some(event)
    }
}

fn write_part(of: &LinkPart, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&of.link.to_le_bytes());
    bytes.extend_from_slice(&of.part.to_le_bytes());
    bytes.extend_from_slice(&of.note.to_le_bytes());
}

fn read_part(f: &mut Fields<'_>) -> Option<LinkPart> {
    Some(LinkPart {
        link: f.word()?,
        part: f.word()?,
        note: f.short()?,
    })
}

/// A message without packets.
fn write_message<P: Payload>(m: &Message<P>, bytes: &mut Vec<u8>) {
    for long in [m.bytes, m.created.0, m.queued.0] {
        bytes.extend_from_slice(&long.to_le_bytes());
    }
    for word in [m.source, m.target] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&m.traffic.to_le_bytes());
    bytes.extend_from_slice(&[m.notify_sent, m.notify_arrived].map(u8::from));
    bytes.push(m.stripes);
    m.content.write(bytes);
}

fn read_message<P: Payload>(f: &mut Fields<'_>) -> Option<Message<P>> {
    Some(Message {
        bytes: f.long()?,
        created: f.time()?,
        queued: f.time()?,
        source: f.word()?,
        target: f.word()?,
        traffic: f.short()?,
        notify_sent: f.flag()?,
        notify_arrived: f.flag()?,
        stripes: f.byte()?,
        content: P::read(&mut f.0)?,
        undelivered: 0,
        arrival: Time::ZERO,
        number: 0,
        is_control: false,
        home: NIL,
        next: NIL,
    })
}

impl<P: Payload> RemotePacket<P> {
    fn write(&self, bytes: &mut Vec<u8>) {
        let RemotePacket { packet: p, message: m } = self;
        for long in [p.created.0, p.injected.0, p.tail_in.0, m.bytes, m.created.0, m.queued.0] {
            bytes.extend_from_slice(&long.to_le_bytes());
        }
        for word in [p.bytes, p.buffer, m.source, m.target, m.number, m.home] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&p.traffic.to_le_bytes());
        bytes.extend_from_slice(&p.hops.to_le_bytes());
        write_header(p.header, bytes);
        let flags = [m.notify_sent, m.notify_arrived].map(u8::from);
        bytes.extend_from_slice(&[p.vc, p.class, p.flags.byte()]);
        bytes.extend_from_slice(&flags);
        bytes.push(m.stripes);
        m.content.write(bytes);
    }

    fn read(f: &mut Fields<'_>) -> Option<RemotePacket<P>> {
        let (created, injected, tail_in) = (f.time()?, f.time()?, f.time()?);
        let (length, asked, queued) = (f.long()?, f.time()?, f.time()?);
        let (size, buffer) = (f.word()?, f.word()?);
        let (source, target, number, home) = (f.word()?, f.word()?, f.word()?, f.word()?);
        let (traffic, hops) = (f.short()?, f.short()?);
        let header = f.header()?;
        let (vc, class, flags) = (f.byte()?, f.byte()?, PacketFlags::of_byte(f.byte()?)?);
        let message = Message {
            bytes: length,
            created: asked,
            source,
            target,
            traffic,
            notify_sent: f.flag()?,
            notify_arrived: f.flag()?,
            stripes: f.byte()?,
            content: P::read(&mut f.0)?,
            queued,
            undelivered: 0,
            arrival: Time::ZERO,
            number,
            // Its NIC has sent it.
            is_control: false,
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
            flags,
            hops,
            terms: VcTerms::default(),
        };
        Some(RemotePacket { packet, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Advice;

    fn remote_events() -> [RemoteEvent<[u32; 9]>; 11] {
        let part = LinkPart {
            link: 4_000_000_000,
            part: 1 << 31,
            note: 0x8003,
        };
        let header = Header {
            target: 9,
            via: 4,
            via_reached: true,
            level: 2,
            notes: 3,
        };
        let mut message = Message::new(7, 9, 1 << 40, 3, Time(5), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        (message.notify_sent, message.undelivered, message.number) = (false, 0, 77);
        message.stripes = 4;
        let packet = Packet {
            created: Time(1),
            injected: Time(2),
            tail_in: Time(3),
            header,
            message: NIL,
            bytes: 4096,
            buffer: 99,
            next: NIL,
            next_waiting: NIL,
            traffic: 3,
            vc: 2,
            class: 5,
            flags: PacketFlags::new(true),
            hops: 6,
            terms: VcTerms::default(),
        };
        let notification = RemoteNotification {
            header,
            about: 12,
            class: 1,
            advice: Advice::Rate(0.125),
        };
        [
            RemoteEvent::Packet(RemotePacket { packet, message }),
            RemoteEvent::Flit(RemoteFlit { buffer: 31 }),
            RemoteEvent::Notification(notification),
            RemoteEvent::Message(Message { number: 0, ..message }),
            RemoteEvent::Handover(Message {
                number: 0,
                home: 12,
                ..message
            }),
            RemoteEvent::Sent(13),
            RemoteEvent::Delivered(Message { number: 0, ..message }),
            RemoteEvent::TakenByPackets(part),
            RemoteEvent::PacketsOf(7, 3),
            RemoteEvent::LeftByFlows(part),
            RemoteEvent::BehindFlows(FlowWait {
                port: 4_000_000_000,
                wait: 3_000_000_000,
                output: 40_000,
                level: 5,
            }),
        ]
    }

    fn remote_updates() -> [RemoteUpdate; 3] {
        [
            RemoteUpdate::Credit(RemoteCredit {
                link: 5,
                flits: 64,
                owner: 1,
                vc: 3,
            }),
            RemoteUpdate::Load(RemoteLoad {
                port: 77,
                value: 0x1234_5678,
            }),
            RemoteUpdate::Loss(RemoteLoss {
                source: 5,
                number: 6,
                created: Time(7),
                culprit: 8,
                kind: 2,
                place: 10,
                time: Time(9),
            }),
        ]
    }

    /// Values written in sequence read back equal; truncated or unknown input is refused.
    fn assert_round_trip<W: WireFormat>(values: &[W]) {
        let mut bytes = Vec::new();
        for value in values {
            let start = bytes.len();
            value.write(&mut bytes);
            let own = bytes[start..].to_vec();
            for cut in 0..own.len() {
                assert_eq!(W::read(&mut &own[..cut]), None, "{cut} bytes of {value:?}");
            }
            let unknown: Vec<u8> = std::iter::once(0xff).chain(own[1..].iter().copied()).collect();
            assert_eq!(W::read(&mut &unknown[..]), None, "an unknown kind of {value:?}");
        }
        let mut rest = &bytes[..];
        for value in values {
            assert_eq!(W::read(&mut rest), Some(*value));
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn remote_messages_survive_the_wire() {
        assert_round_trip(&remote_events());
        assert_round_trip(&remote_updates());
    }
}
