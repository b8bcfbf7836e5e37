//! The messages between the processes of a run.
//!
//! **Exchange.** Every process sends every other process a *head*: the length of its data, and the first [`HEAD`] bytes. The rest, if any,
//! follows in pieces of at most 1 GiB (MPI counts in `i32`). Receivers post their receives for the heads in advance; a head says how much
//! more to expect. So a round of short messages costs the latency of one message, and long data travels directly from the sender's
//! buffer into the receiver's.
//!
//! Messages between two processes keep their order (MPI 3.1, section 3.5). So rounds need no numbers, and no process is more than
//! one round ahead of another. The first word of a message distinguishes heads from minima, so processes that are out of step detect it
//! instead of waiting forever.
//!
//! **Minimum.** By dissemination: in step k each process sends its value to the process 2^k ranks further on, and takes the
//! minimum with the value from 2^k ranks before. After ceil(log2 n) steps all processes know the minimum (Hensgen, Finkel and
//! Manber, 1988). `MPI_Allreduce` polls at full speed ([`patience`](crate::patience)); `MPI_Iallreduce` takes three times as long on two
//! processes of one node under both MPICH 4.0 and Open MPI 4.1.

use crate::patience::{Patience, Wait};
use crate::processes;
use mpi::request::{LocalScope, Request, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use odonata_engine::Transport;

/// Bytes of data in a head, behind the length.
///
/// A little less than 4 KiB, the limit up to which Open MPI sends through shared memory without a handshake; MPICH's is higher.
pub const HEAD: usize = 4_000;

/// The length, as u64, little-endian.
const LENGTH: usize = size_of::<u64>();

/// The longest piece of a rest, in bytes.
const PIECE: usize = 1 << 30;

/// Tags of heads and minima, and of the rest of the data. No other user of MPI in this process uses them.
const FIRST: i32 = 0x4f64;
const RESTS: i32 = FIRST + 1;

/// The processes that were started together, connected by MPI.
#[derive(Debug)]
pub struct Mpi {
    rank: usize,
    size: usize,
    piece: usize,
    /// Heads to send and heads received, one per process, side by side.
    sending: Vec<u8>,
    receiving: Vec<u8>,
    /// Minima to send and minima received.
    known: Vec<u64>,
    received: Vec<u64>,
    patience: Patience,
}

/// A message in flight.
type Pending<'a, 's> = Request<'a, [u8], &'s LocalScope<'a>>;

impl Mpi {
    /// Connects to the other processes; collective. Starts MPI if it does not run.
    ///
    /// # Errors
    /// MPI cannot be started; see [`start`](crate::start).
    pub fn connect() -> Result<Mpi, String> {
        processes::start()?;
        let size = processes::size();
        Ok(Mpi {
            rank: processes::rank(),
            size,
            piece: PIECE,
            sending: vec![0; size * (LENGTH + HEAD)],
            receiving: vec![0; size * (LENGTH + HEAD)],
            known: Vec::new(),
            received: Vec::new(),
            patience: Patience::default(),
        })
    }

    /// The same with pieces of `bytes` (at least 1, the same on all processes): tests make them small.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Mpi {
        self.piece = bytes.clamp(1, PIECE);
        self
    }

    /// Sends and receives: [`Transport::exchange`] without its checks.
    fn swap(&mut self, outgoing: &[Vec<u8>], incoming: &mut [Vec<u8>]) {
        let (me, piece) = (self.rank, self.piece);
        let others = move |process: &usize| *process != me;
        for (head, bytes) in self.sending.chunks_exact_mut(LENGTH + HEAD).zip(outgoing) {
            head[..LENGTH].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            let first = &bytes[..bytes.len().min(HEAD)];
            head[LENGTH..LENGTH + first.len()].copy_from_slice(first);
        }
        let world = processes::world();
        let (heads_out, patience) = (&self.sending, &mut self.patience);
        let heads_in = self.receiving.chunks_exact_mut(LENGTH + HEAD);
        scope(|scope| {
            let mut heads: Vec<_> = heads_in
                .zip(incoming)
                .enumerate()
                .filter(|(process, _)| others(process))
                .map(|(process, (head, bytes))| {
                    let source = peer(&world, process);
                    Some((
                        process,
                        source.immediate_receive_into_with_tag(scope, head, FIRST),
                        bytes,
                    ))
                })
                .collect();
            let mut pending: Vec<Option<Pending<'_, '_>>> = Vec::with_capacity(2 * heads.len());
            for process in (0..outgoing.len()).filter(others) {
                let (bytes, to) = (&outgoing[process], peer(&world, process));
                let head = &heads_out[process * (LENGTH + HEAD)..][..LENGTH + bytes.len().min(HEAD)];
                pending.push(Some(to.immediate_send_with_tag(scope, head, FIRST)));
                for rest in bytes.get(HEAD..).unwrap_or_default().chunks(piece) {
                    pending.push(Some(to.immediate_send_with_tag(scope, rest, RESTS)));
                }
            }
            let mut wait = patience.wait();
            let mut open = heads.len() + pending.len();
            while open > 0 {
                let before = open;
                for slot in &mut heads {
                    let Some((process, request, bytes)) = slot.take() else {
                        continue;
                    };
                    match request.test_with_data() {
                        Err(request) => *slot = Some((process, request, bytes)),
                        Ok((_, head)) => {
                            open -= 1;
                            for rest in unpack(head, bytes).chunks_mut(piece) {
                                let source = peer(&world, process);
                                pending.push(Some(source.immediate_receive_into_with_tag(scope, rest, RESTS)));
                                open += 1;
                            }
                        }
                    }
                }
                for slot in &mut pending {
                    let Some(request) = slot.take() else { continue };
                    match request.test() {
                        Err(request) => *slot = Some(request),
                        Ok(_) => open -= 1,
                    }
                }
                if open == before {
                    wait.pause();
                } else if open > 0 {
                    wait.go_on();
                }
            }
        });
    }
}

