//! Accesses of devices for the analysis of lost time: the start and end of each access with its request, and head positions. The
//! position after each job's last access tells whether an access seeks because another job has used the device meanwhile.
//!
//! Two jobs that each write one file sequentially do not seek when alone. If a device serves them in turns, every access seeks. No
//! job waits for this time; it is charged to the owner of the previous access.
//!
//! Only the model [`Rate`] is covered: there a seek depends on positions alone. The cost of a hard disk's arm, cache and rotation
//! depends on its whole history.

use odonata_device::{Access, DeviceModel, Rate};
use odonata_engine::{GrowableStore, Mode, NIL, Pool, Store};
use odonata_units::Time;

use super::charges::DeviceAccess;
use crate::open_request::OpenRequest;

/// No owner.
const NO_OWNER: u16 = u16::MAX;

/// The users of a device.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Head {
    /// The first element of its list of positions.
    first: u32,
    /// The owner of the last access.
    last: u16,
}

/// The position after the last access of `owner`.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Position {
    object: u64,
    byte: u64,
    owner: u16,
    next: u32,
}

odonata_engine::slots!(Position);

/// The accesses of a set of devices; empty unless they are recorded.
#[derive(Debug)]
pub(crate) struct Accesses {
    heads: Store<Head>,
    positions: Pool<Position>,
    /// The job that made the access of a piece seek, plus 1; 0 if it would seek alone.
    moved_by: GrowableStore<u32>,
    /// Accesses of requests that have begun; empty between inputs, as is `ended`.
    begun: Vec<DeviceAccess>,
    ended: Vec<DeviceAccess>,
}
odonata_engine::journalled!(Accesses {
    heads,
    positions,
    moved_by
});

impl Accesses {
    pub(crate) fn of(devices: usize) -> Accesses {
        let untouched = Head {
            first: NIL,
            last: NO_OWNER,
        };
        Accesses {
            heads: Store::filled(devices, untouched),
            positions: Pool::new(),
            moved_by: GrowableStore::new(),
            begun: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Whether accesses are recorded.
    pub(crate) fn is_on(&self) -> bool {
        !self.heads.is_empty()
    }

    /// `device` of `server` begins to serve `piece` of `request`.
    pub(crate) fn begins(&mut self, at: (u32, u32, u32), request: &OpenRequest) {
        if self.is_on() {
            self.begun.extend(of_request(at, request, None));
        }
    }

    /// The access has ended; a seek takes `seek`.
    pub(crate) fn ends(&mut self, at: (u32, u32, u32), request: &OpenRequest, seek: Time) {
        if self.is_on() {
            let moved_by = self.moved_by.get(at.2 as usize).checked_sub(1);
            let seek = moved_by.map(|by| (by as u16, seek));
            self.ended.extend(of_request(at, request, seek));
        }
    }

    /// The accesses that the last input began, and those that it ended.
    pub(crate) fn take(&mut self) -> (Vec<DeviceAccess>, Vec<DeviceAccess>) {
        (std::mem::take(&mut self.begun), std::mem::take(&mut self.ended))
    }

    /// `device` of `model` is handed `access`, that of `piece` of `owner`.
    pub(crate) fn is_handed<M: Mode>(
        &mut self,
        (device, model): (u32, &DeviceModel),
        (piece, owner): (u32, u16),
        access: Access,
    ) {
        let moved_by = self.accessed::<M>(device, model, owner, access);
        let moved_by = moved_by.map_or(0, |by| u32::from(by) + 1);
        if self.is_on() && self.moved_by.get(piece as usize) != moved_by {
            *self.moved_by.edit::<M>(piece as usize) = moved_by;
        }
    }

    /// The job that makes `access` of `owner` seek, if it would not seek alone.
    fn accessed<M: Mode>(&mut self, device: u32, model: &DeviceModel, owner: u16, access: Access) -> Option<u16> {
        let DeviceModel::Rate(model) = model else { return None };
        if self.heads.is_empty() {
            return None;
        }
        let Head { first, last } = *self.heads.get(device);
        let (own, theirs) = (self.find(first, owner), self.find(first, last));
        // Another job has accessed the device, so that it is not in its initial state.
        let others = last != owner && last != NO_OWNER;
        let moved = others && self.continues(own, model, access) && !self.continues(theirs, model, access);
        let position = Position {
            object: access.object,
            byte: access.offset.saturating_add(access.bytes),
            owner,
            next: first,
        };
        match own {
            NIL => {
                let slot = self.positions.allocate::<M>(position);
                *self.heads.edit::<M>(device) = Head {
                    first: slot,
                    last: owner,
                };
            }
            slot => {
                let cell = self.positions.edit::<M>(slot);
                (cell.object, cell.byte) = (position.object, position.byte);
                if last != owner {
                    self.heads.edit::<M>(device).last = owner;
                }
            }
        }
        moved.then_some(last)
    }

    fn find(&self, first: u32, owner: u16) -> u32 {
        let mut at = first;
        while at != NIL && self.positions.get(at).owner != owner {
            at = self.positions.get(at).next;
        }
        at
    }

    /// Whether `access` continues at position `slot`, or at the initial position of a device.
    fn continues(&self, slot: u32, model: &Rate, access: Access) -> bool {
        let (object, byte) = match slot {
            NIL => (0, 0),
            slot => {
                let Position { object, byte, .. } = *self.positions.get(slot);
                (object, byte)
            }
        };
        model.continues((object, byte), access)
    }
}

/// The access of a piece of `request`, if its client waits for the answer.
fn of_request(
    (server, device, piece): (u32, u32, u32),
    request: &OpenRequest,
    seek: Option<(u16, Time)>,
) -> Option<DeviceAccess> {
    let header = request.what.header;
    (!request.answered).then_some(DeviceAccess {
        header,
        piece,
        server,
        device,
        owner: header.owner,
        seek,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    fn moved(made: &[(u16, u64, u64)]) -> Vec<Option<u16>> {
        let mut accesses = Accesses::of(1);
        let model = DeviceModel::Rate(Rate::default());
        let access = |&(owner, object, offset): &(u16, u64, u64)| {
            let access = Access {
                write: true,
                object,
                offset,
                bytes: 10,
            };
            accesses.accessed::<Plain>(0, &model, owner, access)
        };
        made.iter().map(access).collect()
    }

    #[test]
    fn an_access_that_continues_its_jobs_last_one_charges_its_seek_to_the_job_between() {
        let accesses = [(3, 7, 0), (4, 8, 0), (3, 7, 10), (3, 7, 20), (5, 9, 0), (3, 7, 30)];
        let expected = [None, None, Some(4), None, None, Some(5)];
        assert_eq!(moved(&accesses), expected);
    }

    #[test]
    fn own_seeks_and_continuations_of_another_jobs_access_are_charged_to_no_job() {
        assert_eq!(moved(&[(3, 7, 0), (4, 8, 0), (3, 7, 50), (4, 7, 60)]), [None; 4]);
    }
}
