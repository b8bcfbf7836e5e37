//! All-reduces of NCCL by double binary trees, and by the switches of hosts.
//!
//! **Trees.** Each channel has two binary trees over the hosts, each with half of the channel's data. A host with
//! children in one tree is a leaf of the other, with at most one exception (P. Sanders, J. Speck, J. Träff, "Two-tree
//! algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35(12), 2009; NCCL,
//! `src/graph/trees.cc`, whose numbering this is). In a host the GPUs are a chain that begins at the GPU of the
//! channel: it is linked to the parent host and one child host, the second GPU to the other child (NCCL's "balanced
//! tree"). Chunks go up the tree and are summed, and go down again, pipelined.
//!
//! **NVLS.** The switches of a host sum data read from all of its g GPUs, and multicast a write to all of them. For b
//! bytes, each GPU provides b for reading and b / g for writing, and receives b / g and b: b (1 + 1 / g) each way,
//! versus 2 b (g - 1) / g for a ring. Messages have no in-switch reduction: a chunk is two exchanges among all GPUs of
//! the host with half of that each, in which a GPU sends equally to all others; this loads all links equally. Between
//! hosts a GPU's share, b / g, uses the two trees of hosts (`NVLS_TREE`), on its rail.
//!
//! **CollNet.** The switches between hosts sum as well (R. Graham et al., "SHARP streaming-aggregation", ISC 2020): each GPU
//! sends its share, b / g, once, and receives the sum. A tree of switches carries one such stream each way on every link
//! that it uses, whatever the number of hosts below. So does a shift: each GPU sends to the next host and receives from
//! the previous one, and of hosts placed one after the other only one below a switch sends out of it. What a shift lacks is
//! that the sum needs all hosts: an empty message from every host to the first, and back, ends the first chunk. n bytes
//! on h hosts of one GPU in k chunks take the latency of two messages, and k (α + step_latency + β n / (2 C k)) on each
//! of 2 C streams.
//!
//! For each chunk of a tree, a rank performs the applicable slots on two streams:
//!
//! | stream | slots |
//! |---|---|
//! | up | exchange; receive from the first child; from the second; time of the step and of the sum; send to the parent |
//! | down (for the root: up) | receive from the parent; time of the step; send to the first child; to the second; exchange |

use odonata_units::{Bytes, Time};

use super::{Nccl, NcclAlgorithm};
use crate::{After, Comm, Cursor, Op, OpId, OpKind, Source, Tag};

/// The neighbors of a rank in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    pub parent: Option<u32>,
    pub children: [Option<u32>; 2],
}

/// NCCL's binary tree on ranks 0 to `n` - 1, with root 0: odd ranks are leaves.
fn binary_tree(n: u32, rank: u32) -> Links {
    if rank == 0 {
        let children = [None, (n > 1).then(|| n.next_power_of_two() / 2)];
        return Links { parent: None, children };
    }
    let bit = rank & rank.wrapping_neg();
    let above = (rank ^ bit) | (bit << 1);
    let parent = Some(if above < n { above } else { rank ^ bit });
    let half = bit / 2;
    if half == 0 {
        return Links {
            parent,
            children: [None, None],
        };
    }
    let mut step = half;
    while step > 0 && rank + step >= n {
        step /= 2;
    }
    Links {
        parent,
        children: [Some(rank - half), (step > 0).then_some(rank + step)],
    }
}

/// The first or second tree of the double binary tree on `n` ranks: the second is the first one mirrored, or shifted by
/// one if n is odd.
pub(super) fn double_tree(n: u32, second: bool, rank: u32) -> Links {
    let (to, from): (&dyn Fn(u32) -> u32, &dyn Fn(u32) -> u32) = match (second, n % 2) {
        (false, _) => (&|rank| rank, &|rank| rank),
        (true, 0) => (&|rank| n - 1 - rank, &|rank| n - 1 - rank),
        (true, _) => (&|rank| (rank + n - 1) % n, &|rank| (rank + 1) % n),
    };
    let links = binary_tree(n, to(rank));
    Links {
        parent: links.parent.map(from),
        children: links.children.map(|child| child.map(from)),
    }
}

