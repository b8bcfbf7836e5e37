//! What a file says after its records: header, footer, sizes of datatypes, found through the index at its end.

use std::io::{Read, Seek};

use super::error::{Fault, Found};
use super::input::Input;
use super::table::CALLS;

/// First and index magic.
pub(super) const MAGIC: u64 = 0xffaa_dd44_554d_5049;
/// Magic of the footer.
pub(super) const FOOTER: u64 = 0xf007_fee7;
/// Where the body starts in a file that does not say.
pub(super) const BODY: u64 = 8;

/// Version of the format: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8, pub u8, pub u8);

/// How often calls were made, by label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Calls.
    pub calls: Vec<u32>,
    /// Calls without a record, as they were made from within another.
    pub ignored: Vec<u32>,
}

/// What is known of a file besides its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Version of the format.
    pub version: Version,
    /// Start of the program, Unix seconds.
    pub start_time: u64,
    /// The machine that traced.
    pub hostname: String,
    /// The user.
    pub username: String,
    /// Counts of calls.
    pub footer: Option<Footer>,
    /// Size of each datatype in bytes, by id; 0: not used. Empty where the file does not say.
    pub sizes: Vec<i32>,
    /// Where the records end.
    pub(super) body_end: u64,
    pub(super) body: u64,
}

/// The offsets of the index, from the back.
struct Index {
    header: u64,
    body: u64,
    footer: u64,
    sizes: u64,
}

/// Finds the index of a file of `length` bytes; `None` if it has none, as the program died.
fn index<R: Read + Seek>(input: &mut Input<R>, length: u64) -> Found<Option<Index>> {
    // From the longest to the shortest: magic, then (sizes, (addresses, (perf labels))), header, body, footer, keyvals.
    for words in [8, 7, 6, 5] {
        let size = words * 8;
        if length < size + BODY {
            continue;
        }
        input.seek(length - size, length)?;
        if input.u64()? != MAGIC {
            continue;
        }
        let sizes = if words == 8 { input.u64()? } else { 0 };
        for _ in 5..words.min(7) {
            input.u64()?;
        }
        let (header, body, footer) = (input.u64()?, input.u64()?, input.u64()?);
        for (name, offset) in [("header", header), ("body", body), ("footer", footer), ("sizes", sizes)] {
            if offset > length - size {
                let expected = format!("at most {}, where the index is", length - size);
                return Err(Fault::new(
                    length - size,
                    format!("the {name} at byte {offset}"),
                    expected,
                ));
            }
        }
        let body = if body == 0 { BODY } else { body };
        // The start of a longer index that was cut off looks like a short one.
        if words < 8 && !(header > body && is_footer(input, footer, length)) {
            continue;
        }
        return Ok(Some(Index {
            header,
            body,
            footer,
            sizes,
        }));
    }
    Ok(None)
}

/// Whether there is a footer at `offset`.
fn is_footer<R: Read + Seek>(input: &mut Input<R>, offset: u64, length: u64) -> bool {
    offset > 0 && input.seek(offset, length).is_ok() && input.u64().is_ok_and(|magic| magic == FOOTER)
}

/// Reads what is after the records of a file of `length` bytes; `None` where the file has no index.
pub(super) fn read<R: Read + Seek>(input: &mut Input<R>, length: u64) -> Found<Option<Trailer>> {
    input.seek(0, length)?;
    match input.u64() {
        Ok(MAGIC) => {}
        Ok(other) => {
            let expected = format!("{MAGIC:#018x}, as at the start of every DUMPI file");
            return Err(Fault::new(0, format!("{other:#018x}"), expected));
        }
        Err(fault) => return Err(fault),
    }
    let Some(index) = index(input, length)? else {
        return Ok(None);
    };
    if index.header <= index.body {
        let problem = format!("the header at byte {}", index.header);
        return Err(Fault::new(
            length,
            problem,
            format!("it after the body at byte {}", index.body),
        ));
    }
    input.seek(index.header, length)?;
    let version = Version(input.u8()?, input.u8()?, input.u8()?);
    let start_time = input.u64()?;
    let (hostname, username) = (input.short_text()?, input.short_text()?);
    let footer = match index.footer {
        0 => None,
        offset => Some(footer(input, offset, length)?),
    };
    let mut sizes = Vec::new();
    if index.sizes != 0 {
        input.seek(index.sizes, length)?;
        let count = input.length(4)?;
        sizes.reserve_exact(count);
        for _ in 0..count {
            sizes.push(input.i32()?);
        }
    }
    Ok(Some(Trailer {
        version,
        start_time,
        hostname,
        username,
        footer,
        sizes,
        body: index.body,
        body_end: index.header,
    }))
}

fn footer<R: Read + Seek>(input: &mut Input<R>, offset: u64, length: u64) -> Found<Footer> {
    input.seek(offset, length)?;
    let magic = input.u64()?;
    if magic != FOOTER {
        return Err(Fault::new(
            offset,
            format!("{magic:#018x}"),
            format!("{FOOTER:#018x}, the start of a footer"),
        ));
    }
    let mut table = || -> Found<Vec<u32>> {
        let calls = (0..CALLS).map(|_| input.u32()).collect::<Found<Vec<u32>>>()?;
        input.u32()?; // their sum
        Ok(calls)
    };
    Ok(Footer {
        calls: table()?,
        ignored: table()?,
    })
}
