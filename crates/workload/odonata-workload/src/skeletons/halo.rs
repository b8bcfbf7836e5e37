//! The exchange with neighbors, common to grid codes.

use crate::grid::{Grid, Offset};
use crate::{Comm, OpKind, Request, Source, Tag};

/// Whether the sends are awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sends {
    /// Their requests follow those of the receives.
    Awaited,
    /// They are [`Request::DETACHED`].
    Detached,
}

/// Progress of a rank in one exchange: three words of its cursor.
///
/// Position in the list of directions, which is traversed twice (receives, then sends); numbers of posted receives and
/// sends. Zero before an exchange.
pub(super) type Progress = [u32; 3];

/// The next message of an exchange: an `Irecv` from each existing neighbor, in the order of `directions`, then an
/// `Isend` to each; `None` when all are posted.
///
/// Receives have the requests from 0 up. `directions` holds opposite steps side by side (2 k and 2 k + 1). The tag is
/// the direction of travel, which distinguishes two messages between the same two ranks (extent 2 with wrap-around).
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

/// Waits for the receives of a posted exchange.
pub(super) fn wait_receives([_, received, _]: &Progress) -> OpKind {
    OpKind::WaitAll {
        first: Request(0),
        count: *received,
    }
}

/// Waits for the sends of an exchange posted with [`Sends::Awaited`].
pub(super) fn wait_sends([_, received, sent]: &Progress) -> OpKind {
    OpKind::WaitAll {
        first: Request(*received),
        count: *sent,
    }
}
