//! Priorities of requests: by age or time of arrival, and by the turns of traffic classes.

use super::in_vc::InVc;
use super::settings::Settings;
use crate::control::ClassScheduler;
use crate::settings::Arbitration;
use odonata_engine::Store;

/// Bit position of the class's turn in an urgency; times are shorter than that.
const CLASS: u32 = 60;

/// The rank of input virtual channel `at`, which precedes turns.
#[inline(always)]
pub(super) fn rank(settings: Settings, vcs: &Store<InVc>, at: u32) -> u64 {
    match settings.arbitration {
        Arbitration::Age => vcs.get(at).created.0,
        // Since when it has been able to make this request.
        Arbitration::FirstCome => vcs.get(at).ready.0,
        Arbitration::RoundRobin | Arbitration::LowestFirst => 0,
    }
}

/// The same for the crossbar, where the class whose turn it is at the output goes first.
#[inline(always)]
pub(super) fn urgency(settings: Settings, (vcs, classes): (&Store<InVc>, &ClassScheduler), at: u32) -> u64 {
    let rank = rank(settings, vcs, at);
    if !settings.classes {
        return rank;
    }
    let vc = vcs.get(at);
    turn(classes, vc.port, vc.class) << CLASS | (rank & ((1 << CLASS) - 1))
}

/// The position of traffic class `class` in the order of turns at `port`, from 0.
pub(super) fn turn(classes: &ClassScheduler, port: u32, class: u8) -> u64 {
    classes
        .order(port)
        .iter()
        .position(|&other| other == class)
        .unwrap_or(0) as u64
}
