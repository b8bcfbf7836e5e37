//! What a message says: the words that the fabric carries for the hosts.
//!
//! | kind | to | from | words |
//! |---|---|---|---|
//! | `Mpi` | rank | rank | tag, context, sequence number, sender's request |
//! | `Rts` | rank | rank | tag, context, sequence number, outgoing, bytes (low, high) |
//! | `Cts` | rank | rank | outgoing, incoming |
//! | `Bulk` | rank | rank | incoming, , , sender's request |
//! | `Source` | rank | rank | |
//! | `ReadRequest`, `WriteRequest` | server | rank | operation, file (low, high), offset (low, high), bytes (low, high) |
//! | `Pull` | rank | server | operation, piece, bytes (low, high) |
//! | `Piece` | server | rank | operation, piece |
//! | `Data` | rank | server | operation, piece |
//! | `Respond` | rank | server | operation |
//! | `News` | rank | rank | what (see `jobs`) |
//!
//! Requests, operations and pieces are slots: names that the other side hands back and does
//! not look behind; so are outgoing and incoming messages. All else travels in the words themselves, so that a
//! message can go from part to part.

use odonata_network::Content;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Between two ranks of a program, for a receive or a collective.
    Mpi = 0,
    /// From a synthetic source.
    Source = 1,
    /// A client asks its server to read.
    ReadRequest = 2,
    /// A server asks a client for a piece of what it writes.
    Pull = 3,
    /// The piece.
    Piece = 4,
    /// A piece of what a client reads.
    Data = 5,
    /// A server has served a request.
    Respond = 6,
    /// A rank asks another to take a message (ready to send).
    Rts = 7,
    /// The other has a receive for it (clear to send).
    Cts = 8,
    /// The message.
    Bulk = 9,
    /// A client asks its server to write.
    WriteRequest = 10,
    /// A job has ended, may start, or shall stop.
    News = 15,
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) kind: Kind,
    /// Receiver: a rank counted over all jobs, or a server; below 2^28.
    pub(crate) to: u32,
    /// Sender, likewise.
    pub(crate) from: u32,
    pub(crate) words: Words,
}

/// What a letter says, by its kind.
pub(crate) type Words = [u32; 7];

/// The words `said`, and nothing more.
pub(crate) fn words(said: &[u32]) -> Words {
    let mut words = [0; 7];
    words[..said.len()].copy_from_slice(said);
    words
}

/// A number as two words, and back.
pub(crate) fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

pub(crate) fn whole(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Bits of the receiver's number.
const TO_BITS: u32 = 28;

/// The most ranks of a machine, and the most servers.
pub(crate) const MOST_ENDS: u32 = 1 << TO_BITS;

impl Kind {
    /// Whether it goes from rank to rank on behalf of MPI.
    pub(crate) fn is_mpi(self) -> bool {
        matches!(self, Kind::Mpi | Kind::Rts | Kind::Cts | Kind::Bulk)
    }

    /// Whether it carries no data of a program, but keeps the protocol of MPI going or tells of jobs.
    pub(crate) fn is_control(self) -> bool {
        matches!(self, Kind::Rts | Kind::Cts | Kind::News)
    }
}

impl Letter {
    #[inline]
    pub(crate) fn pack(self) -> Content {
        debug_assert!(self.to < MOST_ENDS);
        let [a, b, c, d, e, f, g] = self.words;
        let head = (self.kind as u32) << TO_BITS | self.to;
        [head, self.from, a, b, c, d, e, f, g]
    }

    #[inline]
    pub(crate) fn unpack(content: Content) -> Letter {
        let [to, from, words @ ..] = content;
        let kind = match to >> TO_BITS {
            0 => Kind::Mpi,
            1 => Kind::Source,
            2 => Kind::ReadRequest,
            3 => Kind::Pull,
            4 => Kind::Piece,
            5 => Kind::Data,
            6 => Kind::Respond,
            7 => Kind::Rts,
            8 => Kind::Cts,
            9 => Kind::Bulk,
            10 => Kind::WriteRequest,
            _ => Kind::News,
        };
        Letter {
            kind,
            to: to & (MOST_ENDS - 1),
            from,
            words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_out_as_they_went_in() {
        let kinds = [
            Kind::Mpi,
            Kind::Source,
            Kind::ReadRequest,
            Kind::WriteRequest,
            Kind::Pull,
            Kind::Piece,
            Kind::Data,
            Kind::Respond,
            Kind::News,
            Kind::Rts,
            Kind::Cts,
            Kind::Bulk,
        ];
        for kind in kinds {
            for to in [0, 5, MOST_ENDS - 1] {
                let letter = Letter {
                    kind,
                    to,
                    from: u32::MAX,
                    words: [1, u32::MAX, 3, 4, 5, 6, 7],
                };
                assert_eq!(Letter::unpack(letter.pack()), letter);
            }
        }
    }
}
