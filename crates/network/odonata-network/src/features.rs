//! Features: the parts of the fabric for which its handlers are compiled.
//!
//! Most scenarios use few features, and checking for all of them at every hop costs a sixth of its instructions. So
//! handlers are compiled for four sets of features; a fabric uses the smallest set that covers its scenario:
//!
//! | variant | blame | lost time | control | extras |
//! |---|---|---|---|---|
//! | [`Lean`] | | | | |
//! | [`Blamed`] | x | | | |
//! | [`Traced`] | x | x | | |
//! | [`Everything`] | x | x | x | x |
//!
//! - *blame*: waits are charged to the traffic that causes them;
//! - *lost time*: messages carry their losses;
//! - *control*: several traffic classes, several queues of a NIC, or congestion control;
//! - *extras*: sampling periods, FIFOs at inputs, published loads of router ports, rate bounds of NICs, flows beside
//!   packets.
//!
//! Code that only control or extras reach is compiled for [`Everything`] alone, and so are messages without packets: a
//! handler calls it with [its context widened](HandlerContext::with_everything). Routings are compiled for a mode, not for
//! a set.
//!
//! Time series are in all sets: most runs have them, and the check costs once per transmission.
//!
//! A handler checks `C::BLAME && ..` of its [context](HandlerContext), or `M::BLAME` of the [`Uses`] that edits state;
//! the compiler removes the code that follows if the set lacks the feature. All other code is the same, so results
//! cannot depend on the variant. [`Everything`] is correct for all scenarios: speculation, which journals every change
//! anyway, uses it.

use crate::FabricContext;
use odonata_engine::{Context, Lp, Mode, Plain, Speculative, Time};
use std::marker::PhantomData;

/// A set of features, see the [module](self).
pub(crate) trait Features {
    const BLAME: bool;
    const LOST: bool;
    const CONTROL: bool;
    const EXTRAS: bool;
}

/// No features.
pub(crate) struct Lean;

impl Features for Lean {
    const BLAME: bool = false;
    const LOST: bool = false;
    const CONTROL: bool = false;
    const EXTRAS: bool = false;
}

/// Blame alone.
pub(crate) struct Blamed;

impl Features for Blamed {
    const BLAME: bool = true;
    const LOST: bool = false;
    const CONTROL: bool = false;
    const EXTRAS: bool = false;
}

/// Blame and lost time.
pub(crate) struct Traced;

impl Features for Traced {
    const BLAME: bool = true;
    const LOST: bool = true;
    const CONTROL: bool = false;
    const EXTRAS: bool = false;
}

/// All features.
pub(crate) struct Everything;

impl Features for Everything {
    const BLAME: bool = true;
    const LOST: bool = true;
    const CONTROL: bool = true;
    const EXTRAS: bool = true;
}

/// The feature set of a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Lean,
    Blamed,
    Traced,
    Everything,
}

/// How state is edited, and the available features.
pub(crate) trait Uses: Mode {
    const BLAME: bool;
    const LOST: bool;
    const CONTROL: bool;
    const EXTRAS: bool;
}

macro_rules! uses {
    ($([$($generics:tt)*] $type:ty: $features:ty;)+) => {
        $(impl<$($generics)*> Uses for $type {
            const BLAME: bool = <$features>::BLAME;
            const LOST: bool = <$features>::LOST;
            const CONTROL: bool = <$features>::CONTROL;
            const EXTRAS: bool = <$features>::EXTRAS;
        })+
    };
}

uses! {
    [] Plain: Everything;
    [] Speculative: Everything;
    [M: Mode] AnyUse<M>: Everything;
    [C: Mode, F: Features] Handler<'_, C, F>: F;
}

/// A mode of editing with all features.
pub(crate) struct AnyUse<M>(PhantomData<M>);

impl<M: Mode> Mode for AnyUse<M> {
    const JOURNAL: bool = M::JOURNAL;
}

/// The context of a handler inside the fabric.
pub(crate) trait HandlerContext: FabricContext + Uses {
    /// The context that the scheduler gave.
    type Inner: FabricContext;

    /// The same context for handlers that are compiled for every feature. Code that only some features reach, or that
    /// runs less than once per packet, takes it: so it is compiled once, not once per set.
    fn with_everything(&mut self) -> Handler<'_, Self::Inner, Everything>;
}

/// A context for handlers compiled for the features `F`.
pub(crate) struct Handler<'a, C, F> {
    context: &'a mut C,
    features: PhantomData<F>,
}

impl<'a, C, F: Features> Handler<'a, C, F> {
    #[inline(always)]
    pub(crate) fn new(context: &'a mut C) -> Self {
        Handler {
            context,
            features: PhantomData,
        }
    }
}

impl<C: FabricContext, F: Features> HandlerContext for Handler<'_, C, F> {
    type Inner = C;

    #[inline(always)]
    fn with_everything(&mut self) -> Handler<'_, C, Everything> {
        Handler::new(self.context)
    }
}

impl<C: Mode, F> Mode for Handler<'_, C, F> {
    const JOURNAL: bool = C::JOURNAL;
}

impl<C: Context, F: Features> Context for Handler<'_, C, F> {
    type Event = C::Event;

    #[inline(always)]
    fn now(&self) -> Time {
        self.context.now()
    }
    #[inline(always)]
    fn now_of(&self, lp: Lp) -> Time {
        self.context.now_of(lp)
    }
    #[inline(always)]
    fn handled_before(&self) -> Time {
        self.context.handled_before()
    }
    #[inline(always)]
    fn send(&mut self, to: Lp, at: Time, event: Self::Event) {
        self.context.send(to, at, event);
    }
    #[inline(always)]
    fn wake_up(&mut self, lp: Lp, at: Time, id: u32, event: Self::Event) {
        self.context.wake_up(lp, at, id, event);
    }
    #[inline(always)]
    fn halt(&mut self, code: u32) {
        self.context.halt(code);
    }
}
