//! The way of a message from the host's software to the fabric, or to another rank of its node.
//!
//! | | leaves the sender's software | arrives |
//! |---|---|---|
//! | other node | call + software + copy + NIC + (MPI) jitter of the hand-off: joins the NIC's queue | when the fabric says so |
//! | same node | call + software + copy | then + local latency + bytes / local bandwidth |
//!
//! Messages within a node share nothing: each has the whole local bandwidth, however many there are, as long
//! as the copies of a few ranks do not fill the node's memory bandwidth. They meet the packets of no other.

use super::Hosts;
use super::event::{HostEvent, Outside};
use super::letter::{Kind, Letter};
use super::measured::Table;
use super::metrics::MessageRecord;
use super::params::Jitter;
use super::plan::ServerPlace;
use odonata_engine::{Mode, NIL, Slot, Sparse, Stream, Time};
use odonata_network::{Content, Message, Traffic};
use odonata_units::Bytes;

/// A message that stays on its node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Parcel {
    pub(crate) bytes: u64,
    pub(crate) created: Time,
    pub(crate) content: Content,
    next: u32,
}

impl Slot for Parcel {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// An end of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) node: u32,
    /// The logical process of the node.
    pub(crate) lp: u32,
    /// Its random stream.
    pub(crate) stream: u32,
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shipment {
    pub(crate) source: End,
    pub(crate) target: End,
    pub(crate) bytes: u64,
    pub(crate) traffic: Traffic,
    pub(crate) letter: Letter,
    /// When it was asked for.
    pub(crate) created: Time,
    /// From now until the host's software has done its part.
    pub(crate) software: Time,
    pub(crate) notify_sent: bool,
    pub(crate) notify_arrived: bool,
}

/// Draws from `jitter` with random stream `stream` of `streams`.
pub(crate) fn draw<M: Mode>(streams: &mut Sparse<Stream>, stream: u32, jitter: Jitter) -> Time {
    let Some((least, most)) = jitter else { return Time::ZERO };
    let span = most.saturating_sub(least).0 + 1;
    let share = streams.edit::<M>(stream).unit();
    Time(least.0 + ((share * span as f64) as u64).min(span - 1))
}

impl Hosts {
    /// The number of the traffic of `job`: its MPI, or its I/O.
    pub(crate) fn traffic(job: u16, io: bool) -> Traffic {
        2 * job + u16::from(io)
    }

    /// The end of messages at `rank`.
    pub(crate) fn end_of_rank(&self, rank: u32) -> End {
        let place = self.places[rank as usize];
        End {
            node: place.node,
            lp: place.lp,
            stream: rank,
        }
    }

    /// The end of messages at `server`.
    pub(crate) fn end_of_server(&self, server: u32) -> End {
        let ServerPlace { node, lp, .. } = self.server_places[server as usize];
        End {
            node,
            lp,
            stream: self.places.len() as u32 + server,
        }
    }

    /// Sends a message.
    #[inline]
    pub(crate) fn ship<X: Outside>(&mut self, x: &mut X, shipment: Shipment) {
        let Shipment {
            source,
            target,
            bytes,
            traffic,
            letter,
            created,
            software,
            notify_sent,
            notify_arrived,
        } = shipment;
        let now = x.now();
        // An event comes strictly later than its cause, however fast the software.
        let soon = now + Time::from_ps(1);
        let ready = now + software;
        if source.node != target.node {
            // Messages that a server or client hands over together keep their order: pieces of a file
            // that overtook each other would cost the device seeks.
            let handoff = match letter.kind {
                kind if kind.is_mpi() => draw::<X>(&mut self.streams, source.stream, self.params.nic_handoff),
                _ => Time::ZERO,
            };
            let at = ready + self.params.nic_message_delay + handoff;
            let mut message = Message::new(source.node, target.node, bytes, traffic, created, letter.pack());
            (message.notify_sent, message.notify_arrived) = (notify_sent, notify_arrived);
            x.submit(at.max(soon), message);
            return;
        }
        let sent = ready.max(soon);
        let mpi = &self.params.mpi;
        let arrives = sent + mpi.local_latency + mpi.local_bandwidth.time_for(Bytes(bytes));
        if !notify_sent && !notify_arrived {
            // Nobody looks at it, and it meets nothing on its way.
            return;
        }
        let parcel = self.parcels.take::<X>(Parcel {
            bytes,
            created,
            content: letter.pack(),
            next: NIL,
        });
        if notify_sent {
            x.schedule(source.lp, sent, HostEvent::LocalSent { parcel });
        }
        // After `LocalSent` even where both are due at once, and needed in any case: it frees the slot.
        x.schedule(source.lp, arrives, HostEvent::LocalArrived { parcel });
    }

    /// A message has left its sender, who wanted to know.
    pub(crate) fn sent<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        match letter.kind {
            Kind::Mpi | Kind::Bulk => {
                self.complete(x, letter.words[3]);
                self.advance(x, letter.from);
            }
            Kind::Data => self.data_sent(x, letter),
            Kind::Rts | Kind::Cts | Kind::News => {}
            Kind::Source | Kind::ReadRequest | Kind::WriteRequest | Kind::Pull | Kind::Piece | Kind::Respond => {}
        }
    }

    /// A message has arrived.
    #[inline]
    pub(crate) fn arrived<X: Outside>(&mut self, x: &mut X, letter: Letter, bytes: u64, created: Time) {
        if !letter.kind.is_control() {
            let latency = x.now() - created;
            self.count_message::<X>(letter, bytes, created, latency);
        }
        match letter.kind {
            Kind::Source => {}
            Kind::News => self.news_arrived(x, letter),
            Kind::Mpi => self.message_arrived(x, letter, bytes),
            Kind::Rts => self.rts_arrived(x, letter),
            Kind::Cts => self.cts_arrived(x, letter),
            Kind::Bulk => self.bulk_arrived(x, letter),
            Kind::ReadRequest | Kind::WriteRequest => self.request_arrived(x, letter),
            Kind::Pull => self.pull_arrived(x, letter),
            Kind::Piece => self.piece_arrived(x, letter, bytes),
            Kind::Data => self.data_arrived(x, letter, bytes),
            Kind::Respond => self.respond_arrived(x, letter),
        }
    }

    #[inline]
    fn count_message<M: Mode>(&mut self, letter: Letter, bytes: u64, created: Time, latency: Time) {
        let Letter { kind, to, from, .. } = letter;
        let io = !kind.is_mpi() && kind != Kind::Source;
        let from_server = matches!(kind, Kind::Pull | Kind::Data | Kind::Respond);
        let job = self.places[if io && !from_server { from } else { to } as usize].job;
        self.message_latency
            .record::<M>(usize::from(Self::traffic(job, io)), latency);
        if !io {
            let metrics = self.metrics.edit::<M>(to);
            metrics.recvs += 1;
            metrics.bytes_received += bytes;
            metrics.latency_ps += u128::from(latency.0);
            metrics.latency_max = metrics.latency_max.max(latency);
        }
        let (rows, limit) = (self.message_rows.as_slice().len(), self.params.records.messages);
        if self.keeps_row::<M>(Table::Messages, rows, limit, created + latency) {
            let first = self.jobs[usize::from(job)].first_rank;
            let source = if from_server { from } else { from - first };
            let destination = if io && !from_server { to } else { to - first };
            self.message_rows.push::<M>(MessageRecord {
                job,
                io,
                source,
                destination,
                from_server,
                bytes,
                created,
                latency,
            });
        }
    }
}