/// Slots of a chunk except those of exchanges.
const SLOTS: u32 = 8;
/// Slots of a chunk between hosts whose switches sum: the shift, and its time.
const SHIFT: u32 = 2;
/// Places of an iteration: the call, then the slots of the blocks, chunk by chunk, the joins, the mark.
const CALL: u32 = 0;
const BODY: u32 = 1;
/// Chunks in flight per rank: the slots of NCCL's buffers, of which a step of an all-reduce takes two.
pub(super) const AHEAD: u32 = 4;

impl Nccl {
    /// Trees: two per channel.
    pub(super) fn blocks(&self) -> u32 {
        2 * self.channels
    }

    /// Maximum number of slots of a chunk of a tree.
    pub(super) fn slots(&self) -> u32 {
        2 * self.exchange()
            + match self.params.algorithm {
                NcclAlgorithm::Collnet => SHIFT + 2 * (self.hosts() - 1),
                _ => SLOTS,
            }
    }

    /// Maximum number of operations of a chunk, except the first one's.
    pub(super) fn slots_of_a_chunk(&self) -> u32 {
        SLOTS + 2 * self.exchange()
    }

    /// Number of places of an iteration.
    pub(super) fn places_of_trees(&self) -> u32 {
        BODY + self.slots() + self.blocks().div_ceil(AFTER) + 1
    }

    fn hosts(&self) -> u32 {
        self.ranks / self.gpus
    }

    /// Slots of an exchange: a message to each other GPU of the host, and the time of the step.
    fn exchange(&self) -> u32 {
        let in_switches = matches!(self.params.algorithm, NcclAlgorithm::Nvls | NcclAlgorithm::Collnet);
        if in_switches && self.gpus > 1 { self.gpus } else { 0 }
    }

    /// The links of `rank` in tree `block`.
    pub(super) fn links(&self, rank: u32, block: u32) -> Links {
        let (gpus, channel, second) = (self.gpus, block / 2, block % 2 == 1);
        let hosts = self.ranks / gpus;
        let (host, gpu) = (rank / gpus, rank % gpus);
        let of_host = double_tree(hosts, second, host);
        if self.params.algorithm == NcclAlgorithm::Nvls {
            let on_rail = |host: u32| host * gpus + gpu;
            return Links {
                parent: of_host.parent.map(on_rail),
                children: of_host.children.map(|child| child.map(on_rail)),
            };
        }
        let place = self.position(channel, rank) % gpus;
        let at = |host: u32, place: u32| self.rank_at(channel, host * gpus + place);
        // The GPU of a host with the link to its second child.
        let other = u32::from(gpus > 1);
        let parent = if place > 0 {
            Some(at(host, place - 1))
        } else {
            of_host.parent.map(|above| {
                let is_second = double_tree(hosts, second, above).children[1] == Some(host);
                at(above, if is_second { other } else { 0 })
            })
        };
        let below = (place + 1 < gpus).then(|| at(host, place + 1));
        let child = |number: usize| of_host.children[number].map(|child| at(child, 0));
        let children = match (gpus, place) {
            (1, _) => [child(0), child(1)],
            (_, 0) => [below, child(0)],
            (_, 1) => [below, child(1)],
            _ => [below, None],
        };
        Links { parent, children }
    }

    /// Bytes of chunk `turn` of tree `block`, and its bytes on the tree at `rank`.
    fn bytes(&self, rank: u32, block: u32, turn: u32) -> (u64, u64) {
        let whole = self.piece(&[(block, self.blocks()), (turn, self.loops)]);
        match self.params.algorithm {
            NcclAlgorithm::Nvls | NcclAlgorithm::Collnet => {
                let own = (rank % self.gpus, self.gpus);
                (whole, self.piece(&[(block, self.blocks()), (turn, self.loops), own]))
            }
            _ => (whole, whole),
        }
    }

