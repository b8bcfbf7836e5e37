//! A solid-state disk of several channels with several ways each: J. Yoo, Y. Won, S. Kang, J. Choi, S. Yoon, J. Cha,
//! "Analytical model of SSD parallelism", SIMULTECH 2014.
//!
//! One page after the other is handed to the next flash die, a *switch* after the one before; a die holds one page at a time.
//! With `rho = channels x ways` dies, an access of `N` pages to an idle device takes
//!
//! ```text
//! write: T_w = W_ch (N - 1) + T_wait (N_cycle - 1) + W_page,  N_cycle = ceil(N / rho),  T_wait = max(0, W_page - W_ch rho)
//! read:  T_r = R_ch (N - 1) + R_page
//! ```
//!
//! which are the equations of the paper: a cycle is one page for every die, and the next waits for the first of them. For
//! reads the paper has no such wait, since there `R_page <= R_ch rho`; where a user's numbers are others, reads wait for dies as
//! writes do. Accesses under way at once share the dies and the hand-out in the order in which they came, which is where
//! the paper stops; an access to a device that is idle is the paper's to the picosecond.

use odonata_engine::Stream;
use odonata_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::{positive, within};
use crate::{Access, Device, FreeTimes, MOST_PARALLEL, Problem, Service};

/// Flash: pages over channels and ways (J. Yoo et al., SIMULTECH 2014). Default: the preset `intel-d3-s4510`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ssd {
    /// What a die reads or writes at once, 512 B to 1 GiB.
    pub page: Bytes,
    /// Channels, at least 1; channels x ways is at most 64.
    #[schemars(range(min = 1, max = 64))]
    pub channels: u32,
    /// Dies of a channel, at least 1.
    #[schemars(range(min = 1, max = 64))]
    pub ways: u32,
    /// R_page: how long the read of one page takes, more than 0.
    pub page_read: Time,
    /// W_page: how long the write of one page takes, more than 0.
    pub page_write: Time,
    /// R_ch: from handing a read to one die to handing the next to another.
    pub read_switch: Time,
    /// W_ch: from handing a write to one die to handing the next to another.
    pub write_switch: Time,
}

impl Default for Ssd {
    fn default() -> Self {
        Ssd {
            page: Bytes::kib(4),
            channels: 8,
            ways: 4,
            page_read: Time::from_ns(118_000),
            page_write: Time::from_ns(71_000),
            read_switch: Time::from_ns(9_601),
            write_switch: Time::from_ns(10_074),
        }
    }
}

/// What an [`Ssd`] remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SsdState {
    /// When each die is free.
    dies: FreeTimes,
    /// When the next page can be handed out.
    handing: u64,
    /// The die that gets the next page.
    next: u32,
    /// When the last write ends.
    written: u64,
}

impl Ssd {
    /// The paper's rho: pages under way at once at most.
    pub fn dies(&self) -> u32 {
        self.channels.saturating_mul(self.ways).clamp(1, MOST_PARALLEL)
    }

    /// Pages that the access touches.
    fn pages(&self, access: Access) -> u64 {
        let page = self.page.0.max(1);
        let last = access.offset.saturating_add(access.bytes.max(1) - 1);
        last / page - access.offset / page + 1
    }

    /// How long a die has a page, and the switch to the next.
    fn work(&self, write: bool) -> (Time, Time) {
        if write {
            (self.page_write, self.write_switch)
        } else {
            (self.page_read, self.read_switch)
        }
    }

    /// The equation of the paper: how long an access of so many pages, one at least, takes on an idle device.
    pub fn alone(&self, write: bool, pages: u64) -> Time {
        let (work, switch) = self.work(write);
        let dies = u64::from(self.dies());
        let wait = work.saturating_sub(switch.times(dies));
        switch.times(pages - 1) + wait.times(pages.div_ceil(dies) - 1) + work
    }

    /// About how long one of many accesses keeps it from the next: until its pages are handed out.
    pub(crate) fn about(&self, write: bool, bytes: u64) -> Time {
        let (work, switch) = self.work(write);
        let pages = bytes.div_ceil(self.page.0.max(1));
        switch.max(Time(work.0 / u64::from(self.dies()))).times(pages)
    }

    /// Hands out one page; when it is done.
    fn page(&self, state: &mut SsdState, now: Time, work: Time, switch: Time) -> Time {
        let die = &mut state.dies[state.next as usize / 8][state.next as usize % 8];
        let begin = now.max(Time(state.handing)).max(Time(*die));
        let finish = begin + work;
        *die = finish.0;
        state.handing = (begin + switch).0;
        state.next = (state.next + 1) % self.dies();
        finish
    }
}

impl Device for Ssd {
    type State = SsdState;

    fn serve(&self, state: &mut SsdState, now: Time, access: Access, _: &mut Stream) -> Service {
        let (work, switch) = self.work(access.write);
        let dies = u64::from(self.dies());
        let mut pages = self.pages(access);
        let alone = self.alone(access.write, pages);
        let mut finish = now;
        // After two cycles each further one is a copy of the one before, later by what takes longest: writing a page, or
        // handing one to every die. Long accesses need not be gone through page by page.
        if pages > 3 * dies {
            for _ in 0..2 * dies {
                self.page(state, now, work, switch);
            }
            let cycles = (pages - 2 * dies) / dies;
            let later = work.max(switch.times(dies)).times(cycles);
            for die in state.dies.as_flattened_mut().iter_mut().take(dies as usize) {
                *die = (Time(*die) + later).0;
            }
            state.handing = (Time(state.handing) + later).0;
            let last = (state.next as usize + dies as usize - 1) % dies as usize;
            finish = Time(state.dies[last / 8][last % 8]);
            pages = (pages - 2 * dies) % dies;
        }
        for _ in 0..pages {
            finish = self.page(state, now, work, switch);
        }
        if access.write {
            state.written = finish.0;
        }
        Service::ending(now, alone, finish)
    }

    fn flush(&self, state: &mut SsdState, now: Time, _: &mut Stream) -> Time {
        now.max(Time(state.written))
    }

    fn check(&self) -> Result<(), Problem> {
        within("page", self.page, Bytes(512), Bytes(1 << 30))?;
        within("channels", self.channels, 1, MOST_PARALLEL)?;
        within("ways", self.ways, 1, MOST_PARALLEL)?;
        if self.channels.saturating_mul(self.ways) > MOST_PARALLEL {
            let expected = format!("channels x ways of at most {MOST_PARALLEL}");
            let value = format!("{} x {}", self.channels, self.ways);
            return Err(Problem::new("ways", value, expected).saying("there are too many dies"));
        }
        positive("page_read", self.page_read)?;
        positive("page_write", self.page_write)?;
        Ok(())
    }
}
