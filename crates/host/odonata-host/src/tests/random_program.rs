//! Random programs: some cannot deadlock by construction, some can.

use super::*;
use odonata_workload::Collective;

const LARGEST: u64 = 20_000;
const SIZES: [u64; 5] = [0, 10, 900, 3_000, LARGEST];
/// A permutation of all ranks, two halves, and a few ranks.
const COMMS: [Comm; 4] = [Comm::WORLD, Comm(1), Comm(2), Comm(3)];
/// Duplicates of the world: for receives from one source with any tag, and for receives with any source and tag.
const ANY_TAG: Comm = Comm(20);
const ANYTHING: u32 = 30;

/// A receive of a message of any length.
fn recv_on(from: Source, tag: Tag, comm: Comm) -> OpKind {
    let bytes = LARGEST;
    OpKind::Recv { from, tag, bytes, comm }
}

/// The same without blocking.
fn irecv_on(from: Source, tag: Tag, comm: Comm, request: Request) -> OpKind {
    OpKind::Irecv {
        from,
        tag,
        bytes: LARGEST,
        comm,
        request,
    }
}

fn probe(from: Source, tag: Tag, comm: Comm) -> OpKind {
    OpKind::Probe { from, tag, comm }
}

fn isend_on(comm: Comm, to: u32, tag: u32, bytes: u64, request: Request) -> OpKind {
    OpKind::Isend {
        to,
        tag,
        bytes,
        comm,
        request,
    }
}

/// A generator of random programs.
pub(super) struct ProgramGenerator {
    random: Stream,
    n: u32,
    ranks: Vec<Vec<OpKind>>,
    comms: Vec<(Comm, Vec<u32>)>,
    /// The next request number of each rank, and the first number that has not been waited for.
    numbers: Vec<u32>,
}

impl ProgramGenerator {
    pub(super) fn new(seed: u64, n: u32) -> ProgramGenerator {
        let mut random = Stream::new(seed, 0, Purpose::Host);
        let mut order: Vec<u32> = (0..n).collect();
        for i in (1..n as usize).rev() {
            order.swap(i, random.below(i as u32 + 1) as usize);
        }
        let few: Vec<u32> = order.iter().copied().take(1 + random.below(n) as usize).collect();
        let half = |odd: u32| (0..n).filter(|rank| rank % 2 == odd).collect::<Vec<u32>>();
        let comms = vec![(Comm(1), order), (Comm(2), half(0)), (Comm(2), half(1)), (Comm(3), few)];
        ProgramGenerator {
            random,
            n,
            ranks: vec![Vec::new(); n as usize],
            comms,
            numbers: vec![0; n as usize],
        }
    }

    fn size(&mut self) -> u64 {
        SIZES[self.random.below(SIZES.len() as u32) as usize]
    }

    /// A random communicator, with its members.
    fn comm(&mut self) -> (Comm, Vec<u32>) {
        let comm = COMMS[self.random.below(COMMS.len() as u32) as usize];
        let lists: Vec<&Vec<u32>> = self.comms.iter().filter(|(c, _)| *c == comm).map(|(_, l)| l).collect();
        match lists.len() {
            0 => (comm, (0..self.n).collect()),
            some => (comm, lists[self.random.below(some as u32) as usize].clone()),
        }
    }

    fn add(&mut self, rank: u32, kind: OpKind) {
        self.ranks[rank as usize].push(kind);
    }

    /// `count` new consecutive request numbers.
    fn fresh(&mut self, rank: u32, count: u32) -> Request {
        let number = self.numbers[rank as usize];
        self.numbers[rank as usize] += count;
        Request(number)
    }