/// Process number `process`.
fn peer(world: &SimpleCommunicator, process: usize) -> mpi::topology::Process<'_> {
    // MPI counts processes in i32.
    world.process_at_rank(process as i32)
}

/// Makes `bytes` as long as `head` says, copies what the head holds of it, and returns the rest, still to come.
fn unpack<'a>(head: &[u8], bytes: &'a mut Vec<u8>) -> &'a mut [u8] {
    let (length, first) = head.split_at(LENGTH);
    let length = u64::from_le_bytes(length.try_into().expect("a head begins with a length"));
    assert!(
        length >> 63 == 0,
        "processes are out of step: this one exchanges, another wants a minimum"
    );
    let length = length as usize;
    // Not cleared before: the data overwrites it, and filling a large buffer with zeros costs as much as copying it.
    bytes.resize(length, 0);
    let (here, rest) = bytes.split_at_mut(length.min(HEAD));
    here.copy_from_slice(&first[..here.len()]);
    rest
}

/// Waits until `request` is done.
fn complete<'a, D: ?Sized>(mut request: Request<'a, D, &LocalScope<'a>>, wait: &mut Wait<'_>) {
    while let Err(not_yet) = request.test() {
        request = not_yet;
        wait.pause();
    }
}

impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<(), String> {
        processes::check_caller()?;
        if outgoing.len() != self.size || incoming.len() != self.size {
            return Err(format!(
                "{} buffers to send and {} to receive for {} processes",
                outgoing.len(),
                incoming.len(),
                self.size
            ));
        }
        if !outgoing[self.rank].is_empty() {
            return Err(format!("process {} sends to itself", self.rank));
        }
        incoming[self.rank].clear();
        self.swap(outgoing, incoming);
        outgoing.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    fn all_min(&mut self, values: &mut [u64]) -> Result<(), String> {
        processes::check_caller()?;
        let world = processes::world();
        // No length of a message, and no other number of values.
        let kind = !(values.len() as u64);
        let mut distance = 1;
        while distance < self.size {
            let to = peer(&world, (self.rank + distance) % self.size);
            let from = peer(&world, (self.rank + self.size - distance) % self.size);
            self.known.clear();
            self.known.push(kind);
            self.known.extend_from_slice(values);
            self.received.resize(self.known.len(), 0);
            let (known, received, patience) = (&self.known, &mut self.received, &mut self.patience);
            scope(|scope| {
                let receive = from.immediate_receive_into_with_tag(scope, &mut received[..], FIRST);
                let send = to.immediate_send_with_tag(scope, &known[..], FIRST);
                let mut wait = patience.wait();
                complete(receive, &mut wait);
                complete(send, &mut wait);
            });
            assert_eq!(
                self.received[0],
                kind,
                "processes are out of step: this one wants a minimum of {} values",
                values.len()
            );
            for (value, &other) in values.iter_mut().zip(&self.received[1..]) {
                *value = (*value).min(other);
            }
            distance *= 2;
        }
        Ok(())
    }
}
