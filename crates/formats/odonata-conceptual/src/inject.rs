//! Calls in text for the back end (BACKEND EXECUTES), as in Union programs.
//!
//! The text is not C: calls of known names are recognized when the program is compiled, and become ordinary operations.
//! `[MESSAGE BUFFER n]` and other names stand for memory, which a simulation does not have.

use std::collections::HashMap;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callee {
    Allreduce,
    Reduce,
    Bcast,
    Alltoall,
    Allgather,
    Gather,
    Scatter,
    Barrier,
    Send,
    Isend,
    Recv,
    Irecv,
    Sendrecv,
    Wait,
    Waitall,
    Compute,
    Mark,
    Open,
    Close,
    Read,
    Write,
}

/// One call; its numbers are counts, bytes of a type, peers, roots and tags, in argument order.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub callee: Callee,
    pub numbers: Vec<Number>,
    /// The named request, by its index in the program's list.
    pub request: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) enum Number {
    /// A product of numbers and of values in the text, by their indices.
    Product(f64, Vec<u32>),
    /// `ANY_SOURCE`, `ANY_TAG`.
    Any,
}

/// Names of calls without their prefix, and their arguments: `b`uffer, `n`umber, `t`ype, `o`perator, `c`ommunicator,
/// `r`equest, `s`tatus.
const CALLS: [(&str, Callee, &str); 21] = [
    ("mpi_allreduce", Callee::Allreduce, "bbntoc"),
    ("mpi_reduce", Callee::Reduce, "bbntonc"),
    ("mpi_bcast", Callee::Bcast, "bntnc"),
    ("mpi_alltoall", Callee::Alltoall, "bntbntc"),
    ("mpi_allgather", Callee::Allgather, "bntbntc"),
    ("mpi_gather", Callee::Gather, "bntbntnc"),
    ("mpi_scatter", Callee::Scatter, "bntbntnc"),
    ("mpi_barrier", Callee::Barrier, "c"),
    ("mpi_send", Callee::Send, "bntnnc"),
    ("mpi_isend", Callee::Isend, "bntnncr"),
    ("mpi_recv", Callee::Recv, "bntnncs"),
    ("mpi_irecv", Callee::Irecv, "bntnncr"),
    ("mpi_sendrecv", Callee::Sendrecv, "bntnnbntnncs"),
    ("mpi_wait", Callee::Wait, "rs"),
    ("mpi_waitall", Callee::Waitall, "nrs"),
    ("compute", Callee::Compute, "n"),
    ("mark_iteration", Callee::Mark, "n"),
    ("io_open_file", Callee::Open, "n"),
    ("io_close_file", Callee::Close, "n"),
    ("io_read", Callee::Read, "nn"),
    ("io_write", Callee::Write, "nn"),
];

/// Delimits the index of a value in the text.
const MARK: char = '\u{1}';

/// The text with its values replaced by marks.
pub(super) fn template<'a>(pieces: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let mut values = 0;
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Some(piece) => text.extend(piece.chars().filter(|&c| c != MARK)),
            None => {
                text.push_str(&format!("{MARK}{values}{MARK}"));
                values += 1;
            }
        }
    }
    text
}

/// The calls in `text`, possibly none; `requests` collects the names of requests.
///
/// # Errors
/// The text has anything else; the error lists the known calls.
pub(super) fn calls(text: &str, requests: &mut HashMap<String, u32>) -> Result<Vec<Call>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some(open) = rest.find('(') else {
            return Err(format!("{:?} is not a call: expected NAME(arguments);", show(rest)));
        };
        let name = rest[..open].trim();
        let mut depth = 0usize;
        let mut args = Vec::new();
        let mut start = open + 1;
        let mut close = None;
        for (at, c) in rest.char_indices().skip_while(|&(at, _)| at < open) {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        close = Some(at);
                        break;
                    }
                }
                ',' if depth == 1 => {
                    args.push(rest[start..at].trim());
                    start = at + 1;
                }
                _ => {}
            }
        }
        let Some(close) = close else {
            return Err(format!("the call of {name:?} has no closing parenthesis"));
        };
        let last = rest[start..close].trim();
        if !last.is_empty() || !args.is_empty() {
            args.push(last);
        }
        out.push(call(name, &args, requests)?);
        rest = rest[close + 1..].trim_start().trim_start_matches(';').trim_start();
        if out.len() > 256 {
            return Err("more than 256 calls in one text".into());
        }
    }
    Ok(out)
}

fn show(text: &str) -> String {
    let short: String = text.chars().take(40).map(|c| if c == MARK { '?' } else { c }).collect();
    short
}

