//! Letters as bytes, for other processes.
//!
//! A record is a byte that says whether it is a parcel (0) or a token (1), the receiver (4 bytes), the time (8), for a parcel
//! the sender and its sequence number (4 each), and what the model [writes](Wire). Numbers are little-endian.

use super::office::Carrier;
use crate::{Key, Lp, Model, Time, Wire};

const PARCEL: u8 = 0;
const TOKEN: u8 = 1;

/// Appends a parcel.
pub(super) fn parcel(bytes: &mut Vec<u8>, lp: Lp, key: Key, parcel: &impl Wire) {
    bytes.push(PARCEL);
    bytes.extend(lp.to_le_bytes());
    bytes.extend(key.time.0.to_le_bytes());
    bytes.extend(key.sender.to_le_bytes());
    bytes.extend(key.sequence.to_le_bytes());
    parcel.write(bytes);
}

/// Appends a token.
pub(super) fn token(bytes: &mut Vec<u8>, lp: Lp, at: Time, token: &impl Wire) {
    bytes.push(TOKEN);
    bytes.extend(lp.to_le_bytes());
    bytes.extend(at.0.to_le_bytes());
    token.write(bytes);
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
/// from when on it can be sent something, if it is here.
///
/// # Errors
/// The first record that is none, or that nobody here can be meant by.
pub(super) fn read_all<M: Model>(
    bytes: &[u8],
    lps: Lp,
    place: impl Fn(Lp) -> Option<(usize, Time)>,
    carrier: &mut impl Carrier<M>,
) -> Result<(), String> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        read::<M>(&mut rest, lps, &place, carrier)
            .ok_or_else(|| format!("byte {at} of {} begins no letter that can come here now", bytes.len()))?;
    }
    Ok(())
}

fn read<M: Model>(
    bytes: &mut &[u8],
    lps: Lp,
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
    match kind {
        PARCEL => {
            let (sender, sequence) = (u32_of(bytes)?, u32_of(bytes)?);
            if sender >= lps {
                return None;
            }
            let key = Key { time, sender, sequence };
            carrier.parcel(part, lp, key, M::Parcel::read(bytes)?);
        }
        TOKEN => carrier.token(part, lp, time, M::Token::read(bytes)?),
        _ => return None,
    }
    Some(())
}
