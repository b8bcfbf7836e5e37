//! Random programs with operations of every kind, and folders for them.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use odonata_program_file::{Field, Numbers, from_row, kind_names};
use odonata_units::SplitMix64;
use odonata_workload::{After, Comm, Counts, Cursor, Group, Op, OpId, Program};

/// A folder that is removed after the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("odonata-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Random numbers as a pure function of the state.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn next(&mut self) -> u64 {
        let mut generator = SplitMix64(self.0);
        let drawn = generator.next_u64();
        self.0 = generator.0;
        drawn
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

/// A program of random operations, which need not make sense to run.
///
/// Communicator 1 is a copy of the world, 2 the even or the odd ranks, in reverse.
#[derive(Debug)]
pub(crate) struct RandomProgram {
    seed: u64,
    ranks: u32,
    length: u32,
}

impl RandomProgram {
    pub(crate) fn new(seed: u64, ranks: u32, length: u32) -> RandomProgram {
        RandomProgram { seed, ranks, length }
    }

    fn draw(&self, rank: u32, number: u32) -> Op {
        let mut draws = Draws(self.seed << 48 ^ u64::from(rank) << 32 ^ u64::from(number));
        let kinds: Vec<_> = kind_names().collect();
        let kind = kinds[draws.below(kinds.len() as u64) as usize];
        let comm = draws.below(3) as u32;
        let members = u64::from(self.group(rank, Comm(comm)).unwrap().len());
        let mut numbers: Numbers = [None; Field::ALL.len()];
        // Adds required columns, and removes those that do not apply.
        while let Err(fault) = from_row(kind, &numbers) {
            let field = Field::ALL
                .into_iter()
                .find(|field| field.name() == fault.column)
                .unwrap();
            if fault.expected.starts_with("null") {
                numbers[field as usize] = None;
                continue;
            }
            let small = i128::from(draws.below(1 << 20));
            numbers[field as usize] = Some(match field {
                Field::Peer | Field::RecvPeer => match draws.below(8) {
                    0 => -2,
                    1 if fault.expected.contains("-1") || kind.contains("recv") || kind.contains("probe") => -1,
                    _ => i128::from(draws.below(members)),
                },
                Field::Root => i128::from(draws.below(members)),
                Field::Request if draws.below(4) == 0 && kind.starts_with('i') => -1,
                // Lists have the numbers of their operations.
                Field::Counts => number.into(),
                Field::Bytes | Field::Offset if draws.below(5) == 0 => u64::MAX.into(),
                // The upper 8 bits are for phases.
                Field::File => i128::from(draws.next() >> 8),
                _ => small,
            });
        }
        if takes(kind, numbers, Field::Comm) {
            numbers[Field::Comm as usize] = Some(comm.into());
        }
        for tag in [Field::Tag, Field::RecvTag] {
            if takes(kind, numbers, tag) {
                let any =
                    kind.contains("recv") && (tag == Field::RecvTag || kind != "sendrecv") || kind.contains("probe");
                let value = if any && draws.below(4) == 0 {
                    -1
                } else {
                    i128::from(draws.next() as u32)
                };
                numbers[tag as usize] = Some(value);
            }
        }
        if kind == "comm_free" {
            numbers[Field::Comm as usize] = Some(comm.max(1).into());
        }
        if let Some(new) = &mut numbers[Field::NewComm as usize] {
            *new = 1 + *new % 2;
        }
        let before = draws.below(u64::from(number.min(4)) + 1);
        let ids: Vec<OpId> = (0..before).map(|_| OpId(draws.below(number.into()) as u32)).collect();
        Op {
            id: OpId(number),
            stream: draws.below(3) as u16,
            after: After::from_slice(&ids).unwrap(),
            kind: from_row(kind, &numbers).unwrap_or_else(|fault| panic!("{kind}: {fault:?}")),
        }
    }
}

/// Whether the kind can have this field.
fn takes(kind: &str, mut numbers: Numbers, field: Field) -> bool {
    numbers[field as usize] = Some(1);
    from_row(kind, &numbers).is_ok()
}

impl Program for RandomProgram {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        // Rank 1 has no operations.
        if rank == 1 || rank >= self.ranks || cursor.op >= self.length {
            return None;
        }
        let op = self.draw(rank, cursor.op);
        cursor.op += 1;
        Some(op)
    }

    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        match comm.0 {
            0 | 1 => Some(Group::world(self.ranks)),
            2 => Some(Group::List(
                (0..self.ranks).rev().filter(|other| other % 2 == rank % 2).collect(),
            )),
            _ => None,
        }
    }

    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        let _ = rank;
        u64::from(counts.0) * 1_000_003 + u64::from(from) * 1_009 + u64::from(to)
    }

    fn describe(&self) -> String {
        format!("random program {}", self.seed)
    }
}
