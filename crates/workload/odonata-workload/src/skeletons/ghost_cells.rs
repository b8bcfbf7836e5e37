//! The exchange of ghost cells between boxes, common to block-structured codes.

use super::boxes::{Boxes, Neighbour, STEPS};
use crate::{Comm, OpKind, Request, Source, Tag};

/// Progress of a rank in one exchange: position in the steps, which are traversed twice (receives, then sends), and
/// number of posted messages. Zero before an exchange.
pub(super) type Progress = [u32; 2];

/// The next operation of an exchange: an `Irecv` from each neighbor with nonzero `bytes`, an `Isend` to each, and a
/// `WaitAll` if there were any; `None` when done, with `progress` reset.
///
/// `bytes` returns the size across step number `step` in either direction, to or from this neighbor; 0 means no
/// message. The tag is the step in which the message travels.
pub(super) fn next(
    boxes: &Boxes,
    periodic: bool,
    rank: u32,
    progress: &mut Progress,
    bytes: impl Fn(u32, Neighbour) -> u64,
) -> Option<OpKind> {
    const STEP_COUNT: u32 = STEPS.len() as u32;
    let [position, posted] = progress;
    while *position < 2 * STEP_COUNT {
        let step = *position % STEP_COUNT;
        let sending = *position >= STEP_COUNT;
        *position += 1;
        let Some(there) = boxes.neighbour(rank, STEPS[step as usize], periodic) else {
            continue;
        };
        let bytes = bytes(step, there);
        if bytes == 0 {
            continue;
        }
        let request = Request(*posted);
        *posted += 1;
        let comm = Comm::WORLD;
        return Some(if sending {
            OpKind::Isend {
                to: there.rank,
                tag: step,
                bytes,
                comm,
                request,
            }
        } else {
            OpKind::Irecv {
                from: Source::Rank(there.rank),
                tag: Tag::Is(step ^ 1),
                bytes,
                comm,
                request,
            }
        });
    }
    let count = *posted;
    if *position == 2 * STEP_COUNT && count > 0 {
        *position += 1;
        return Some(OpKind::WaitAll {
            first: Request(0),
            count,
        });
    }
    *progress = Progress::default();
    None
}

/// Maximum number of operations of an exchange.
pub(super) const MOST_OPERATIONS: u64 = 2 * STEPS.len() as u64 + 1;
