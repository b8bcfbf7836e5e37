//! The storage of losses: those to others and to its own traffic, of any number of packets.

use super::account::Lost;
use crate::message::Traffic;
use odonata_blame::lost::{Kind, Loss, LostAt, Origin, Vector, Vectors};
use odonata_engine::{Mode, Time};

/// The losses of packets and messages, shared by those with the same.
#[derive(Debug)]
pub(in crate::observe) struct LossStore {
    pub(in crate::observe) vectors: Vectors,
    /// Whether losses have their place.
    have_places: bool,
    /// Buffer for losses to others; without meaning between events.
    filtered: Vec<Loss>,
}
odonata_engine::journalled!(LossStore { vectors });

impl LossStore {
    pub(super) fn new(have_places: bool) -> LossStore {
        LossStore {
            vectors: Vectors::new(),
            have_places,
            filtered: Vec::new(),
        }
    }

    /// Replaces `losses` with all of `lost`, sorted.
    pub(super) fn read(&self, lost: Lost, owner: Traffic, losses: &mut Vec<Loss>) {
        self.vectors.read(lost.losses_to_others, losses);
        if lost.own_link + lost.own_buffer == Time::ZERO && lost.own.is_empty() {
            return;
        }
        let before = losses.partition_point(|loss| loss.culprit < owner);
        let after = losses.len() - before;
        for (kind, time) in [(Kind::Link, lost.own_link), (Kind::Buffer, lost.own_buffer)] {
            if time > Time::ZERO {
                losses.push(Loss {
                    culprit: owner,
                    kind,
                    place: LostAt::NOWHERE,
                    time,
                });
            }
        }
        self.vectors.append(lost.own, losses);
        losses[before..].rotate_left(after);
    }

    /// Stores the losses of a packet or message of `owner`.
    pub(super) fn keep<M: Mode>(&mut self, owner: Traffic, origin: Origin, losses: &[Loss]) -> Lost {
        // The losses are sorted by culprit.
        let first = losses.partition_point(|loss| loss.culprit < owner);
        let (before, rest) = losses.split_at(first);
        let (own, after) = rest.split_at(rest.partition_point(|loss| loss.culprit == owner));
        let losses_to_others = match (before, after) {
            (all, []) | ([], all) => self.vectors.keep::<M>(Origin::NONE, all),
            _ => {
                self.filtered.clear();
                self.filtered.extend_from_slice(before);
                self.filtered.extend_from_slice(after);
                self.vectors.keep::<M>(Origin::NONE, &self.filtered)
            }
        };
        self.with_own::<M>(losses_to_others, origin, own)
    }

    /// Combines the losses to others with those to its own traffic, sorted by kind.
    pub(super) fn with_own<M: Mode>(&mut self, losses_to_others: Vector, origin: Origin, own: &[Loss]) -> Lost {
        if self.have_places {
            return Lost {
                losses_to_others,
                own: self.vectors.keep::<M>(origin, own),
                ..Lost::NOTHING
            };
        }
        let of = |kind: Kind| {
            own.iter()
                .find(|loss| loss.kind == kind)
                .map_or(Time::ZERO, |loss| loss.time)
        };
        let others = own.partition_point(|loss| loss.kind <= Kind::Buffer);
        Lost {
            losses_to_others,
            own: self.vectors.keep::<M>(origin, &own[others..]),
            own_link: of(Kind::Link),
            own_buffer: of(Kind::Buffer),
        }
    }

    /// Adds a user to the vectors of `lost`.
    #[inline]
    pub(super) fn share<M: Mode>(&mut self, lost: Lost) -> Lost {
        self.vectors.share::<M>(lost.losses_to_others);
        self.vectors.share::<M>(lost.own);
        lost
    }

    /// Removes a user.
    #[inline]
    pub(super) fn release<M: Mode>(&mut self, lost: Lost) {
        self.vectors.release::<M>(lost.losses_to_others);
        self.vectors.release::<M>(lost.own);
    }

    pub(super) fn total(&self, lost: Lost) -> Time {
        lost.own_link + lost.own_buffer + self.vectors.total(lost.losses_to_others) + self.vectors.total(lost.own)
    }
}
