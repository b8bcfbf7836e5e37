//! Flow control: the sending sides of all links, and their lazy credits.

use crate::FabricEvent;
use crate::blame::Books;
use crate::flit_credit::FlitCredits;
use crate::link::Links;
use crate::message::Traffic;
use crate::port::{OutPort, OutVc};
use odonata_engine::{Context, Mode, NIL, Pool, Slot, Store, Time};

/// Flits of a buffer that will be free again at `due`.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Credit {
    pub(crate) due: Time,
    flits: u16,
    /// Whose packet held the space.
    pub(crate) owner: Traffic,
    pub(crate) vc: u8,
    next: u32,
}

impl Slot for Credit {
    #[inline]
    fn next(&self) -> u32 {
        self.next
    }
    #[inline]
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Credits on their way to one port, side by side: reading them costs one or two cache lines, where a
/// list costs a miss each. Few buffers hold more packets than this; the rest goes to the list.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Shelf {
    pub(crate) due: [Time; Shelf::MOST],
    flits: [u16; Shelf::MOST],
    pub(crate) owner: [Traffic; Shelf::MOST],
    pub(crate) vc: [u8; Shelf::MOST],
    pub(crate) len: u8,
}

impl Shelf {
    const MOST: usize = 8;
    const EMPTY: Shelf = Shelf {
        due: [Time::NEVER; Shelf::MOST],
        flits: [0; Shelf::MOST],
        owner: [0; Shelf::MOST],
        vc: [0; Shelf::MOST],
        len: 0,
    };
}

/// The sending sides of all links (router ports, then NICs; see [`crate::link`]).
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) links: Links,
    pub(crate) ports: Store<OutPort>,
    pub(crate) vcs: Store<OutVc>,
    pub(crate) shelves: Store<Shelf>,
    /// What found no place on its port's shelf.
    pub(crate) credits: Pool<Credit>,
    /// Credits of single flits, where routers are pipelined.
    pub(crate) flits: FlitCredits,
    pub(crate) books: Books,
    /// What is added to the number of a link to name looks at it.
    pub(crate) names: u32,
}
odonata_engine::journalled!(Flow {
    ports,
    vcs,
    shelves,
    credits,
    flits,
    books
});

impl Flow {
    pub(crate) fn new(links: Links, books: Books, flits: bool) -> Self {
        Flow {
            ports: Store::filled(links.len() as usize, OutPort::IDLE),
            vcs: Store::filled(links.vcs() as usize, OutVc::IDLE),
            shelves: Store::filled(links.len() as usize, Shelf::EMPTY),
            flits: FlitCredits::new(if flits { links.len() as usize } else { 0 }),
            links,
            credits: Pool::new(),
            books,
            names: 0,
        }
    }

    /// Whether `flits` more fit into virtual channel `vc` of `link`'s far buffer at `now`.
    #[inline]
    pub(crate) fn has_room<M: Mode>(&mut self, link: u32, vc: u8, flits: u32, now: Time) -> bool {
        let l = self.links.get(link);
        let (at, most) = (l.first_vc + u32::from(vc), l.capacity);
        if self.vcs.get(at).used + flits <= most {
            return true;
        }
        self.harvest::<M>(link, now);
        self.vcs.get(at).used + flits <= most
    }

    /// Claims `flits` of virtual channel `vc` of `link`'s far buffer.
    #[inline]
    pub(crate) fn claim<M: Mode>(&mut self, link: u32, vc: u8, flits: u32) {
        let at = self.links.get(link).first_vc + u32::from(vc);
        self.vcs.edit::<M>(at).used += flits;
        self.ports.edit::<M>(link).used += flits;
    }

    /// Flits on their way through or waiting for `link`'s port: its load.
    #[inline]
    pub(crate) fn load<M: Mode>(&mut self, link: u32, now: Time) -> u32 {
        self.harvest::<M>(link, now);
        let port = self.ports.get(link);
        port.used + port.waiting_flits
    }

    /// A packet at `link`'s port has found the buffers exhausted; credits are awaited from now on.
    pub(crate) fn starve<E, C>(&mut self, ctx: &mut C, link: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let now = ctx.now();
        let port = self.ports.edit::<C>(link);
        if port.full_since == Time::NEVER {
            port.full_since = now;
        }
        self.await_credits::<E, C>(ctx, link);
    }

