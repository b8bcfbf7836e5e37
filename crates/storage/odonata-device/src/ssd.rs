//! A solid-state disk with several channels of several ways: J. Yoo, Y. Won, S. Kang, J. Choi, S. Yoon, J. Cha,
//! "Analytical model of SSD parallelism", SIMULTECH 2014.
//!
//! Pages are dispatched one after the other to the next flash die, a *switch* apart; a die holds one page at a time.
//! With `rho = channels x ways` dies, an access of `N` pages to an idle device takes
//!
//! ```text
//! write: T_w = W_ch (N - 1) + T_wait (N_cycle - 1) + W_page,  N_cycle = ceil(N / rho),  T_wait = max(0, W_page - W_ch rho)
//! read:  T_r = R_ch (N - 1) + R_page
//! ```
//!
//! These are the paper's equations: a cycle is one page per die, and the next cycle waits for the first die. The paper
//! has no such wait for reads, because there `R_page <= R_ch rho`; with other parameters, reads wait for dies like
//! writes. Concurrent accesses share dies and dispatch in order of arrival, which the paper does not cover; an access
//! to an idle device equals the paper to the picosecond.

use odonata_engine::Stream;
use odonata_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::{positive, within};
use crate::{Access, Device, FreeTimes, MOST_PARALLEL, Problem, Service};

/// Flash: pages over channels and ways (J. Yoo et al., SIMULTECH 2014). Default: the preset `intel-d3-s4510`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Ssd {
    /// Bytes that a die reads or writes at once, 512 B to 1 GiB.
    #[default(Bytes::kib(4))]
    pub page: Bytes,
    /// Channels, at least 1; channels x ways is at most 64.
    #[schemars(range(min = 1, max = 64))]
    #[default = 8]
    pub channels: u32,
    /// Dies of a channel, at least 1.
    #[schemars(range(min = 1, max = 64))]
    #[default = 4]
    pub ways: u32,
    /// R_page: time to read one page, more than 0.
    #[default(Time::from_ns(118_000))]
    pub page_read: Time,
    /// W_page: time to write one page, more than 0.
    #[default(Time::from_ns(71_000))]
    pub page_write: Time,
    /// R_ch: time between dispatching reads to two dies.
    #[default(Time::from_ns(9_601))]
    pub read_switch: Time,
    /// W_ch: time between dispatching writes to two dies.
    #[default(Time::from_ns(10_074))]
    pub write_switch: Time,
}

/// The state of an [`Ssd`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SsdState {
    /// When each die is free.
    dies: FreeTimes,
    /// When the next page can be dispatched.
    handing: u64,
    /// The die for the next page.
    next: u32,
    /// When the last write ends.
    written: u64,
}

impl Ssd {
    /// The paper's rho: maximum number of concurrent pages.
    pub fn dies(&self) -> u32 {
        self.channels.saturating_mul(self.ways).clamp(1, MOST_PARALLEL)
    }

    /// Pages that the access touches.
    fn pages(&self, access: Access) -> u64 {
        let page = self.page.0.max(1);
        let last = access.offset.saturating_add(access.bytes.max(1) - 1);
        last / page - access.offset / page + 1
    }

    /// Time of a page on a die, and the switch to the next.
    fn work(&self, write: bool) -> (Time, Time) {
        if write {
            (self.page_write, self.write_switch)
        } else {
            (self.page_read, self.read_switch)
        }
    }

    /// The paper's equation: time of an access of `pages` pages, at least one, on an idle device.
    pub fn alone(&self, write: bool, pages: u64) -> Time {
        let (work, switch) = self.work(write);
        let dies = u64::from(self.dies());
        let wait = work.saturating_sub(switch.times(dies));
        switch.times(pages - 1) + wait.times(pages.div_ceil(dies) - 1) + work
    }

    /// Estimate of the time per access in a sequence: until its pages are dispatched.
    pub(crate) fn about(&self, write: bool, bytes: u64) -> Time {
        let (work, switch) = self.work(write);
        let pages = bytes.div_ceil(self.page.0.max(1));
        switch.max(Time(work.0 / u64::from(self.dies()))).times(pages)
    }

    /// Dispatches one page and returns its end.
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
        // From the third cycle on, each cycle repeats the previous one, shifted by the slower of a page write and a
        // dispatch to every die. So long accesses need no loop over their pages.
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