    fn wildcards(&mut self, phase: u32) {
        let mut posts: Vec<(u32, OpKind)> = Vec::new();
        for _ in 0..self.random.below(2 * self.n) {
            let anything = self.random.below(3) == 0;
            let (comm, members) = if anything {
                (Comm(ANYTHING + phase), (0..self.n).collect())
            } else {
                self.comm()
            };
            let ends = [0, 1].map(|_| self.random.below(members.len() as u32));
            let (src, dst) = (members[ends[0] as usize], members[ends[1] as usize]);
            let tag = 1_000 + phase;
            let bytes = self.size();
            let request = self.fresh(src, 1);
            let send = OpKind::Isend {
                to: ends[1],
                tag,
                bytes,
                comm,
                request,
            };
            let request = self.fresh(dst, 1);
            let receive = OpKind::Irecv {
                from: Source::Any,
                tag: if anything { Tag::Any } else { Tag::Is(tag) },
                bytes: LARGEST,
                comm,
                request,
            };
            posts.push((src, send));
            posts.push((dst, receive));
        }
        while !posts.is_empty() {
            let at = self.random.below(posts.len() as u32) as usize;
            let (rank, kind) = posts.swap_remove(at);
            self.add(rank, kind);
        }
    }

    /// A message that is received before its sender or receiver continues, regardless of its length.
    fn message(&mut self) {
        let any_tag = self.random.below(4) == 0;
        let (comm, members) = match any_tag {
            true => (ANY_TAG, (0..self.n).collect()),
            false => self.comm(),
        };
        let ends = [0, 1].map(|_| self.random.below(members.len() as u32));
        let [a, b] = ends.map(|end| members[end as usize]);
        let (bytes, tag) = (self.size(), self.random.below(3));
        let from = Source::Rank(ends[0]);
        let wanted = if any_tag { Tag::Any } else { Tag::Is(tag) };
        let receive = self.random.below(4);
        let mut receiver = Vec::new();
        let mut afterwards = Vec::new();
        // A rank that sends to itself must post the receive first.
        if a == b || receive == 0 {
            let request = self.fresh(b, 1);
            receiver.push(irecv_on(from, wanted, comm, request));
            afterwards.push(OpKind::Wait { request });
        } else if receive == 1 {
            let request = self.fresh(b, 1);
            receiver.push(OpKind::RecvInit {
                from,
                tag: wanted,
                bytes: LARGEST,
                comm,
                request,
            });
            receiver.push(OpKind::Start { request });
            afterwards.push(OpKind::WaitAny {
                first: request,
                count: 1,
            });
            afterwards.push(OpKind::RequestFree { request });
        } else {
            if receive == 2 {
                receiver.push(OpKind::Iprobe {
                    from,
                    tag: wanted,
                    comm,
                });
                receiver.push(probe(from, wanted, comm));
            }
            receiver.push(recv_on(from, wanted, comm));
        }
        receiver.into_iter().for_each(|kind| self.add(b, kind));
        let to = ends[1];
        match self.random.below(5) {
            0 => self.add(a, OpKind::Send { to, tag, bytes, comm }),
            1 => self.add(a, OpKind::Ssend { to, tag, bytes, comm }),
            2 => {
                let request = self.fresh(a, 1);
                self.add(a, isend_on(comm, to, tag, bytes, request));
                if self.random.below(2) == 0 {
                    self.add(a, OpKind::RequestFree { request });
                }
            }
            3 => {
                let request = self.fresh(a, 1);
                self.add(
                    a,
                    OpKind::SendInit {
                        to,
                        tag,
                        bytes,
                        comm,
                        request,
                    },
                );
                self.add(
                    a,
                    OpKind::StartAll {
                        first: request,
                        count: 1,
                    },
                );
                self.add(a, OpKind::Test { request });
                self.add(
                    a,
                    OpKind::WaitSome {
                        first: request,
                        count: 1,
                    },
                );
                self.add(a, OpKind::RequestFree { request });
            }
            _ => {
                let sendrecv = OpKind::Sendrecv {
                    to,
                    send_tag: tag,
                    send_bytes: bytes,
                    from: Source::Rank(PROC_NULL),
                    recv_tag: Tag::Any,
                    recv_bytes: 0,
                    comm,
                };
                self.add(a, sendrecv);
            }
        }
        afterwards.into_iter().for_each(|kind| self.add(b, kind));
    }

