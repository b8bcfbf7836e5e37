//! The exchange with neighbors that the grid codes share.

use crate::grid::{Grid, Offset};
use crate::{Comm, OpKind, Request, Source, Tag};

/// Whether anybody waits for the sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sends {
    /// They get the requests after those of the receives.
    Awaited,
    /// They are [`Request::DETACHED`].
    Detached,
}

/// How far a rank is in one exchange: three words of its cursor.
///
/// Position in the list of directions, which is gone through twice (receives, then sends); how
/// many receives and how many sends have been posted. All zero before an exchange.
pub(super) type Progress = [u32; 3];

/// The next message of an exchange: an `Irecv` from each neighbor that exists, in the order of
/// `directions`, then an `Isend` to each; `None` when all are posted.
///
/// Receives have the requests from 0 up. `directions` holds opposite steps side by side (2 k and
/// 2 k + 1); the tag is the direction in which the message travels, so that two messages between
/// the same two ranks (extent 2 with wrap-around) cannot be taken for each other.
pub(super) fn next(
    grid: &Grid,
    directions: &[Offset],
    rank: u32,
    [position, received, sent]: &mut Progress,
    bytes: impl Fn(u32) -> u64,
    sends: Sends,
) -> Option<OpKind> {
    let count = directions.len() as u32;
    let comm = Comm::WORLD;
    while *position < 2 * count {
        let sending = *position >= count;
        let direction = *position % count;
        *position += 1;
        let Some(peer) = grid.neighbour(rank, &directions[direction as usize]) else {
            continue;
        };
        let bytes = bytes(direction);
        if sending {
            let request = if sends == Sends::Awaited {
                Request(*received + *sent)
            } else {
                Request::DETACHED
            };
            *sent += 1;
            return Some(OpKind::Isend {
                to: peer,
                tag: direction,
                bytes,
                comm,
                request,
            });
        }
        let request = Request(*received);
        *received += 1;
        return Some(OpKind::Irecv {
            from: Source::Rank(peer),
            tag: Tag::Is(direction ^ 1),
            bytes,
            comm,
            request,
        });
    }
    None
}

/// Waits for the receives of an exchange that has been posted.
pub(super) fn wait_receives([_, received, _]: &Progress) -> OpKind {
    OpKind::WaitAll {
        first: Request(0),
        count: *received,
    }
}

/// Waits for the sends of an exchange that has been posted with [`Sends::Awaited`].
pub(super) fn wait_sends([_, received, sent]: &Progress) -> OpKind {
    OpKind::WaitAll {
        first: Request(*received),
        count: *sent,
    }
}
