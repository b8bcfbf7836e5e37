//! Scenarios, in three stages: *written* by the user ([`written`]), *merged* with a preset and with overrides
//! ([`Document`]), and *resolved* ([`resolved`]): every default filled in, every rule checked, every rank placed.
//!
//! A mistake results in an [`InputError`] with file, line, key, value and expectation, in whichever stage it is found:
//! the merged document keeps the place of every key. Nothing is created or run before a scenario is resolved.

mod alone;
mod alternatives;
mod clock;
mod document;
mod error;
pub mod job;
pub mod layout;
mod named;
pub mod presets;
mod reader;
mod resolve;
pub mod resolved;
pub mod run;
mod schema;
mod start;
pub mod timeline;
mod tree;
pub mod workload;
pub mod written;

use std::path::Path;

pub use document::Document;
pub(crate) use error::nearest;
pub use error::{InputError, Problem};
pub use named::Named;
pub use odonata_network::settings::Clock;
pub use resolved::{Hardware, Resolved};
pub use schema::schema;

use crate::placement::{self, Placement};

/// A scenario that can be simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Every parameter.
    pub resolved: Resolved,
    /// The location of every rank and server.
    pub placement: Placement,
    /// The origin of every key, for errors that are found later.
    pub document: Document,
}

/// Loads a scenario from its text.
///
/// `name` is the file's name in errors, and its stem is the default name of the scenario. `overrides` have the form
/// `key.path=value` (value: TOML, or else a string) and are merged last; `seed`, if given, replaces the scenario's.
/// Relative paths start at `folder`.
///
/// # Errors
/// The first mistake that is found.
pub fn load(
    text: &str,
    name: &str,
    overrides: &[String],
    seed: Option<u64>,
    folder: impl AsRef<Path>,
) -> Result<Scenario, InputError> {
    let scenario = load_to_check(text, name, overrides, seed, folder)?;
    match scenario.resolved.jobs.is_empty() {
        true => Err(scenario.document.locate(resolve::no_jobs())),
        false => Ok(scenario),
    }
}

/// Loads a scenario that may have no jobs, which can be checked but not run; see [`load`].
///
/// # Errors
/// The first mistake that is found.
pub fn load_to_check(
    text: &str,
    name: &str,
    overrides: &[String],
    seed: Option<u64>,
    folder: impl AsRef<Path>,
) -> Result<Scenario, InputError> {
    let document = Document::merge(name, text, overrides)?;
    let mut written = document.read()?;
    written.seed = seed.unwrap_or(written.seed);
    let resolved = resolve::resolve(written, &document, stem(name), folder.as_ref())
        .map_err(|problem| document.locate(problem))?;
    let placement = placement::place(&resolved).map_err(|problem| document.locate(problem))?;
    Ok(Scenario {
        resolved,
        placement,
        document,
    })
}

/// Loads the machine and the network of a scenario, which may have no jobs; see [`load`].
///
/// # Errors
/// The first mistake that is found in them.
pub fn load_hardware(
    text: &str,
    name: &str,
    overrides: &[String],
    folder: impl AsRef<Path>,
) -> Result<Hardware, InputError> {
    let document = Document::merge(name, text, overrides)?;
    let written = document.read()?;
    resolve::hardware(written, &document, stem(name), folder.as_ref()).map_err(|problem| document.locate(problem))
}

/// The default name of a scenario. Errors show a scenario without a file as, e.g., `<dict>`, which is not a name for
/// titles.
fn stem(name: &str) -> &str {
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str());
    stem.filter(|stem| !stem.starts_with('<')).unwrap_or("scenario")
}