    /// Every member of a communicator sends to the next and receives from the previous one.
    fn ring(&mut self) {
        let (comm, members) = self.comm();
        let k = members.len() as u32;
        let (bytes, tag, way) = (self.size(), 10 + self.random.below(2), self.random.below(3));
        for (i, &rank) in (0..).zip(&members) {
            let (to, from) = ((i + 1) % k, Source::Rank((i + k - 1) % k));
            if way == 0 {
                let kind = OpKind::Sendrecv {
                    to,
                    send_tag: tag,
                    send_bytes: bytes,
                    from,
                    recv_tag: Tag::Is(tag),
                    recv_bytes: bytes,
                    comm,
                };
                self.add(rank, kind);
                continue;
            }
            let first = self.fresh(rank, 3);
            let null = OpKind::Irecv {
                from: Source::Rank(PROC_NULL),
                tag: Tag::Any,
                bytes: 0,
                comm,
                request: Request(first.0 + 2),
            };
            let receive = OpKind::Irecv {
                from,
                tag: Tag::Is(tag),
                bytes,
                comm,
                request: first,
            };
            let send = isend_on(comm, to, tag, bytes, Request(first.0 + 1));
            for kind in [null, receive, send, compute(300)] {
                self.add(rank, kind);
            }
            match way {
                1 => (0..3).for_each(|_| self.add(rank, OpKind::WaitAny { first, count: 3 })),
                _ => {
                    self.add(rank, OpKind::TestSome { first, count: 3 });
                    self.add(rank, OpKind::TestAny { first, count: 3 });
                    self.add(rank, OpKind::TestAll { first, count: 3 });
                    self.add(rank, OpKind::WaitSome { first, count: 3 });
                    self.add(rank, OpKind::WaitAll { first, count: 3 });
                }
            }
        }
    }

    fn collective(&mut self) {
        let (comm, members) = self.comm();
        let collective = match self.random.below(3) {
            0 => Collective::Barrier { comm },
            1 => Collective::Broadcast {
                comm,
                root: self.random.below(members.len() as u32),
                bytes: self.size(),
            },
            _ => {
                let count = self.size() / 10;
                Collective::Allreduce {
                    comm,
                    bytes: 10 * count,
                    count: count.max(u64::from(count == 0)),
                }
            }
        };
        let (way, new) = (self.random.below(6), Comm(50));
        for &rank in &members {
            let kind = match way {
                0 => OpKind::CommDup { comm, new },
                1 => OpKind::CommSplit { comm, new },
                2 => OpKind::CommCreate { comm, new },
                3 => OpKind::Collective(collective),
                _ => OpKind::Icollective {
                    collective,
                    request: self.fresh(rank, 1),
                },
            };
            self.add(rank, kind);
            if way < 3 {
                self.add(rank, OpKind::CommFree { comm: new });
            }
        }
    }

    /// A program that always ends.
    pub(super) fn safe(mut self) -> Script {
        for phase in 0..3 {
            self.wildcards(phase);
            for _ in 0..4 + self.random.below(6) {
                match self.random.below(8) {
                    0..4 => self.message(),
                    4 => self.ring(),
                    5 | 6 => self.collective(),
                    _ => {
                        let rank = self.random.below(self.n);
                        let ns = u64::from(self.random.below(5_000));
                        self.add(rank, compute(ns));
                    }
                }
            }
            for rank in 0..self.n {
                let count = self.numbers[rank as usize];
                let first = Request(0);
                match self.random.below(3) {
                    0 => (0..count).for_each(|_| self.add(rank, OpKind::WaitAny { first, count })),
                    1 => self.add(rank, OpKind::WaitSome { first, count }),
                    _ => {}
                }
                self.add(rank, OpKind::WaitAll { first, count });
            }
        }
        self.script()
    }

