//! Shared loss vectors: most packets, links and credits of a message have lost nothing, or the same.
//!
//! A [`Vector`] is a number; 0 is the empty vector, so the common case costs a comparison. Vectors are immutable and
//! reference-counted: [`share`](Vectors::share) adds a user, [`release`](Vectors::release) removes one, and the last
//! release frees the vector.

use super::{Kind, Loss, LostAt, Origin, total};
use crate::Owner;
use odonata_engine::{Mode, NIL, Pool, Time};

/// A handle of losses with an origin in [`Vectors`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Vector(u32);

impl Vector {
    /// No losses, no origin.
    pub const EMPTY: Vector = Vector(0);

    /// Whether it is the empty vector.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The handle as three bytes; `None` if its number is too large.
    #[inline(always)]
    pub fn packed(self) -> Option<[u8; 3]> {
        let [a, b, c, rest] = self.0.to_le_bytes();
        (rest == 0).then_some([a, b, c])
    }

    /// The handle of these bytes.
    #[inline(always)]
    pub fn unpacked([a, b, c]: [u8; 3]) -> Vector {
        Vector(u32::from_le_bytes([a, b, c, 0]))
    }
}

/// Losses in a chunk of two cache lines; few vectors have more.
const LOSSES: usize = 6;

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
struct Chunk {
    /// Unused entries have a time of zero.
    losses: [Loss; LOSSES],
    /// Sum over all chunks; in the first chunk.
    total: Time,
    origin: Origin,
    /// Reference count; in the first chunk.
    users: u32,
    next: u32,
}

const _: () = assert!(size_of::<Chunk>() == 128);

odonata_engine::slots!(Chunk);

const NOTHING: Loss = Loss {
    culprit: Owner::MAX,
    kind: Kind::Link,
    place: LostAt::NOWHERE,
    time: Time::ZERO,
};

/// Many vectors.
#[derive(Debug, Default)]
pub struct Vectors {
    chunks: Pool<Chunk>,
}
odonata_engine::journalled!(Vectors { chunks });

impl Vectors {
    /// None yet.
    pub fn new() -> Vectors {
        Vectors { chunks: Pool::new() }
    }

    /// Stores `losses` with their origin, for one user.
    pub fn keep<M: Mode>(&mut self, origin: Origin, losses: &[Loss]) -> Vector {
        if losses.is_empty() && origin == Origin::NONE {
            return Vector::EMPTY;
        }
        let mut chunk = Chunk {
            losses: [NOTHING; LOSSES],
            total: total(losses),
            origin,
            users: 1,
            next: NIL,
        };
        let (first, more) = losses.split_at(losses.len().min(LOSSES));
        if !more.is_empty() {
            chunk.next = self.keep_more::<M>(more);
        }
        chunk.losses[..first.len()].copy_from_slice(first);
        Vector(self.chunks.allocate::<M>(chunk) + 1)
    }

    /// Stores the losses after the first chunk; returns the next chunk.
    #[inline(never)]
    fn keep_more<M: Mode>(&mut self, losses: &[Loss]) -> u32 {
        let mut next = NIL;
        for part in losses.chunks(LOSSES).rev() {
            let mut chunk = Chunk {
                losses: [NOTHING; LOSSES],
                total: Time::ZERO,
                origin: Origin::NONE,
                users: 1,
                next,
            };
            chunk.losses[..part.len()].copy_from_slice(part);
            next = self.chunks.allocate::<M>(chunk);
        }
        next
    }

    /// Adds a user of `vector`.
    #[inline]
    pub fn share<M: Mode>(&mut self, vector: Vector) -> Vector {
        if !vector.is_empty() {
            self.chunks.edit::<M>(vector.0 - 1).users += 1;
        }
        vector
    }

    /// Removes a user of `vector`.
    #[inline]
    pub fn release<M: Mode>(&mut self, vector: Vector) {
        if !vector.is_empty() {
            self.release_some::<M>(vector.0 - 1);
        }
    }

    fn release_some<M: Mode>(&mut self, first: u32) {
        let chunk = self.chunks.edit::<M>(first);
        chunk.users -= 1;
        if chunk.users > 0 {
            return;
        }
        let mut at = first;
        while at != NIL {
            let next = self.chunks.get(at).next;
            self.chunks.free::<M>(at);
            at = next;
        }
    }

