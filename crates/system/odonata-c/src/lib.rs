//! The network of a machine for programs in C: the functions that `include/odonata.h` declares.
//!
//! The header is the reference for callers. Here, [`failure`] turns errors and panics into a status with a text, and
//! [`network`] hands events to callbacks. Tests compare this file with the header, and a program in C with
//! `odonata.Network` (`tests/python/test_c_interface.py`).
//!
//! The interface only grows: a changed function gets a new name, and [`odonata_abi`] counts removals.

// Pointers of C are read and written here; every function states what it takes on trust.
#![allow(unsafe_code)]

pub mod failure;
pub mod network;

use std::ffi::c_char;

use odonata_system::{NetworkSession, Time};

use failure::{Failure, Status, guarded, invalid, last_text, text_of};
use network::{Event, Link, Message, Network, Reach, Totals, advance, outside_callbacks, with};

/// The latest time that a program can advance to, as for messages.
const LATEST_PS: u64 = 1 << 62;

/// The version of the interface, `ODONATA_ABI` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn odonata_abi() -> u32 {
    1
}

/// The version of Odonata.
#[unsafe(no_mangle)]
pub extern "C" fn odonata_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The text of the last failure on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn odonata_last_error() -> *const c_char {
    last_text()
}

/// Opens the network of a scenario file or a preset.
///
/// # Safety
/// See the header: `machine` and `overrides` are C strings, `network` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_open(
    machine: *const c_char,
    overrides: *const *const c_char,
    overrides_len: u64,
    network: *mut *mut Network,
) -> Status {
    guarded(|| {
        // Safety: the caller's promise, here and below.
        let place = unsafe { place_of(network) }?;
        let machine = unsafe { text_of(machine, "machine") }?;
        let overrides = unsafe { list_of(overrides, overrides_len) }?;
        let session = NetworkSession::open(machine, &overrides).map_err(|error| invalid(error.to_string()))?;
        *place = Box::into_raw(Box::new(Network::new(session)));
        Ok(())
    })
}

/// Opens the network of a scenario from its text.
///
/// # Safety
/// See the header: `toml`, `folder` and `overrides` are C strings, `network` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_open_text(
    toml: *const c_char,
    folder: *const c_char,
    overrides: *const *const c_char,
    overrides_len: u64,
    network: *mut *mut Network,
) -> Status {
    guarded(|| {
        // Safety: the caller's promise, here and below.
        let place = unsafe { place_of(network) }?;
        let toml = unsafe { text_of(toml, "toml") }?;
        let folder = match folder.is_null() {
            true => "",
            false => unsafe { text_of(folder, "folder") }?,
        };
        let overrides = unsafe { list_of(overrides, overrides_len) }?;
        let session = NetworkSession::load(toml, "<text>", &overrides, None, folder);
        let session = session.map_err(|error| invalid(error.to_string()))?;
        *place = Box::into_raw(Box::new(Network::new(session)));
        Ok(())
    })
}

/// Closes a network, and frees it.
///
/// # Safety
/// `network` is null or a network that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_close(network: *mut Network) -> Status {
    guarded(|| {
        // Safety: the caller's promise. The network came from a box.
        if let Some(open) = unsafe { network.as_ref() } {
            outside_callbacks(open, "odonata_close")?;
            drop(unsafe { Box::from_raw(network) });
        }
        Ok(())
    })
}

/// Sends a message.
///
/// # Safety
/// See the header: `message` can be read, `number` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_send(network: *mut Network, message: *const Message, number: *mut u32) -> Status {
    // Safety: the caller's promise, here and below.
    unsafe {
        with(network, |mut network| {
            let message = message
                .as_ref()
                .ok_or_else(|| invalid("`message` is NULL; expected a message"))?;
            let sent = network.as_mut().send(*message)?;
            if let Some(number) = number.as_mut() {
                *number = sent;
            }
            Ok(())
        })
    }
}

/// Advances the time to `until_ps`.
///
/// # Safety
/// `network` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_advance(network: *mut Network, until_ps: u64) -> Status {
    // Safety: the caller's promise.
    unsafe { advance_by("odonata_advance", network, || Ok(Reach::Until(time_of(until_ps)?))) }
}

/// Advances to the next wanted event, at most to `until_ps`.
///
/// # Safety
/// `network` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_step(network: *mut Network, until_ps: u64) -> Status {
    let reach = || match Time(until_ps) {
        Time::NEVER => Ok(Reach::Event(Time::NEVER)),
        _ => Ok(Reach::Event(time_of(until_ps)?)),
    };
    // Safety: the caller's promise.
    unsafe { advance_by("odonata_step", network, reach) }
}

/// Advances until nothing is in flight.
///
/// # Safety
/// `network` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_run(network: *mut Network) -> Status {
    // Safety: the caller's promise.
    unsafe { advance_by("odonata_run", network, || Ok(Reach::Idle)) }
}

