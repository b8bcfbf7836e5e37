//! Letters as bytes, for other processes.
//!
//! A record is a byte that says whether it is a parcel (0), a token (1), or takes back a parcel (2) or a token (3); the
//! receiver (4 bytes), the time (8), for parcels the sender and its sequence number (4 each), and what the model
//! [writes](Wire), unless a parcel is taken back. Numbers are little-endian.

use super::letters::{Letters, Recall, Sent};
use super::office::Carrier;
use crate::{Key, Lp, Model, Time, Wire};

const PARCEL: u8 = 0;
const TOKEN: u8 = 1;
const NO_PARCEL: u8 = 2;
const NO_TOKEN: u8 = 3;

fn head(bytes: &mut Vec<u8>, kind: u8, lp: Lp, time: Time) {
    bytes.push(kind);
    bytes.extend(lp.to_le_bytes());
    bytes.extend(time.0.to_le_bytes());
}

fn sender(bytes: &mut Vec<u8>, key: Key) {
    bytes.extend(key.sender.to_le_bytes());
    bytes.extend(key.sequence.to_le_bytes());
}

/// Appends a parcel.
pub(super) fn parcel(bytes: &mut Vec<u8>, lp: Lp, key: Key, parcel: &impl Wire) {
    head(bytes, PARCEL, lp, key.time);
    sender(bytes, key);
    parcel.write(bytes);
}

/// Appends a token.
pub(super) fn token(bytes: &mut Vec<u8>, lp: Lp, at: Time, token: &impl Wire) {
    head(bytes, TOKEN, lp, at);
    token.write(bytes);
}

/// Appends a recall.
pub(super) fn recall(bytes: &mut Vec<u8>, recall: &Recall<impl Wire>) {
    match recall {
        Recall::Parcel(lp, key) => {
            head(bytes, NO_PARCEL, *lp, key.time);
            sender(bytes, *key);
        }
        Recall::Token(lp, at, token) => {
            head(bytes, NO_TOKEN, *lp, *at);
            token.write(bytes);
        }
    }
}

/// Appends all `letters`, each recall behind what was sent before it, and leaves them empty.
pub(super) fn all<P: Wire, T: Wire>(bytes: &mut Vec<u8>, letters: &mut Letters<P, T>) {
    letters.in_order(|sent| match sent {
        Sent::Parcel(lp, key, content) => parcel(bytes, lp, key, &content),
        Sent::Token(lp, at, content) => token(bytes, lp, at, &content),
        Sent::Recall(what) => recall(bytes, &what),
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

/// Hands all records of `bytes` to `carrier`, for a model of `lps` LPs. `place` says in which part a receiver is, and
/// from when on it can be sent something, if it is here; `recalls`, whether something may be taken back.
///
/// # Errors
/// The first record that is none, or that nobody here can be meant by.
pub(super) fn read_all<M: Model>(
    bytes: &[u8],
    lps: Lp,
    recalls: bool,
    place: impl Fn(Lp) -> Option<(usize, Time)>,
    carrier: &mut impl Carrier<M>,
) -> Result<(), String> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        read::<M>(&mut rest, lps, recalls, &place, carrier)
            .ok_or_else(|| format!("byte {at} of {} begins no letter that can come here now", bytes.len()))?;
    }
    Ok(())
}

fn read<M: Model>(
    bytes: &mut &[u8],
    lps: Lp,
    recalls: bool,
    place: impl Fn(Lp) -> Option<(usize, Time)>,
    carrier: &mut impl Carrier<M>,
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
        PARCEL => carrier.parcel(part, lp, key(bytes)?, M::Parcel::read(bytes)?),
        TOKEN => carrier.token(part, lp, time, M::Token::read(bytes)?),
        NO_PARCEL if recalls => carrier.recall(part, Recall::Parcel(lp, key(bytes)?)),
        NO_TOKEN if recalls => carrier.recall(part, Recall::Token(lp, time, M::Token::read(bytes)?)),
        _ => return None,
    }
    Some(())
}