    /// Gives `flits` of virtual channel `vc`, held by a packet of `owner`, back to the sender of `link`, from
    /// `due` on. Not where routers are pipelined, see [`flits`](Self::flits).
    #[inline]
    pub(crate) fn return_credit<E, C>(
        &mut self,
        ctx: &mut C,
        link: u32,
        vc: u8,
        (flits, owner): (u16, Traffic),
        due: Time,
    ) where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let place = usize::from(self.shelves.get(link).len);
        if place < Shelf::MOST {
            let shelf = self.shelves.edit::<C>(link);
            shelf.due[place] = due;
            shelf.flits[place] = flits;
            shelf.owner[place] = owner;
            shelf.vc[place] = vc;
            shelf.len += 1;
        } else {
            let next = self.ports.get(link).credits;
            let credit = self.credits.take::<C>(Credit {
                due,
                flits,
                owner,
                vc,
                next,
            });
            self.ports.edit::<C>(link).credits = credit;
        }
        if self.ports.get(link).hungry {
            self.wake::<E, C>(ctx, link, due);
        }
    }

    /// Asks for another look at `link`'s sending port at `at`.
    ///
    /// Only the earliest look is kept in mind: when it comes, it finds out itself what to wait for
    /// next. Asking for all of them would multiply looks at a port that waits both for its link and
    /// for credits.
    #[inline]
    pub(crate) fn wake<E, C>(&mut self, ctx: &mut C, link: u32, at: Time)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        let pending = self.ports.get(link).service_at;
        let lp = self.links.get(link).lp;
        if pending > ctx.now_of(lp) && pending <= at {
            return;
        }
        self.ports.edit::<C>(link).service_at = at;
        let event = if link < self.links.ports {
            FabricEvent::Port { port: link }
        } else {
            FabricEvent::Nic {
                nic: link - self.links.ports,
            }
        };
        ctx.look_again(lp, at, self.names | link, event.into());
    }

    /// Counts the credits of `link` that are due.
    #[inline]
    pub(crate) fn harvest<M: Mode>(&mut self, link: u32, now: Time) {
        if self.flits.are_used() {
            self.harvest_flits::<M>(link, now);
            return;
        }
        let first_vc = self.links.get(link).first_vc;
        let mut flits = 0;
        let len = usize::from(self.shelves.get(link).len);
        if len > 0 {
            let shelf = self.shelves.edit::<M>(link);
            let mut kept = 0;
            for i in 0..len {
                if shelf.due[i] <= now {
                    flits += u32::from(shelf.flits[i]);
                    let at = first_vc + u32::from(shelf.vc[i]);
                    self.vcs.edit::<M>(at).used -= u32::from(shelf.flits[i]);
                    if self.books.is_on() {
                        self.books.freed::<M>(at, shelf.owner[i], shelf.due[i]);
                    }
                } else {
                    (shelf.due[kept], shelf.flits[kept]) = (shelf.due[i], shelf.flits[i]);
                    (shelf.owner[kept], shelf.vc[kept]) = (shelf.owner[i], shelf.vc[i]);
                    kept += 1;
                }
            }
            shelf.len = kept as u8;
        }
        if self.ports.get(link).credits != NIL {
            flits += self.harvest_list::<M>(link, first_vc, now);
        }
        if flits > 0 {
            self.ports.edit::<M>(link).used -= flits;
        }
    }

    /// Counts the due credits of `link`'s list, and returns their flits.
    fn harvest_list<M: Mode>(&mut self, link: u32, first_vc: u32, now: Time) -> u32 {
        let mut at = self.ports.get(link).credits;
        let (mut kept, mut flits) = (NIL, 0);
        while at != NIL {
            let credit = *self.credits.get(at);
            if credit.due <= now {
                flits += u32::from(credit.flits);
                let vc = first_vc + u32::from(credit.vc);
                self.vcs.edit::<M>(vc).used -= u32::from(credit.flits);
                if self.books.is_on() {
                    self.books.freed::<M>(vc, credit.owner, credit.due);
                }
                self.credits.give::<M>(at);
            } else {
                if credit.next != kept {
                    self.credits.edit::<M>(at).next = kept;
                }
                kept = at;
            }
            at = credit.next;
        }
        self.ports.edit::<M>(link).credits = kept;
        flits
    }

    /// From now on `link`'s port wants an event for each credit; those on the way get theirs.
    pub(crate) fn await_credits<E, C>(&mut self, ctx: &mut C, link: u32)
    where
        E: Copy + From<FabricEvent>,
        C: Context<E>,
    {
        self.ports.edit::<C>(link).hungry = true;
        if let Some(due) = self.earliest_credit(link, ctx.now()) {
            self.wake::<E, C>(ctx, link, due);
        }
    }

    /// When the next credit of `link` comes that is not due yet, if one is on its way.
    pub(crate) fn earliest_credit(&self, link: u32, now: Time) -> Option<Time> {
        if self.flits.are_used() {
            return self.flits.earliest(link, now);
        }
        let shelf = self.shelves.get(link);
        let due = &shelf.due[..usize::from(shelf.len)];
        let mut earliest = due.iter().copied().filter(|&due| due > now).min();
        let mut at = self.ports.get(link).credits;
        while at != NIL {
            let credit = self.credits.get(at);
            if credit.due > now && earliest.is_none_or(|due| credit.due < due) {
                earliest = Some(credit.due);
            }
            at = credit.next;
        }
        earliest
    }
}

impl Flow {
    /// Counts the credits of single flits of `link` that are due.
    #[inline]
    pub(crate) fn harvest_flits<M: Mode>(&mut self, link: u32, now: Time) {
        if self.flits.next_due(link) > now {
            return;
        }
        let first_vc = self.links.get(link).first_vc;
        let mut count = 0;
        let vcs = &mut self.vcs;
        self.flits.harvest::<M>(link, now, |vc| {
            vcs.edit::<M>(first_vc + u32::from(vc)).used -= 1;
            count += 1;
        });
        self.ports.edit::<M>(link).used -= count;
    }

    /// When the next credit of a single flit of `link` comes that is not due yet; those that are get counted.
    pub(crate) fn next_flit_credit<M: Mode>(&mut self, link: u32, now: Time) -> Option<Time> {
        self.harvest_flits::<M>(link, now);
        Some(self.flits.next_due(link)).filter(|&due| due != Time::NEVER)
    }
}