/// Takes the first event without a callback; whether there was one.
///
/// # Safety
/// `network` is null or open, `event` null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_poll(network: *mut Network, event: *mut Event) -> i32 {
    let mut found = 0;
    // Safety: the caller's promise.
    unsafe {
        with(network, |mut network| {
            let event = event
                .as_mut()
                .ok_or_else(|| invalid("`event` is NULL; expected an event"))?;
            if let Some(first) = network.as_mut().events.pop_front() {
                (*event, found) = (first, 1);
            }
            Ok(())
        });
    }
    found
}

/// The number of nodes.
///
/// # Safety
/// `network` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_nodes(network: *const Network) -> u32 {
    // Safety: the caller's promise.
    unsafe { ask(network, 0, |network| network.session.nodes()) }
}

/// The time that the network has reached.
///
/// # Safety
/// `network` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_now_ps(network: *const Network) -> u64 {
    // Safety: the caller's promise.
    unsafe { ask(network, 0, |network| network.session.now().0) }
}

/// When something happens next within the network.
///
/// # Safety
/// `network` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_next_event_ps(network: *const Network) -> u64 {
    let never = Time::NEVER.0;
    // Safety: the caller's promise.
    unsafe {
        ask(network, never, |network| {
            network.session.next_time().map_or(never, |at| at.0)
        })
    }
}

/// Whether nothing is in flight.
///
/// # Safety
/// `network` is null or open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_is_idle(network: *const Network) -> i32 {
    // Safety: the caller's promise.
    unsafe { ask(network, 1, |network| i32::from(network.session.is_idle())) }
}

/// Writes the counters of all messages.
///
/// # Safety
/// `network` is null or open, `totals` null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_read_totals(network: *const Network, totals: *mut Totals) -> Status {
    // Safety: the caller's promise.
    unsafe {
        with(network.cast_mut(), |network| {
            let totals = totals
                .as_mut()
                .ok_or_else(|| invalid("`totals` is NULL; expected counters"))?;
            let all = network.as_ref().session.totals();
            *totals = Totals {
                messages: all.messages,
                packets: all.packets,
                bytes: all.bytes,
                hops: all.hops,
                packet_latency_mean_s: all.packet_latency_mean_s,
                packet_latency_max_s: all.packet_latency_max_s,
            };
            Ok(())
        })
    }
}

/// Writes the counters of the first `capacity` directions of links, and how many directions there are.
///
/// # Safety
/// `network` is null or open, `links` has room for `capacity` links, `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn odonata_read_links(
    network: *const Network,
    links: *mut Link,
    capacity: u64,
    count: *mut u64,
) -> Status {
    // Safety: the caller's promise.
    unsafe {
        with(network.cast_mut(), |network| {
            if links.is_null() && capacity > 0 {
                return Err(invalid(
                    "`links` is NULL; expected room for the counters, or the capacity 0",
                ));
            }
            let found = network.as_ref().session.links();
            for (place, link) in (0..capacity as usize).zip(&found) {
                links.add(place).write(Link::from(link));
            }
            if let Some(count) = count.as_mut() {
                *count = found.len() as u64;
            }
            Ok(())
        })
    }
}

/// Advances `network` outside its callbacks.
///
/// # Safety
/// `network` is null or open.
unsafe fn advance_by(name: &str, network: *mut Network, reach: impl FnOnce() -> Result<Reach, Failure>) -> Status {
    // Safety: the caller's promise; the reference ends before the time advances.
    unsafe {
        with(network, |network| {
            outside_callbacks(network.as_ref(), name)?;
            advance(network, reach()?);
            Ok(())
        })
    }
}

/// An answer of `network`; `otherwise` if it is null or broken.
///
/// # Safety
/// `network` is null or open.
unsafe fn ask<T>(network: *const Network, otherwise: T, answer: impl FnOnce(&Network) -> T) -> T {
    let mut found = otherwise;
    // Safety: the caller's promise. A shared reference only.
    unsafe {
        with(network.cast_mut(), |network| {
            found = answer(network.as_ref());
            Ok(())
        });
    }
    found
}

fn time_of(until_ps: u64) -> Result<Time, Failure> {
    match until_ps <= LATEST_PS {
        true => Ok(Time(until_ps)),
        false => Err(invalid(format!("`until_ps` is {until_ps}; expected at most 2^62"))),
    }
}

/// The settings at `texts`, each `KEY=VALUE`.
///
/// # Safety
/// `texts` is null or has `len` C strings.
unsafe fn list_of(texts: *const *const c_char, len: u64) -> Result<Vec<String>, Failure> {
    if texts.is_null() && len > 0 {
        return Err(invalid(
            "`overrides` is NULL; expected a list of texts, or the length 0",
        ));
    }
    // Safety: the caller's promise.
    let text = |place| unsafe { text_of(*texts.add(place), "overrides") };
    (0..len as usize).map(|place| text(place).map(String::from)).collect()
}

/// The place for an opened network, NULL until then.
///
/// # Safety
/// `network` is null or can be written.
unsafe fn place_of<'a>(network: *mut *mut Network) -> Result<&'a mut *mut Network, Failure> {
    // Safety: the caller's promise.
    let place = unsafe { network.as_mut() };
    let place = place.ok_or_else(|| invalid("`network` is NULL; expected the place of a pointer"))?;
    *place = std::ptr::null_mut();
    Ok(place)
}
