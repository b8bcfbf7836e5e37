//! Collectives of NCCL: several concurrent channels, chunk by chunk, with one of its protocols.
//!
//! A *channel* is a separate ring of all ranks with a part of the data. It moves its part in *loops* of at most one
//! chunk per rank, one loop after the other; a step of a loop sends a chunk, receives one, and reduces it if required.
//! Z. Hu, S. Shen, T. Bonato, S. Jeaugey et al., "Demystifying NCCL: an in-depth analysis of GPU communication
//! protocols and algorithms", 2025. For n bytes on p ranks
//!
//! | collective | steps of a loop | bytes of a step, over all loops of a channel | reducing steps |
//! |---|---|---|---|
//! | all-reduce | 2 (p - 1) | n / (p C) | the first p - 1 |
//! | all-gather | p - 1 | n / (p C) | none |
//! | reduce-scatter | p - 1 | n / (p C) | all |
//! | broadcast | one per chunk on its way around the ring, pipelined | n / C | none |
//!
//! With one channel and one chunk, an all-reduce takes 2 (p - 1) (α + β n / p) (P. Patarasuk, X. Yuan, JPDC 69(2),
//! 2009), a broadcast of k chunks (p - 1) (α + β n / k), and for each chunk after the first the same without the
//! network latency.
//!
//! The ring of channel c enters every host at GPU c and passes its GPUs in descending order, wrapping around; it leaves
//! the host for GPU c of the next one, so each channel has its own rail if packets are routed by PXN.
//!
//! | protocol | bytes sent for n bytes of data | latency of a step |
//! |---|---|---|
//! | simple | n | 6 us |
//! | LL: flags of 4 B after every 4 B | 8 ceil(n / 4) | 1 us |
//! | LL128: 120 B of a line of 128 B | 128 ceil(n / 120) | 2 us |
//!
//! All-reduces use rings, or double binary trees and the switches of hosts (`tree.rs`); all-gathers and reduce-scatters
//! rings or parallel aggregated trees (`pat.rs`). `tuning.rs` is NCCL's choice.
//!
//! Latencies are from table I of that paper. The base time of a call is NCCL's own estimate for its rings (`baseLat` in
//! `src/graph/tuning.cc` of NCCL 2.11).
//!
//! Channels are streams of a rank; joins of four at a time end a call. If the rate of a channel is limited, a step takes
//! latency + bytes / rate at least, whatever share of the links is free: then the latencies of the channels do not
//! overlap with each other's transfers, and the ring takes the 2 (p - 1) (latency + n / (p C rate)) of NCCL's estimate.

mod call;
mod params;
mod pat;
mod tree;
mod tuning;

use odonata_units::{Bytes, PerByte, Time, counted};

use crate::op::PROC_NULL;
use crate::program::check_length;
use crate::{After, Comm, Cursor, Op, OpId, OpKind, Program, Source, Tag};
pub use params::{NcclAlgorithm, NcclCollective, NcclParams, NcclProtocol};

/// Rings of NCCL.
///
/// An iteration: the base time of a call, with the computation before it; the steps, by loop, step and channel, each a
/// concurrent send and receive and the time of the step; joins of four channels; mark. [`Cursor::words`]: iteration,
/// loop, step, next part of the step, number of the operation that began the call.
#[derive(Clone, Debug)]
pub struct Nccl {
    ranks: u32,
    params: NcclParams,
    channels: u32,
    gpus: u32,
    /// Loops of a channel, and steps of a loop.
    loops: u32,
    steps: u32,
    /// Operations of a step of a channel: its pace, if that is limited, its transfer, and its time, if nonzero or after a
    /// pace.
    parts: u32,
}

impl Nccl {
    /// The program on `ranks` ranks; `params` are resolved.
    ///
    /// # Errors
    /// There are no ranks or no iterations, or too many operations.
    pub fn new(ranks: u32, params: &NcclParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        let bytes = params.bytes.0;
        let channels = params.channels_in_use();
        let gpus = params.gpus_per_host.min(ranks).max(1);
        let by_trees = params.algorithm.is_by_trees();
        let longest = bytes.div_ceil(u64::from(if by_trees { 2 * channels } else { channels }));
        let blocks = match params.collective {
            NcclCollective::Broadcast => 1,
            _ if by_trees => 1,
            _ => u64::from(ranks),
        };
        let loops = longest.div_ceil(blocks.saturating_mul(params.chunk.0.max(1))).max(1);
        let around = u64::from(ranks - 1);
        let (loops, steps) = match params.collective {
            _ if ranks == 1 => (1, 0),
            _ if by_trees => (loops, 1),
            _ if params.algorithm == NcclAlgorithm::Pat => (loops, u64::from(pat::Trees::of(params, ranks).steps())),
            NcclCollective::AllReduce => (loops, 2 * around),
            NcclCollective::AllGather | NcclCollective::ReduceScatter => (loops, around),
            // A chunk is forwarded while the next one arrives.
            NcclCollective::Broadcast => (1, loops + 1),
        };
        let timed = *params.step_latency > Time::ZERO || params.reduction != PerByte::default();
        // The end of a step waits for its pace.
        let parts = if params.channel_bandwidth.is_some() {
            3
        } else {
            1 + u32::from(timed)
        };
        let mut nccl = Nccl {
            ranks,
            params: params.clone(),
            channels,
            gpus,
            loops: 1,
            steps: steps as u32,
            parts,
        };
        let each = loops.saturating_mul(steps).saturating_mul(nccl.operations_of_a_step());
        check_length(params.iterations, each.saturating_add(2 * u64::from(channels) + 2))?;
        nccl.loops = loops as u32;
        Ok(nccl)
    }