fn call(name: &str, args: &[&str], requests: &mut HashMap<String, u32>) -> Result<Call, String> {
    let lower = name.to_ascii_lowercase();
    let bare = lower.strip_prefix("union_").unwrap_or(&lower);
    // Without the prefix of Union, only MPI calls are recognized.
    let known = CALLS
        .iter()
        .find(|(known, ..)| *known == bare && (bare.len() < lower.len() || bare.starts_with("mpi_")));
    let Some(&(_, callee, kinds)) = known else {
        if bare == "mpi_alltoallv" {
            return Err(format!(
                "{name} takes its counts from arrays in memory, which a simulation does not have"
            ));
        }
        return Err(format!(
            "{:?} is an unknown call: expected UNION_MPI_ or MPI_ Allreduce, Reduce, Bcast, Alltoall, Allgather, \
             Gather, Scatter, Barrier, Send, \
             Recv, Isend, Irecv, Sendrecv, Wait, Waitall, or UNION_Compute, UNION_Mark_Iteration, UNION_IO_OPEN_FILE, \
             UNION_IO_READ, UNION_IO_WRITE, UNION_IO_CLOSE_FILE",
            show(name)
        ));
    };
    if args.len() != kinds.len() {
        return Err(format!("{name} has {} arguments: expected {}", args.len(), kinds.len()));
    }
    let mut found = Call {
        callee,
        numbers: Vec::new(),
        request: None,
    };
    for (kind, arg) in kinds.chars().zip(args) {
        match kind {
            'n' => found
                .numbers
                .push(number(arg).ok_or_else(|| format!("argument {:?} of {name} is not a number", show(arg)))?),
            't' => {
                let bytes = type_bytes(arg).ok_or_else(|| {
                    format!(
                        "{:?} is an unknown data type; expected UNION_Int, MPI_DOUBLE, ...",
                        show(arg)
                    )
                })?;
                found.numbers.push(Number::Product(bytes, Vec::new()));
            }
            'c' => {
                let world = matches!(
                    arg.to_ascii_lowercase().as_str(),
                    "union_comm_world" | "mpi_comm_world" | "1"
                );
                if !world {
                    return Err(format!(
                        "communicator {:?} of {name}: only the world communicator is supported",
                        show(arg)
                    ));
                }
            }
            'r' => {
                let next = requests.len() as u32;
                found.request = Some(*requests.entry((*arg).to_owned()).or_insert(next));
            }
            _ => {}
        }
    }
    Ok(found)
}

fn type_bytes(name: &str) -> Option<f64> {
    let lower = name.to_ascii_lowercase();
    let bare = lower.strip_prefix("union_").or_else(|| lower.strip_prefix("mpi_"))?;
    Some(match bare {
        "byte" | "char" | "unsigned_char" => 1.0,
        "short" | "unsigned_short" => 2.0,
        "int" | "float" | "unsigned" => 4.0,
        "double" | "long" | "long_long" | "long_long_int" | "unsigned_long" => 8.0,
        _ => return None,
    })
}

/// The factors of `text`, without enclosing parentheses: `(2)*(3*4)` is 2, 3 and 4. `None` if parentheses do not match,
/// or are not at factor boundaries.
fn factors(text: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let mut depth = 0usize;
    for part in text.split('*') {
        let mut part = part.trim();
        while let Some(rest) = part.strip_prefix('(') {
            depth += 1;
            part = rest.trim_start();
        }
        while let Some(rest) = part.strip_suffix(')') {
            depth = depth.checked_sub(1)?;
            part = rest.trim_end();
        }
        found.push(part);
    }
    (depth == 0).then_some(found)
}

/// A number, a value of the text, or a product of these, with preceding casts.
fn number(text: &str) -> Option<Number> {
    let mut text = text.trim();
    if matches!(
        text.to_ascii_lowercase().as_str(),
        "mpi_any_source" | "mpi_any_tag" | "union_any_source" | "union_any_tag"
    ) {
        return Some(Number::Any);
    }
    for cast in ["int", "long", "long long", "double", "unsigned", "size_t", "int64_t"] {
        if let Some(rest) = text
            .strip_prefix('(')
            .and_then(|rest| rest.trim_start().strip_prefix(cast))
            && let Some(rest) = rest.trim_start().strip_prefix(')')
        {
            text = rest.trim_start();
        }
    }
    let mut factor = 1.0;
    let mut values = Vec::new();
    for part in factors(text)? {
        match part.strip_prefix(MARK).and_then(|part| part.strip_suffix(MARK)) {
            Some(value) => values.push(value.parse().ok()?),
            None => factor *= part.parse::<f64>().ok().filter(|value| value.is_finite())?,
        }
    }
    Some(Number::Product(factor, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_all_reduce_of_union_programs_is_recognised() {
        let text = template([
            Some("UNION_MPI_Allreduce([MESSAGE BUFFER 0], [MESSAGE BUFFER 1], (int)"),
            None,
            Some(", UNION_Int, UNION_Op_Sum, UNION_Comm_World);"),
        ]);
        let calls = calls(&text, &mut HashMap::new()).unwrap();
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].callee, Callee::Allreduce);
        assert!(
            matches!(&calls[0].numbers[..], [Number::Product(1.0, values), Number::Product(4.0, _)] if values == &[0])
        );
    }

    #[test]
    fn parentheses_around_factors_and_products_are_left_out() {
        for (text, product) in [
            ("(2)*(3)", 6.0),
            ("((2)*3)", 6.0),
            ("(int)(2*(3))*(4)", 24.0),
            ("( 5 )", 5.0),
            ("1e3", 1000.0),
        ] {
            let found = number(text);
            assert!(
                matches!(&found, Some(Number::Product(factor, values)) if *factor == product && values.is_empty()),
                "{text}: {found:?}"
            );
        }
        for text in ["(2", "2)", ")2(", "(2)(3)", "()", "2*", "(2)*)3("] {
            assert!(number(text).is_none(), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused_with_its_reason() {
        let refuse = |text: &str| calls(text, &mut HashMap::new()).unwrap_err();
        assert!(refuse("printf(\"x\");").contains("printf"));
        assert!(refuse("MPI_Barrier(my_comm);").contains("only the world"));
        assert!(refuse("MPI_Barrier(MPI_COMM_WORLD").contains("closing"));
        assert!(refuse("MPI_Bcast(b, x, MPI_INT, 0, MPI_COMM_WORLD);").contains("is not a number"));
        assert!(refuse("MPI_Bcast(b);").contains("expected 5"));
        assert!(refuse(";").contains("is not a call"));
        assert!(calls(" \n ", &mut HashMap::new()).unwrap().is_empty());
        assert!(refuse("Compute(5);").contains("Compute"));
        assert_eq!(
            calls("MPI_Wait(&r, s); MPI_Barrier(MPI_COMM_WORLD)", &mut HashMap::new())
                .unwrap()
                .len(),
            2
        );
    }
}