    /// Stream and operation of a slot of a chunk, if the rank has it.
    fn slot(&self, rank: u32, block: u32, turn: u32, slot: u32) -> Option<(u16, OpKind)> {
        let links = self.links(rank, block);
        let (up, is_root) = (2 * block as u16, links.parent.is_none());
        let down = if is_root { up } else { up + 1 };
        let exchange = self.exchange();
        if slot < exchange {
            return Some((up, self.exchanged(rank, block, turn, slot)?));
        }
        let slot = slot - exchange;
        if self.params.algorithm == NcclAlgorithm::Collnet {
            return Some((up, self.shift_slot(rank, block, turn, slot)?));
        }
        if slot >= SLOTS {
            return Some((down, self.exchanged(rank, block, turn, slot - SLOTS)?));
        }
        let bytes = self.bytes(rank, block, turn).1;
        let children = links.children.iter().flatten().count() as u64;
        let (tag, wire) = (block, self.params.protocol.wire(bytes));
        let receive = |from: u32| OpKind::Recv {
            from: Source::Rank(from),
            tag: Tag::Is(tag),
            bytes: wire,
            comm: Comm::WORLD,
        };
        let send = |to: u32| OpKind::Send {
            to,
            tag,
            bytes: wire,
            comm: Comm::WORLD,
        };
        let time = |summed: u64| {
            let duration = *self.params.step_latency + self.params.reduction.time_for(Bytes(summed));
            (duration > Time::ZERO).then_some(OpKind::Compute { duration })
        };
        match slot {
            0 | 1 => links.children[slot as usize].map(|child| (up, receive(child))),
            2 if children > 0 => time(bytes.saturating_mul(children)).map(|kind| (up, kind)),
            3 => links.parent.map(|parent| (up, send(parent))),
            4 => links.parent.map(|parent| (down, receive(parent))),
            5 if !is_root => time(0).map(|kind| (down, kind)),
            6 | 7 => links.children[slot as usize - 6].map(|child| (down, send(child))),
            _ => None,
        }
    }

    /// A slot between hosts whose switches sum: the shift, its time, the messages that wait for all hosts, the exchange.
    fn shift_slot(&self, rank: u32, block: u32, turn: u32, slot: u32) -> Option<OpKind> {
        let (hosts, host, gpu) = (self.hosts(), rank / self.gpus, rank % self.gpus);
        let others = hosts - 1;
        let on_rail = |host: u32| host * self.gpus + gpu;
        let Some(slot) = slot.checked_sub(SHIFT) else {
            if others == 0 {
                return None;
            }
            let duration = *self.params.step_latency;
            let wire = self.params.protocol.wire(self.bytes(rank, block, turn).1);
            return match slot {
                0 => Some(OpKind::Sendrecv {
                    to: on_rail((host + 1) % hosts),
                    send_tag: block,
                    send_bytes: wire,
                    from: Source::Rank(on_rail((host + others) % hosts)),
                    recv_tag: Tag::Is(block),
                    recv_bytes: wire,
                    comm: Comm::WORLD,
                }),
                _ => (duration > Time::ZERO).then_some(OpKind::Compute { duration }),
            };
        };
        if slot >= 2 * others {
            return self.exchanged(rank, block, turn, slot - 2 * others);
        }
        let (is_back, other) = (slot / others == 1, slot % others + 1);
        // One stream waits for all hosts, once in a call.
        if (block, turn) != (0, 0) || (host > 0 && other != host) {
            return None;
        }
        let (peer, tag) = (if host == 0 { other } else { 0 }, 2 * self.blocks());
        Some(match is_back == (host == 0) {
            true => OpKind::Send {
                to: on_rail(peer),
                tag,
                bytes: 0,
                comm: Comm::WORLD,
            },
            false => OpKind::Recv {
                from: Source::Rank(on_rail(peer)),
                tag: Tag::Is(tag),
                bytes: 0,
                comm: Comm::WORLD,
            },
        })
    }

