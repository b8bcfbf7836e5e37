//! What a message says: the six words that the fabric carries for the hosts.
//!
//! | kind | to | from | words |
//! |---|---|---|---|
//! | `Mpi` | rank | rank | tag, context, sequence number, sender's request |
//! | `Rts` | rank | rank | envelope |
//! | `Cts` | rank | rank | outgoing, incoming |
//! | `Bulk` | rank | rank | incoming, , , sender's request |
//! | `Source` | rank | rank | |
//! | `IoRequest` | server | rank | operation, header |
//! | `Pull` | rank | server | operation, piece, bytes (low, high) |
//! | `Piece` | server | rank | operation, piece |
//! | `Data` | rank | server | operation, piece |
//! | `Respond` | rank | server | operation |
//! | `News` | rank | rank | what (see `jobs`) |
//!
//! Requests, operations, headers and pieces are slots: names that the other side hands back and does
//! not look behind; so are outgoing and incoming messages. Headers and envelopes are the exception: their
//! slot belongs to the message, and passes to the receiver with it, like the slot of the message itself.

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Between two ranks of a program, for a receive or a collective.
    Mpi = 0,
    /// From a synthetic source.
    Source = 1,
    /// A client asks its server to read or write.
    IoRequest = 2,
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
    pub(crate) words: [u32; 4],
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
    pub(crate) fn pack(self) -> [u32; 6] {
        debug_assert!(self.to < MOST_ENDS);
        let [a, b, c, d] = self.words;
        [(self.kind as u32) << TO_BITS | self.to, self.from, a, b, c, d]
    }

    #[inline]
    pub(crate) fn unpack(content: [u32; 6]) -> Letter {
        let [to, from, a, b, c, d] = content;
        let kind = match to >> TO_BITS {
            0 => Kind::Mpi,
            1 => Kind::Source,
            2 => Kind::IoRequest,
            3 => Kind::Pull,
            4 => Kind::Piece,
            5 => Kind::Data,
            6 => Kind::Respond,
            7 => Kind::Rts,
            8 => Kind::Cts,
            9 => Kind::Bulk,
            _ => Kind::News,
        };
        Letter {
            kind,
            to: to & (MOST_ENDS - 1),
            from,
            words: [a, b, c, d],
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
            Kind::IoRequest,
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
                    words: [1, u32::MAX, 3, 4],
                };
                assert_eq!(Letter::unpack(letter.pack()), letter);
            }
        }
    }
}
