//! Calls for metadata: a rank asks the server that has the file's name, and waits for its answer.
//!
//! A call is one control message to the server, its turn and its time there ([`MetadataServers`]), and one control message back.
//! Before that, `close` and `sync` wait until all writes of the rank are acknowledged, and `sync` until the storage servers have
//! committed what they have of the file. Without metadata servers, only these waits take time. [`remove`](super::remove) has the
//! requests to storage servers for `unlink`.

use crate::Hosts;
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::io::calls::{Call, OpenCall};
use crate::io::client::RequestPart;
use crate::io::facts::IoObserver;
use crate::metrics::{IoOperation, IoRecord};
use crate::mpi::request::RequestKind;
use crate::params::{HostParams, LedgerParams};
use crate::payload::Payload;
use odonata_engine::{NIL, Time};
use odonata_storage::{
    Begun, DIRECTORY, METADATA_FAULT, MetadataCall, MetadataMetrics, MetadataName, MetadataServers, RequestHeader,
    RequestLoss, ServerCharge, ServerWaitSeries, StorageOperation, THREAD,
};
use odonata_workload::FileCall;
use std::sync::Arc;

/// What a server is asked for `call`.
pub(crate) const fn metadata_call(call: FileCall) -> MetadataCall {
    match call {
        FileCall::Open => MetadataCall::Open,
        FileCall::Create => MetadataCall::Create,
        FileCall::Stat => MetadataCall::Stat,
        FileCall::Close => MetadataCall::Close,
        FileCall::Unlink => MetadataCall::Unlink,
        FileCall::Sync => MetadataCall::Sync,
        FileCall::Mkdir => MetadataCall::Mkdir,
        FileCall::Rmdir => MetadataCall::Rmdir,
    }
}

/// The metadata servers on the nodes of a part.
#[derive(Debug)]
pub(crate) struct MetadataNodes {
    servers: MetadataServers,
    /// Their numbers on the machine.
    numbers: Arc<[u32]>,
}
odonata_engine::journalled!(MetadataNodes { servers });

impl MetadataNodes {
    pub(crate) fn new(numbers: Arc<[u32]>, params: &HostParams) -> Self {
        let faults = |server: u32| {
            let number = numbers[server as usize];
            let own = params.metadata_faults.iter().filter(|(server, _)| *server == number);
            own.map(|&(_, period)| period).collect()
        };
        let outages = |server: u32| params.outages_of(numbers[server as usize]);
        let servers = MetadataServers::new(numbers.len() as u32, params.metadata)
            .with_faults(faults)
            .with_failures(outages);
        let servers = match params.ledger {
            Some(LedgerParams { jobs, interval }) => {
                let faults = !params.metadata_faults.is_empty();
                servers.with_blame(jobs, interval, faults)
            }
            None => servers,
        };
        let servers = match params.lost_time {
            true => servers.with_losses(),
            false => servers,
        };
        MetadataNodes { servers, numbers }
    }

    /// The number on the machine of a server of the part.
    pub(crate) fn number(&self, local: u32) -> u32 {
        self.numbers[local as usize]
    }

    /// Losses of calls, by culprit, in the current event.
    pub(crate) fn take_losses(&mut self) -> Vec<RequestLoss> {
        self.servers.take_losses()
    }

