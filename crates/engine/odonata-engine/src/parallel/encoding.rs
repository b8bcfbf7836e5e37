//! The wire format of messages between processes.
//!
//! A record begins with a byte that gives its kind: remote event (0), remote update (1), anti-message of a remote event
//! (2) or of a remote update (3). Then follow the receiver (4 bytes) and the time (8). Remote events and their
//! anti-messages have the sender and its sequence number (4 bytes each). The content in the [`WireFormat`] of the model
//! comes last; an anti-message of a remote event has none. Numbers are little-endian.

use super::message_router::MessageSink;
use super::messages::{AntiMessage, Message, Messages};
use crate::{Key, Lp, Model, Time, WireFormat};

const EVENT: u8 = 0;
const UPDATE: u8 = 1;
const ANTI_EVENT: u8 = 2;
const ANTI_UPDATE: u8 = 3;

fn head(bytes: &mut Vec<u8>, kind: u8, lp: Lp, time: Time) {
    bytes.push(kind);
    bytes.extend(lp.to_le_bytes());
    bytes.extend(time.0.to_le_bytes());
}

fn sender(bytes: &mut Vec<u8>, key: Key) {
    bytes.extend(key.sender.to_le_bytes());
    bytes.extend(key.sequence.to_le_bytes());
}

/// Appends a remote event.
pub(super) fn event(bytes: &mut Vec<u8>, lp: Lp, key: Key, event: &impl WireFormat) {
    head(bytes, EVENT, lp, key.time);
    sender(bytes, key);
    event.write(bytes);
}

/// Appends a remote update.
pub(super) fn update(bytes: &mut Vec<u8>, lp: Lp, at: Time, update: &impl WireFormat) {
    head(bytes, UPDATE, lp, at);
    update.write(bytes);
}

/// Appends an anti-message.
pub(super) fn anti_message(bytes: &mut Vec<u8>, anti_message: &AntiMessage<impl WireFormat>) {
    match anti_message {
        AntiMessage::Event(lp, key) => {
            head(bytes, ANTI_EVENT, *lp, key.time);
            sender(bytes, *key);
        }
        AntiMessage::Update(lp, at, update) => {
            head(bytes, ANTI_UPDATE, *lp, *at);
            update.write(bytes);
        }
    }
}

/// Appends all `messages`, each anti-message after the message it cancels, and clears them.
pub(super) fn all<E: WireFormat, U: WireFormat>(bytes: &mut Vec<u8>, messages: &mut Messages<E, U>) {
    messages.in_order(|sent| match sent {
        Message::Event(lp, key, content) => event(bytes, lp, key, &content),
        Message::Update(lp, at, content) => update(bytes, lp, at, &content),
        Message::AntiMessage(what) => anti_message(bytes, &what),
    });
}

fn u32_of(bytes: &mut &[u8]) -> Option<u32> {
    let (word, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*word))
}

fn time_of(bytes: &mut &[u8]) -> Option<Time> {
    let (word, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(Time(u64::from_le_bytes(*word)))
}

/// Decodes all records of `bytes` and sends them to `sink`, for a model of `lps` LPs. `place` returns the part of a
/// receiver in this process and the earliest allowed time of a message for it. `anti_messages`: whether anti-messages
/// are allowed.
///
/// # Errors
/// The first record that is malformed, late, or for an LP of another process.
pub(super) fn read_all<M: Model>(
    bytes: &[u8],
    lps: Lp,
    anti_messages: bool,
    place: impl Fn(Lp) -> Option<(usize, Time)>,
    sink: &mut impl MessageSink<M>,
) -> Result<(), String> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        read::<M>(&mut rest, lps, anti_messages, &place, sink)
            .ok_or_else(|| format!("byte {at} of {} begins no message that can come here now", bytes.len()))?;
    }
    Ok(())
}

fn read<M: Model>(
    bytes: &mut &[u8],
    lps: Lp,
    anti_messages: bool,
    place: impl Fn(Lp) -> Option<(usize, Time)>,
    sink: &mut impl MessageSink<M>,
) -> Option<()> {
    let (&kind, rest) = bytes.split_first()?;
    *bytes = rest;
    let (lp, time) = (u32_of(bytes)?, time_of(bytes)?);
    let (part, done) = place(lp)?;
    if time < done {
        return None;
    }
    let key = |bytes: &mut &[u8]| {
        let (sender, sequence) = (u32_of(bytes)?, u32_of(bytes)?);
        (sender < lps).then_some(Key { time, sender, sequence })
    };
    match kind {
        EVENT => sink.event(part, lp, key(bytes)?, M::RemoteEvent::read(bytes)?),
        UPDATE => sink.update(part, lp, time, M::RemoteUpdate::read(bytes)?),
        ANTI_EVENT if anti_messages => sink.anti_message(part, AntiMessage::Event(lp, key(bytes)?)),
        ANTI_UPDATE if anti_messages => {
            sink.anti_message(part, AntiMessage::Update(lp, time, M::RemoteUpdate::read(bytes)?))
        }
        _ => return None,
    }
    Some(())
}