    /// A program that would always end, with some operations swapped.
    pub(super) fn shuffled(mut self) -> Script {
        for _ in 0..3 + self.random.below(8) {
            let [a, b] = [0, 1].map(|_| self.random.below(self.n));
            let (bytes, tag, comm) = (self.size(), self.random.below(2), Comm::WORLD);
            let to = b;
            let wild = self.random.below(3) == 0;
            let from = if wild { Source::Any } else { Source::Rank(a) };
            let wanted = if self.random.below(3) == 0 {
                Tag::Any
            } else {
                Tag::Is(tag)
            };
            let receive = match self.random.below(4) {
                0 => irecv_on(from, wanted, comm, self.fresh(b, 1)),
                _ => recv_on(from, wanted, comm),
            };
            let send = match self.random.below(4) {
                0 => OpKind::Ssend { to, tag, bytes, comm },
                1 => isend_on(comm, to, tag, bytes, self.fresh(a, 1)),
                2 => OpKind::Issend {
                    to,
                    tag,
                    bytes,
                    comm,
                    request: self.fresh(a, 1),
                },
                _ => OpKind::Send { to, tag, bytes, comm },
            };
            if self.random.below(4) == 0 {
                self.add(b, probe(from, wanted, comm));
            }
            self.add(a, send);
            self.add(b, receive);
        }
        for rank in 0..self.n {
            let count = self.numbers[rank as usize];
            let (first, ops) = (Request(0), self.ranks[rank as usize].len() as u32);
            if ops > 1 && self.random.below(2) == 0 {
                let at = self.random.below(ops - 1) as usize;
                self.ranks[rank as usize].swap(at, at + 1);
            }
            self.add(rank, OpKind::WaitAny { first, count });
            self.add(rank, OpKind::WaitAll { first, count });
        }
        self.script()
    }

    /// A program that may end.
    pub(super) fn wild(mut self) -> Script {
        let barriers = self.random.below(3) / 2;
        for rank in 0..self.n {
            for _ in 0..2 + self.random.below(6) {
                let comm = if self.random.below(4) == 0 {
                    Comm(1)
                } else {
                    Comm::WORLD
                };
                let (tag, bytes, peer) = (self.random.below(2), self.size(), self.random.below(self.n));
                let from = if self.random.below(4) == 0 {
                    Source::Any
                } else {
                    Source::Rank(peer)
                };
                let wanted = if self.random.below(4) == 0 {
                    Tag::Any
                } else {
                    Tag::Is(tag)
                };
                let to = peer;
                let count = self.numbers[rank as usize];
                let first = Request(0);
                let kind = match self.random.below(12) {
                    0 | 1 => OpKind::Send { to, tag, bytes, comm },
                    2 => OpKind::Ssend { to, tag, bytes, comm },
                    3 => isend_on(comm, to, tag, bytes, self.fresh(rank, 1)),
                    4 => OpKind::Sendrecv {
                        to,
                        send_tag: tag,
                        send_bytes: bytes,
                        from,
                        recv_tag: wanted,
                        recv_bytes: LARGEST,
                        comm,
                    },
                    5..8 => recv_on(from, wanted, comm),
                    8 => irecv_on(from, wanted, comm, self.fresh(rank, 1)),
                    9 => probe(from, wanted, comm),
                    10 => OpKind::WaitAny { first, count },
                    _ => OpKind::WaitAll { first, count },
                };
                self.add(rank, kind);
            }
            for _ in 0..barriers {
                let at = self.random.below(self.ranks[rank as usize].len() as u32 + 1) as usize;
                let (collective, request) = (Collective::Barrier { comm: Comm::WORLD }, self.fresh(rank, 1));
                let kind = match self.random.below(2) {
                    0 => OpKind::Collective(collective),
                    _ => OpKind::Icollective { collective, request },
                };
                self.ranks[rank as usize].insert(at, kind);
            }
        }
        self.script()
    }

    fn script(self) -> Script {
        Script(self.ranks.into_iter().map(sequence).collect(), self.comms)
    }
}