    /// What was measured at each server.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (u32, MetadataMetrics)> {
        self.numbers.iter().copied().zip(self.servers.metrics())
    }

    /// Waits at each server, by victim and culprit.
    pub(crate) fn blame(&self) -> impl Iterator<Item = ServerCharge> {
        self.servers.blame().map(|charge| ServerCharge {
            server: self.numbers[charge.server as usize],
            resource: match (charge.fault, charge.directory) {
                (true, _) => METADATA_FAULT,
                (false, true) => DIRECTORY,
                (false, false) => THREAD,
            },
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// The same over time.
    pub(crate) fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> {
        let series = self.servers.blame_series();
        series.map(|(start, resource, victim, culprit, time)| ServerWaitSeries {
            start,
            tier: 0,
            resource,
            victim,
            culprit,
            time,
        })
    }

    /// Charges the open waits at `now`, the end of the run.
    pub(crate) fn charge_open_waits(&mut self, now: Time) {
        self.servers.charge_open_waits(now);
    }

    /// Lets those fail that have by `now`, the end of the run.
    pub(crate) fn fail_until(&mut self, now: Time) {
        self.servers.fail_until(now);
    }

    /// Checks that nothing is under way.
    ///
    /// # Errors
    /// Says what is.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.servers.audit()
    }
}

impl Hosts {
    /// Begins `call` of `rank` in call `slot` of the MPI library for (directory, file), if it takes any time.
    pub(crate) fn call_metadata<C: HostContext>(
        &mut self,
        ctx: &mut C,
        (slot, rank): (u32, u32),
        call: MetadataCall,
        (directory, file): (u32, u64),
    ) {
        let removes = self.removes(rank, call);
        let ends_writes = matches!(call, MetadataCall::Close | MetadataCall::Sync) || removes;
        let waits = ends_writes && self.io.calls.writes_behind(rank) > 0;
        let syncs = call == MetadataCall::Sync && self.layout.place(rank).server != NIL;
        if !waits && !syncs && !removes && self.layout.metadata_servers() == 0 {
            return;
        }
        let request = self.mpi.open_request::<C>(slot, RequestKind::Io);
        let name = (file, directory.into(), 0);
        let call = OpenCall::new(ctx.now(), Call::Metadata(call), (rank, request), name);
        let transfer = self.io.calls.calls.allocate::<C>(call);
        match waits {
            true => self.wait_for_writes::<C>(transfer),
            false => self.go_on_with_metadata(ctx, transfer),
        }
    }

    /// No write holds call `transfer` up: begins its first request, or ends it.
    pub(crate) fn go_on_with_metadata<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let OpenCall { call, rank, .. } = *self.io.calls.calls.get(transfer);
        let syncs = call == Call::Metadata(MetadataCall::Sync) && self.layout.place(rank).server != NIL;
        match syncs {
            true => self.sync_file(ctx, transfer),
            false if self.layout.metadata_servers() == 0 && call == Call::Metadata(MetadataCall::Unlink) => {
                self.metadata_answered(ctx, transfer);
            }
            false => self.ask_metadata_server(ctx, transfer),
        }
    }

    /// All storage servers have synchronized the file of call `transfer`.
    pub(crate) fn servers_synced<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        match self.layout.metadata_servers() {
            0 => self.end_metadata_call(ctx, transfer),
            _ => self.ask_metadata_server(ctx, transfer),
        }
    }

    fn ask_metadata_server<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let OpenCall {
            call,
            rank,
            request,
            file,
            offset: directory,
            ..
        } = *self.io.calls.calls.get(transfer);
        let (Call::Metadata(call), Some(params)) = (call, self.params.metadata) else {
            self.io.calls.calls.free::<C>(transfer);
            self.complete(ctx, request);
            return;
        };
        let owner = self.layout.place(rank).job;
        let name = MetadataName {
            root: self.layout.job(owner).files.key,
            directory: directory as u32,
            file,
        };
        let servers = self.layout.metadata_servers();
        let server = self.layout.first_metadata + name.server(servers, params.by_directory);
        self.io.calls.calls.edit::<C>(transfer).server = server;
        let part = RequestPart::whole(server, name.key_of_directory());
        self.request_for_call(ctx, transfer, StorageOperation::Metadata(call), std::iter::once(part));
    }

    /// A call has arrived at `server`.
    pub(crate) fn metadata_call_arrived<C: HostContext>(
        &mut self,
        ctx: &mut C,
        server: u32,
        header: RequestHeader,
        call: (MetadataCall, u64),
    ) {
        let local = self.layout.server(server).local;
        self.io_observer().metadata_call_arrives::<C>(header);
        let begun = self.io.metadata.servers.request::<C>(ctx.now(), local, header, call);
        self.metadata_begun(ctx, begun);
    }

    fn metadata_begun<C: HostContext>(&mut self, ctx: &mut C, begun: Option<Begun>) {
        if let Some(Begun { server, slot, at }) = begun {
            let server = self.io.metadata.numbers[server as usize];
            let done = HostEvent::MetadataDone { call: slot };
            ctx.schedule(self.layout.server(server).lp, at, done);
        }
    }

    /// A thread has done call `slot`: answers it.
    pub(crate) fn metadata_done<C: HostContext>(&mut self, ctx: &mut C, slot: u32) {
        let Some((server, header, begun)) = self.io.metadata.servers.done::<C>(ctx.now(), slot) else {
            return;
        };
        let server = self.io.metadata.numbers[server as usize];
        self.metadata_begun(ctx, begun);
        self.io_observer().metadata_call_ends::<C>(header, ctx.now());
        let answer = Payload::Response {
            server,
            header,
            lost: false,
        };
        let control = self.params.io_control_message.0;
        self.send_to_client(ctx, server, header.client, (header.owner, control), answer);
    }

    /// The last server has answered call `transfer`.
    pub(crate) fn end_metadata_call<C: HostContext>(&mut self, ctx: &mut C, transfer: u32) {
        let OpenCall {
            call,
            rank,
            request,
            file,
            offset,
            start,
            server,
            parts,
            timeouts,
            ..
        } = *self.io.calls.calls.get(transfer);
        self.io.calls.calls.free::<C>(transfer);
        let end = ctx.now();
        let metrics = self.records.edit_metrics::<C>(rank);
        metrics.metadata_calls += 1;
        metrics.metadata_ps += u128::from((end - start).0);
        if let Call::Metadata(call) = call {
            let layout = &self.layout;
            self.records.add_io::<C>(end, || IoRecord {
                job: layout.place(rank).job,
                rank: layout.local(rank),
                server,
                operation: IoOperation::Metadata(call),
                file,
                bytes: 0,
                start,
                end,
                offset,
                first_byte: end,
                servers: parts.max(1),
                timeouts,
            });
        }
        self.complete(ctx, request);
        self.advance(ctx, rank);
    }
}