    /// The losses of `vector`, in stored order.
    pub fn losses(&self, vector: Vector) -> impl Iterator<Item = Loss> + '_ {
        let mut at = vector.0.wrapping_sub(1);
        let chunks = std::iter::from_fn(move || {
            if at == NIL {
                return None;
            }
            let chunk = self.chunks.get(at);
            at = chunk.next;
            Some(&chunk.losses)
        });
        chunks.flatten().copied().take_while(|loss| loss.time > Time::ZERO)
    }

    /// Replaces the contents of `losses` by the losses of `vector`.
    pub fn read(&self, vector: Vector, losses: &mut Vec<Loss>) {
        losses.clear();
        self.append(vector, losses);
    }

    /// Appends the losses of `vector` to `losses`.
    pub fn append(&self, vector: Vector, losses: &mut Vec<Loss>) {
        let mut at = vector.0.wrapping_sub(1);
        while at != NIL {
            let chunk = self.chunks.get(at);
            // All chunks except the last are full.
            let len = match chunk.next {
                NIL => chunk.losses.iter().take_while(|loss| loss.time > Time::ZERO).count(),
                _ => LOSSES,
            };
            losses.extend_from_slice(&chunk.losses[..len]);
            at = chunk.next;
        }
    }

    /// Whether the losses of `vector` equal `losses`.
    pub fn are(&self, vector: Vector, losses: &[Loss]) -> bool {
        let mut at = vector.0.wrapping_sub(1);
        for part in losses.chunks(LOSSES) {
            if at == NIL {
                return false;
            }
            let chunk = self.chunks.get(at);
            if chunk.losses[..part.len()] != *part || chunk.losses.get(part.len()).is_some_and(|loss| *loss != NOTHING)
            {
                return false;
            }
            at = chunk.next;
        }
        at == NIL || (losses.is_empty() && self.chunks.get(at).losses[0] == NOTHING)
    }

    /// The sum of the losses of `vector`.
    #[inline]
    pub fn total(&self, vector: Vector) -> Time {
        match vector.is_empty() {
            true => Time::ZERO,
            false => self.chunks.get(vector.0 - 1).total,
        }
    }

    /// The origin of `vector`.
    #[inline]
    pub fn origin(&self, vector: Vector) -> Origin {
        match vector.is_empty() {
            true => Origin::NONE,
            false => self.chunks.get(vector.0 - 1).origin,
        }
    }

    /// Chunks in use.
    pub fn live(&self) -> u32 {
        self.chunks.live()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    fn losses(n: u16) -> Vec<Loss> {
        (1..=n)
            .map(|culprit| Loss {
                culprit,
                time: Time(u64::from(culprit)),
                ..NOTHING
            })
            .collect()
    }

    #[test]
    fn vectors_of_all_lengths_come_back_and_go_with_their_last_user() {
        let mut vectors = Vectors::new();
        let origin = Origin { rank: 3, number: 4 };
        let kept: Vec<Vector> = (0..20).map(|n| vectors.keep::<Plain>(origin, &losses(n))).collect();
        let mut read = Vec::new();
        for (n, &vector) in (0..20).zip(&kept) {
            vectors.read(vector, &mut read);
            assert_eq!(read, losses(n));
            assert_eq!(vectors.losses(vector).collect::<Vec<_>>(), losses(n));
            assert_eq!((vectors.origin(vector), vector.is_empty()), (origin, false));
            assert_eq!(vectors.total(vector), total(&read));
            assert!((0..20).all(|m| vectors.are(vector, &losses(m)) == (m == n)), "{n}");
            assert_eq!(vectors.share::<Plain>(vector), vector);
            vectors.release::<Plain>(vector);
        }
        let chunks: u32 = (0..20).map(|n: u32| n.div_ceil(6).max(1)).sum();
        assert_eq!(vectors.live(), chunks);
        kept.into_iter().for_each(|vector| vectors.release::<Plain>(vector));
        assert_eq!(vectors.live(), 0);
    }

    #[test]
    fn numbers_of_three_bytes_come_back() {
        for number in [0, 1, 255, 256, 65_537, (1 << 24) - 1] {
            let vector = Vector(number);
            assert_eq!(vector.packed().map(Vector::unpacked), Some(vector));
        }
        assert_eq!(Vector(1 << 24).packed(), None);
    }

    #[test]
    fn entries_without_losses_are_not_kept() {
        let mut vectors = Vectors::new();
        let none = vectors.keep::<Plain>(Origin::NONE, &[]);
        assert_eq!(vectors.share::<Plain>(none), Vector::EMPTY);
        vectors.release::<Plain>(none);
        assert_eq!((vectors.losses(none).count(), vectors.origin(none)), (0, Origin::NONE));
        assert_eq!(vectors.total(none), Time::ZERO);
        assert_eq!(vectors.live(), 0);
    }
}
