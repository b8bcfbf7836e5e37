//! Calls in the text for the back end, as operations.

use odonata_units::Time;
use odonata_workload::collective::{Arguments, Kind};
use odonata_workload::{Collective, Comm, Counts, FILE_BITS, OpKind, Request, Source, Tag};

use super::super::eval::Env;
use super::super::functions::{OVERFLOW, Value, to_int};
use super::super::inject::{Call, Callee, Number};
use super::super::instance::NAMED;
use super::super::ir::Expr;

/// The arguments of a call; `None` for `ANY`.
type Numbers = [Option<i64>; 8];

/// The number of a file in operations.
pub(super) fn file_number(number: i64) -> Value<u64> {
    match u64::try_from(number) {
        Err(_) => Err("negative file number"),
        Ok(number) if number >> FILE_BITS > 0 => Err("a file number of 2^56 or more"),
        Ok(number) => Ok(number),
    }
}

/// The arguments of `call`, whose text has these values.
pub(super) fn numbers(call: &Call, values: &[Expr], env: &Env) -> Value<Numbers> {
    let mut numbers = [Some(0); 8];
    for (slot, number) in numbers.iter_mut().zip(&call.numbers) {
        *slot = match number {
            Number::Any => None,
            Number::Product(factor, of) => {
                let mut product = *factor;
                for &value in of {
                    product *= env.float(values.get(value as usize).unwrap_or(&Expr::Int(0)))?;
                }
                Some(to_int(product.trunc())?)
            }
        };
    }
    Ok(numbers)
}

/// The operation of `call` in a program of `tasks` ranks with `named` requests.
pub(super) fn operation(call: &Call, numbers: Numbers, tasks: u32, named: u32) -> Value<OpKind> {
    let comm = Comm::WORLD;
    let ranks = i64::from(tasks);
    let positive = |at: usize| {
        let number = numbers[at].ok_or("ANY where a number is expected")?;
        u64::try_from(number).map_err(|_| "negative number in a call for the back end")
    };
    let total = |at: usize| positive(at)?.checked_mul(positive(at + 1)?).ok_or(OVERFLOW);
    let rank = |at: usize| match numbers[at] {
        Some(rank) if (0..ranks).contains(&rank) => Ok(rank as u32),
        _ => Err("a rank out of range in a call for the back end"),
    };
    let source = |at: usize| match numbers[at] {
        None => Ok(Source::Any),
        Some(_) => rank(at).map(Source::Rank),
    };
    let tag = |at: usize| u32::try_from(positive(at)?).map_err(|_| "a tag out of range in a call for the back end");
    let match_tag = |at: usize| match numbers[at] {
        None => Ok(Tag::Any),
        Some(_) => tag(at).map(Tag::Is),
    };
    let file = || file_number(numbers[0].ok_or("ANY where a number is expected")?);
    let request = Request(NAMED + call.request.unwrap_or(0));
    let collective = |kind: Kind, root: Option<usize>| -> Value<OpKind> {
        let arguments = Arguments {
            root: root.map_or(Ok(0), rank)?,
            bytes: total(0)?,
            count: positive(0)?,
            counts: Counts(0),
        };
        Ok(OpKind::Collective(kind.call(comm, arguments)))
    };
    Ok(match call.callee {
        Callee::Allreduce => collective(Kind::Allreduce, None)?,
        Callee::Reduce => collective(Kind::Reduce, Some(2))?,
        Callee::Bcast => collective(Kind::Broadcast, Some(2))?,
        Callee::Alltoall => collective(Kind::Alltoall, None)?,
        Callee::Allgather => collective(Kind::Allgather, None)?,
        Callee::Gather => collective(Kind::Gather, Some(4))?,
        Callee::Scatter => collective(Kind::Scatter, Some(4))?,
        Callee::Barrier => OpKind::Collective(Collective::Barrier { comm }),
        Callee::Send => OpKind::Send {
            to: rank(2)?,
            tag: tag(3)?,
            bytes: total(0)?,
            comm,
        },
        Callee::Isend => OpKind::Isend {
            to: rank(2)?,
            tag: tag(3)?,
            bytes: total(0)?,
            comm,
            request,
        },
        Callee::Recv => OpKind::Recv {
            from: source(2)?,
            tag: match_tag(3)?,
            bytes: total(0)?,
            comm,
        },
        Callee::Irecv => OpKind::Irecv {
            from: source(2)?,
            tag: match_tag(3)?,
            bytes: total(0)?,
            comm,
            request,
        },
        Callee::Sendrecv => OpKind::Sendrecv {
            to: rank(2)?,
            send_tag: tag(3)?,
            send_bytes: total(0)?,
            from: source(6)?,
            recv_tag: match_tag(7)?,
            recv_bytes: total(4)?,
            comm,
        },
        Callee::Wait => OpKind::Wait { request },
        Callee::Waitall => OpKind::WaitAll {
            first: Request(NAMED),
            count: named,
        },
        Callee::Compute => OpKind::Compute {
            // In nanoseconds.
            duration: Time(
                positive(0)?
                    .checked_mul(1_000)
                    .filter(|&ps| ps <= 1 << 62)
                    .ok_or("a time of more than 2^62 ps")?,
            ),
        },
        Callee::Mark => OpKind::Mark {
            iteration: u32::try_from(positive(0)?).map_err(|_| "an iteration out of range")?,
        },
        Callee::Open => OpKind::Open { file: file()? },
        Callee::Close => OpKind::Close { file: file()? },
        Callee::Read => OpKind::Read {
            file: file()?,
            offset: 0,
            bytes: positive(1)?,
        },
        Callee::Write => OpKind::Write {
            file: file()?,
            offset: 0,
            bytes: positive(1)?,
        },
    })
}