    /// A slot of an exchange: with the GPU at this distance in the host, or the step's time.
    fn exchanged(&self, rank: u32, block: u32, turn: u32, slot: u32) -> Option<OpKind> {
        let (gpus, host, gpu) = (self.gpus, rank / self.gpus, rank % self.gpus);
        let further = slot + 1;
        if further == gpus {
            let duration = *self.params.step_latency;
            return (duration > Time::ZERO).then_some(OpKind::Compute { duration });
        }
        let whole = u128::from(self.bytes(rank, block, turn).0);
        let (all, others) = (u128::from(gpus), u128::from(gpus - 1));
        let each = (whole * (all + 1)).div_ceil(2 * all * others) as u64;
        // Switches do not reach the whole rate of the links.
        let each = (each as f64 / *self.params.nvls_efficiency).ceil() as u64;
        let wire = self.params.protocol.wire(each);
        let tag = self.blocks() + block;
        Some(OpKind::Sendrecv {
            to: host * gpus + (gpu + further) % gpus,
            send_tag: tag,
            send_bytes: wire,
            from: Source::Rank(host * gpus + (gpu + gpus - further) % gpus),
            recv_tag: Tag::Is(tag),
            recv_bytes: wire,
            comm: Comm::WORLD,
        })
    }

    /// Number of slots of the last chunk of tree `block` at the rank.
    fn slots_of(&self, rank: u32, block: u32) -> u32 {
        (0..self.slots())
            .filter(|&slot| self.slot(rank, block, self.loops - 1, slot).is_some())
            .count() as u32
    }

    /// The operation at `cursor`, whose words are iteration, chunk, tree, place, and the number of the call's
    /// operation.
    pub(super) fn next_of_trees(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let [mut iteration, mut turn, mut block, mut place, mut call] = cursor.words;
        if rank >= self.ranks || iteration >= self.params.iterations {
            return None;
        }
        let (slots, blocks) = (self.slots(), self.blocks());
        let joins = BODY + slots;
        let (mut stream, mut after) = (0, After::NONE);
        let mut found = None;
        if place == CALL {
            call = cursor.op;
            place = BODY;
            found = Some(OpKind::Compute {
                duration: self.params.compute + *self.params.launch,
            });
        }
        while found.is_none() && place < joins {
            if let Some((of_slot, kind)) = self.slot(rank, block, turn, place - BODY) {
                (stream, found) = (of_slot, Some(kind));
                if turn == 0 {
                    after = After::ops(&[OpId(call)]);
                }
            }
            place += 1;
            if place == joins && (turn + 1, block + 1) != (self.loops, blocks) {
                place = BODY;
                (turn, block) = if block + 1 < blocks {
                    (turn, block + 1)
                } else {
                    (turn + 1, 0)
                };
            }
        }
        let kind = match found {
            Some(kind) => kind,
            None if self.ranks > 1 && place - joins < blocks.div_ceil(AFTER) => {
                let join = place - joins;
                // The operations of the last chunk precede the joins, tree by tree.
                let counts = |last: u32| (0..last).map(|block| self.slots_of(rank, block)).sum::<u32>();
                let first = cursor.op - join - counts(blocks);
                let mut last = [OpId(0); After::MOST];
                let mut count = 0;
                for block in (AFTER * join..blocks).take(After::MOST) {
                    last[count] = OpId(first + counts(block + 1) - 1);
                    count += 1;
                }
                after = After::from_slice(&last[..count]).unwrap_or(After::NONE);
                place += 1;
                OpKind::Compute { duration: Time::ZERO }
            }
            None => {
                let mark = OpKind::Mark { iteration };
                (iteration, turn, block, place) = (iteration + 1, 0, 0, CALL);
                mark
            }
        };
        let op = Op {
            id: OpId(cursor.op),
            stream,
            after,
            kind,
        };
        cursor.words = [iteration, turn, block, place, call];
        cursor.op += 1;
        Some(op)
    }
}

/// Trees of a join.
const AFTER: u32 = After::MOST as u32;
