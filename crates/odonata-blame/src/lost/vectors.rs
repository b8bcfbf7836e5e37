//! What was lost, kept once: of many packets of a message, of links and of credits, most have lost nothing, or the same.
//!
//! A [`Vector`] is a number, 0 of what is empty, so that who has lost nothing costs a comparison. One that is kept does not change;
//! it is [shared](Vectors::share) by counting who uses it, and gone with the last [release](Vectors::release).

use super::{Kind, Loss, LostAt, Origin};
use crate::Owner;
use odonata_engine::{Mode, NIL, Pool, Time};

/// Losses that are kept in [`Vectors`], with an origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Vector(u32);

impl Vector {
    /// Nothing lost, of no origin.
    pub const EMPTY: Vector = Vector(0);

    /// Whether it is that.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Losses in a chunk, which is a cache line.
const LOSSES: usize = 3;

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Chunk {
    /// Those with a time of zero are none.
    losses: [Loss; LOSSES],
    origin: Origin,
    /// Who uses it; of the first chunk.
    users: u32,
    next: u32,
}

const _: () = assert!(size_of::<Chunk>() == 64);

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

    /// Keeps `losses` and the origin that they stem from, for one user.
    pub fn keep<M: Mode>(&mut self, origin: Origin, losses: &[Loss]) -> Vector {
        if losses.is_empty() && origin == Origin::NONE {
            return Vector::EMPTY;
        }
        let first = losses.len().saturating_sub(1) / LOSSES * LOSSES;
        let mut next = NIL;
        for begin in (0..first + 1).step_by(LOSSES).rev() {
            let mut chunk = Chunk {
                losses: [NOTHING; LOSSES],
                origin,
                users: 1,
                next,
            };
            for (cell, &loss) in chunk.losses.iter_mut().zip(&losses[begin..]) {
                *cell = loss;
            }
            next = self.chunks.allocate::<M>(chunk);
        }
        Vector(next + 1)
    }

    /// `vector`, for one more user.
    #[inline]
    pub fn share<M: Mode>(&mut self, vector: Vector) -> Vector {
        if !vector.is_empty() {
            self.chunks.edit::<M>(vector.0 - 1).users += 1;
        }
        vector
    }

    /// A user of `vector` less.
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

    /// The losses of `vector`, in the order in which they were kept.
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

    /// Puts the losses of `vector` into `losses`, in place of what is there.
    pub fn read(&self, vector: Vector, losses: &mut Vec<Loss>) {
        losses.clear();
        let mut at = vector.0.wrapping_sub(1);
        while at != NIL {
            let chunk = self.chunks.get(at);
            let len = chunk.losses.iter().take_while(|loss| loss.time > Time::ZERO).count();
            losses.extend_from_slice(&chunk.losses[..len]);
            at = chunk.next;
        }
    }

    /// The origin of `vector`.
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

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.chunks.memory()
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
            assert_eq!(vectors.share::<Plain>(vector), vector);
            vectors.release::<Plain>(vector);
        }
        let chunks: u32 = (0..20).map(|n: u32| n.div_ceil(3).max(1)).sum();
        assert_eq!(vectors.live(), chunks);
        kept.into_iter().for_each(|vector| vectors.release::<Plain>(vector));
        assert_eq!(vectors.live(), 0);
    }

    #[test]
    fn what_has_lost_nothing_is_not_kept() {
        let mut vectors = Vectors::new();
        let none = vectors.keep::<Plain>(Origin::NONE, &[]);
        assert_eq!(vectors.share::<Plain>(none), Vector::EMPTY);
        vectors.release::<Plain>(none);
        assert_eq!((vectors.losses(none).count(), vectors.origin(none)), (0, Origin::NONE));
        assert_eq!(vectors.live(), 0);
    }
}
