//! The client's side of I/O.
//!
//! An operation sends a request to the rank's server. Of a write, the node answers every pull with the
//! piece at once and without a copy; the operation ends with the server's response. A read ends when
//! the response and all data are there: under adaptive routing the response may come first.

use super::Hosts;
use super::event::Outside;
use super::letter::{Kind, Letter, Words, halves, whole, words};
use super::measured::Table;
use super::metrics::IoRecord;
use super::outcome::Failure;
use super::post::Shipment;
use super::rank::Activity;
use odonata_engine::{NIL, Slot, Time};

/// A read or write under way.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct IoOp {
    /// Rank, counted over all jobs.
    rank: u32,
    /// What completes with it, or [`NIL`].
    request: u32,
    file: u64,
    bytes: u64,
    start: Time,
    /// Bytes of a read that have arrived.
    received: u64,
    responded: bool,
    write: bool,
    next: u32,
}

impl Slot for IoOp {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Hosts {
    /// Begins a read or write for operation `slot`; `request` completes with it.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn start_io<X: Outside>(
        &mut self,
        x: &mut X,
        slot: u32,
        write: bool,
        file: u64,
        offset: u64,
        bytes: u64,
        request: u32,
    ) {
        let Activity { op, rank, .. } = *self.activities.get(slot);
        let server = self.places[rank as usize].server;
        if server == NIL {
            self.fail(x, Failure::NoServer { rank, op });
            return;
        }
        let start = x.now();
        let io = self.io_ops.take::<X>(IoOp {
            rank,
            request,
            file,
            bytes,
            start,
            received: 0,
            responded: false,
            write,
            next: NIL,
        });
        let kind = if write { Kind::WriteRequest } else { Kind::ReadRequest };
        let [[file, file_high], [offset, offset_high], [bytes, bytes_high]] = [file, offset, bytes].map(halves);
        let words = [io, file, file_high, offset, offset_high, bytes, bytes_high];
        self.send_to_server(x, rank, kind, self.params.io.control_bytes, words);
    }

    fn send_to_server<X: Outside>(&mut self, x: &mut X, rank: u32, kind: Kind, bytes: u64, words: Words) {
        let place = self.places[rank as usize];
        let shipment = Shipment {
            created: x.now(),
            source: self.end_of_rank(rank),
            target: self.end_of_server(place.server),
            bytes,
            traffic: Self::traffic(place.job, true),
            letter: Letter {
                kind,
                to: place.server,
                from: rank,
                words,
            },
            software: self.params.io.send_delay,
            notify_sent: false,
            notify_arrived: true,
        };
        self.ship(x, shipment);
    }

    /// The server wants a piece.
    pub(crate) fn pull_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        let Letter {
            to: rank,
            words: [io, piece, low, high, ..],
            ..
        } = letter;
        self.send_to_server(x, rank, Kind::Piece, whole(low, high), words(&[io, piece]));
    }

    /// A piece of a read has arrived.
    pub(crate) fn data_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter, bytes: u64) {
        let io = letter.words[0];
        self.io_ops.edit::<X>(io).received += bytes;
        self.end_io(x, io);
    }

    /// The server has answered.
    pub(crate) fn respond_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        let io = letter.words[0];
        self.io_ops.edit::<X>(io).responded = true;
        self.end_io(x, io);
    }

    /// Ends operation `io` if everything is there.
    fn end_io<X: Outside>(&mut self, x: &mut X, io: u32) {
        let op = *self.io_ops.get(io);
        if !op.responded || (!op.write && op.received < op.bytes) {
            return;
        }
        self.io_ops.give::<X>(io);
        let IoOp {
            rank,
            request,
            file,
            bytes,
            start,
            write,
            ..
        } = op;
        let end = x.now();
        let metrics = self.metrics.edit::<X>(rank);
        match write {
            true => metrics.bytes_written += bytes,
            false => metrics.bytes_read += bytes,
        }
        let first = if metrics.io_operations == 0 {
            start
        } else {
            metrics.io_first.min(start)
        };
        metrics.io_first = first;
        metrics.io_last = end;
        metrics.io_operations += 1;
        metrics.io_duration_ps += u128::from((end - start).0);
        let (rows, limit) = (self.io_rows.as_slice().len(), self.params.records.io);
        if self.keeps_row::<X>(Table::Io, rows, limit, end) {
            let place = self.places[rank as usize];
            let (job, server) = (place.job, place.server);
            let rank = rank - self.jobs[usize::from(job)].first_rank;
            self.io_rows.push::<X>(IoRecord {
                job,
                rank,
                server,
                write,
                file,
                bytes,
                start,
                end,
            });
        }
        self.complete(x, request);
        self.advance(x, rank);
    }
}