    /// Number of channels in use.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Position of `rank` in the ring of `channel`, from 0; a host's GPUs come in descending order from that of the
    /// channel, wrapping around.
    fn position(&self, channel: u32, rank: u32) -> u32 {
        let (host, gpu) = (rank / self.gpus, rank % self.gpus);
        host * self.gpus + (channel % self.gpus + self.gpus - gpu) % self.gpus
    }

    /// The rank at `position` of the ring of `channel`.
    fn rank_at(&self, channel: u32, position: u32) -> u32 {
        let (host, place) = (position / self.gpus, position % self.gpus);
        host * self.gpus + (channel % self.gpus + self.gpus - place) % self.gpus
    }

    /// Bytes of block `block` of `blocks` of the part of loop `turn` of `turns`, of `channel`.
    fn block(&self, channel: u32, turn: (u32, u32), block: (u32, u32)) -> u64 {
        self.piece(&[(channel, self.channels), turn, block])
    }

    /// Bytes of a nested part: each cut is (index, number of parts).
    fn piece(&self, cuts: &[(u32, u32)]) -> u64 {
        cuts.iter().fold(self.params.bytes.0, |bytes, &(index, count)| {
            let before = |index: u32| (u128::from(bytes) * u128::from(index) / u128::from(count)) as u64;
            before(index + 1) - before(index)
        })
    }

    /// Sends and receives of a rank in a step: (rank, bytes of data) each.
    fn transfer(&self, rank: u32, channel: u32, turn: u32, step: u32) -> [(u32, u64); 2] {
        let p = self.ranks;
        if self.params.algorithm == NcclAlgorithm::Pat {
            return self.transfer_of_trees(rank, channel, turn, step);
        }
        let own = self.position(channel, rank);
        let right = self.rank_at(channel, (own + 1) % p);
        let left = self.rank_at(channel, (own + p - 1) % p);
        if self.params.collective == NcclCollective::Broadcast {
            let chunks = self.steps - 1;
            let after_root = (own + p - self.position(channel, 0)) % p;
            let size = |chunk: u32| self.block(channel, (chunk, chunks), (0, 1));
            let sends = step > 0 && after_root + 1 < p;
            let receives = step < chunks && after_root > 0;
            return [
                if sends { (right, size(step - 1)) } else { (PROC_NULL, 0) },
                if receives { (left, size(step)) } else { (PROC_NULL, 0) },
            ];
        }
        // Blocks advance by one position per step; in the second round they are complete.
        let (gather, step) = (step / (p - 1), step % (p - 1));
        let given = (own + p - step + gather) % p;
        let got = (given + p - 1) % p;
        let size = |block: u32| self.block(channel, (turn, self.loops), (block, p));
        [(right, size(given)), (left, size(got))]
    }

    /// Time of a step in addition to its transfer, for this number of received data bytes.
    fn time(&self, step: u32, got: u64) -> Time {
        let reduces = match self.params.collective {
            NcclCollective::AllReduce => step < self.ranks - 1,
            NcclCollective::ReduceScatter => true,
            NcclCollective::AllGather | NcclCollective::Broadcast => false,
        };
        let summing = if reduces { got } else { 0 };
        *self.params.step_latency + self.params.reduction.time_for(Bytes(summing))
    }
}

/// Places of an iteration except its steps.
const CALL: u32 = 0;
const STEPS: u32 = 1;

impl Nccl {
    /// Place after the steps of an iteration of rings.
    fn steps_end(&self) -> u32 {
        STEPS + self.channels * self.parts
    }

    /// Place after the joins of an iteration of rings: that of its mark.
    fn joins_end(&self) -> u32 {
        let joins = match self.steps {
            0 => 0,
            _ => self.channels.div_ceil(After::MOST as u32),
        };
        self.steps_end() + joins
    }
}

impl Program for Nccl {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Enough for all channels to proceed, some steps ahead of each other.
    fn look_ahead(&self) -> u32 {
        if !self.params.algorithm.is_by_trees() {
            (8 * self.channels * self.parts).max(256)
        } else {
            // The next call begins when this one has ended. The first chunk of switches between hosts has more operations.
            let chunks = match self.params.algorithm {
                NcclAlgorithm::Collnet => tree::AHEAD,
                _ => tree::AHEAD.min(self.loops),
            };
            (chunks * self.blocks() * self.slots_of_a_chunk()).max(256)
        }
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if self.params.algorithm.is_by_trees() {
            return self.next_of_trees(rank, cursor);
        }
        let [mut iteration, mut turn, mut step, mut place, mut call] = cursor.words;
        if rank >= self.ranks || iteration >= self.params.iterations {
            return None;
        }
        let id = OpId(cursor.op);
        let (steps_end, joins_end) = (self.steps_end(), self.joins_end());
        if place == STEPS && self.steps == 0 {
            place = steps_end;
        }
        let (mut stream, mut after) = (0, After::NONE);
        let kind = if place == CALL {
            call = cursor.op;
            place = STEPS;
            OpKind::Compute {
                duration: self.params.compute + *self.params.launch,
            }
        } else if place < steps_end {
            let (channel, part) = ((place - STEPS) / self.parts, (place - STEPS) % self.parts);
            let [(to, give), (from, get)] = self.transfer(rank, channel, turn, step);
            stream = channel as u16;
            let pace = self.params.channel_bandwidth;
            let is_first = turn == 0 && step == 0;
            let kind = match (part, pace) {
                (0, Some(rate)) => {
                    // Beside the transfer, on a stream of its own, from the end of the channel's previous step.
                    stream += self.channels as u16;
                    let before = match is_first {
                        true => call,
                        false => cursor.op + self.parts - 1 - self.channels * self.parts,
                    };
                    after = After::ops(&[OpId(before)]);
                    let most = self.params.protocol.wire(give.max(get));
                    OpKind::Compute {
                        duration: rate.time_for(Bytes(most)),
                    }
                }
                (0, None) | (1, Some(_)) => {
                    if is_first {
                        after = After::ops(&[OpId(call)]);
                    }
                    OpKind::Sendrecv {
                        to,
                        send_tag: channel,
                        send_bytes: self.params.protocol.wire(give),
                        from: Source::Rank(from),
                        recv_tag: Tag::Is(channel),
                        recv_bytes: self.params.protocol.wire(get),
                        comm: Comm::WORLD,
                    }
                }
                _ => {
                    if pace.is_some() {
                        after = After::ops(&[OpId(cursor.op - 2)]);
                    }
                    OpKind::Compute {
                        duration: self.time(step, get),
                    }
                }
            };
            place += 1;
            if place == steps_end && (turn + 1, step + 1) != (self.loops, self.steps) {
                place = STEPS;
                (turn, step) = match step + 1 {
                    next if next < self.steps => (turn, next),
                    _ => (turn + 1, 0),
                };
            }
            kind
        } else if place < joins_end {
            let join = place - steps_end;
            let first = cursor.op - join - self.channels * self.parts;
            let mut last = [OpId(0); After::MOST];
            let mut count = 0;
            for channel in (After::MOST as u32 * join..self.channels).take(After::MOST) {
                last[count] = OpId(first + (channel + 1) * self.parts - 1);
                count += 1;
            }
            after = After::from_slice(&last[..count]).unwrap_or(After::NONE);
            place += 1;
            OpKind::Compute { duration: Time::ZERO }
        } else {
            let mark = OpKind::Mark { iteration };
            (iteration, turn, step, place) = (iteration + 1, 0, 0, CALL);
            mark
        };
        cursor.words = [iteration, turn, step, place, call];
        cursor.op += 1;
        Some(Op {
            id,
            stream,
            after,
            kind,
        })
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.params.iterations)
    }

    fn describe(&self) -> String {
        let NcclParams {
            collective,
            bytes,
            algorithm,
            protocol,
            iterations,
            ..
        } = &self.params;
        let by = match algorithm {
            NcclAlgorithm::Ring | NcclAlgorithm::Auto => "rings",
            NcclAlgorithm::Tree => "double binary trees",
            NcclAlgorithm::Pat => "parallel aggregated trees",
            NcclAlgorithm::Nvls => "the switches of hosts",
            NcclAlgorithm::Collnet => "the switches of hosts and those between them",
        };
        format!(
            "NCCL {} of {} by {by}, {} ranks, {}, {} channels in {} steps, protocol {}",
            collective.name(),
            **bytes,
            self.ranks,
            counted(*iterations, "iteration"),
            self.channels,
            u64::from(self.loops) * u64::from(self.steps),
            protocol.name(),
        )
    }
}

#[cfg(test)]
mod tests;
