//! The I/O layer: clients on compute nodes, storage and metadata servers on theirs.
//!
//! [`Io`] routes between its components, each of which owns its state and does not know the others:
//!
//! | component | what it is |
//! |---|---|
//! | [`FileCalls`] | calls of ranks, layers over the client |
//! | [`Client`] | requests of ranks and servers, with retries |
//! | [`StorageServers`], [`MetadataNodes`] | the servers of the part |
//! | [`OutsideLinks`] | links of I/O nodes to a file system outside |
//! | [`Stages`] | stage-in of jobs |
//!
//! Inputs are calls of ranks, arrivals of messages and ends of accesses, with their surroundings ([`IoTurn`]). Messages
//! and timers leave at once. What concerns ranks comes out as [`IoEffect`]s, which the hosts carry out after the input.

pub(crate) mod calls;
pub(crate) mod client;
mod client_side;
pub(crate) mod effect;
pub(crate) mod facts;
pub(crate) mod lower_tier;
pub(crate) mod metadata;
pub(crate) mod server;
mod server_side;
pub(crate) mod stage;

use crate::context::HostContext;
use crate::layout::Layout;
use crate::observe::Observers;
use crate::params::HostParams;
use crate::payload::Payload;
use crate::send::Transport;
use crate::turn::Effects;
use calls::{Call, CallTurn, FileCalls, OpenCall};
use client::Client;
use effect::IoEffect;
use lower_tier::OutsideLinks;
use metadata::MetadataNodes;
use odonata_engine::{NIL, Time};
use odonata_storage::MetadataCall;
use server::StorageServers;
use stage::{RankStaged, Stages};

/// The clients and the servers of a part.
#[derive(Debug)]
pub(crate) struct Io {
    layout: Layout,
    params: HostParams,
    pub(crate) calls: FileCalls,
    pub(crate) client: Client,
    pub(crate) servers: StorageServers,
    links: OutsideLinks,
    pub(crate) metadata: MetadataNodes,
    pub(crate) stages: Stages,
    /// Lists of effects that are empty; kept for their memory.
    spare_effects: Vec<client::Effects>,
}
odonata_engine::journalled!(Io {
    calls,
    client,
    servers,
    links,
    metadata,
    stages
});

/// The surroundings of an input.
pub(crate) struct IoTurn<'a, C> {
    pub(crate) ctx: &'a mut C,
    pub(crate) transport: &'a mut Transport,
    pub(crate) observers: &'a mut Observers,
    pub(crate) effects: &'a mut Effects<IoEffect>,
}

/// The components of a part, see [`Io`].
pub(crate) struct IoParts {
    pub(crate) calls: FileCalls,
    pub(crate) client: Client,
    pub(crate) servers: StorageServers,
    pub(crate) links: OutsideLinks,
    pub(crate) metadata: MetadataNodes,
    pub(crate) stages: Stages,
}

impl Io {
    pub(crate) fn new(params: &HostParams, layout: Layout, parts: IoParts) -> Self {
        let IoParts {
            calls,
            client,
            servers,
            links,
            metadata,
            stages,
        } = parts;
        Io {
            layout,
            params: params.clone(),
            calls,
            client,
            servers,
            links,
            metadata,
            stages,
            spare_effects: Vec::new(),
        }
    }

    /// Gives an input to the calls, and carries out the effects of their requests.
    fn ask_calls<C: HostContext, R>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        input: impl FnOnce(&mut FileCalls, &mut CallTurn<'_>) -> R,
    ) -> R {
        let mut requests = self.spare_effects.pop().unwrap_or_default();
        let call_turn = &mut CallTurn {
            now: turn.ctx.now(),
            client: &mut self.client,
            requests: &mut requests,
            observers: turn.observers,
            effects: turn.effects,
        };
        let answer = input(&mut self.calls, call_turn);
        self.carry_out_requests(turn, requests);
        answer
    }

    /// `rank`, which has a server, begins a read or write of (file, offset, bytes); `request` completes with it.
    pub(crate) fn start_transfer<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        (rank, request): (u32, u32),
        (call, tolerates_loss): (Call, bool),
        range: (u64, u64, u64),
    ) {
        let mut call = OpenCall::new(turn.ctx.now(), call, (rank, request), range);
        call.tolerates_loss = tolerates_loss;
        self.ask_calls(turn, |calls, turn| calls.begin::<C>(turn, call));
    }

    /// `rank` begins `call` for (directory, file), which [takes time](FileCalls::takes_time).
    pub(crate) fn start_metadata<C: HostContext>(
        &mut self,
        turn: &mut IoTurn<'_, C>,
        (rank, request): (u32, u32),
        call: MetadataCall,
        (directory, file): (u32, u64),
    ) {
        let name = (file, directory.into(), 0);
        let call = OpenCall::new(turn.ctx.now(), Call::Metadata(call), (rank, request), name);
        self.ask_calls(turn, |calls, turn| calls.begin_metadata::<C>(turn, call));
    }

    /// Lets the calls of `rank` return that wait for no more acknowledgements.
    pub(crate) fn return_calls<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, rank: u32) {
        self.ask_calls(turn, |calls, turn| calls.return_calls::<C>(turn, rank));
    }

    /// `rank` is due to start: begins its stage-in. Returns whether its program waits for it.
    pub(crate) fn begin_stage_in<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, rank: u32) -> bool {
        let place = self.layout.place(rank);
        let (files, waits) = {
            let job = self.layout.job(place.job);
            (job.stage_in.len(), job.stage_wait)
        };
        if files == 0 || place.server == NIL {
            return false;
        }
        let now = turn.ctx.now();
        self.stages.begin::<C>(now, (rank, place.job), files as u32);
        for file in 0..files {
            let job = self.layout.job(place.job);
            let share = job.stage_in[file].share(self.layout.local(rank), job.ranks);
            let call = OpenCall::new(now, Call::StageIn, (rank, NIL), share);
            self.ask_calls(turn, |calls, turn| calls.begin::<C>(turn, call));
        }
        self.file_is_staged(turn, rank);
        waits
    }

    /// A file of `rank` is in its buffers.
    fn file_is_staged<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, rank: u32) {
        let job = self.layout.place(rank).job;
        let waits = self.layout.job(job).stage_wait;
        let (now, observers) = (turn.ctx.now(), &mut *turn.observers);
        let staged = self
            .stages
            .file_is_staged::<C>(now, (rank, job), waits.then_some(observers));
        if staged == RankStaged::All && waits {
            self.subtree_is_staged(turn, rank);
        }
    }

    /// `rank`, or all ranks of a subtree below it, have their files.
    pub(crate) fn subtree_is_staged<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, rank: u32) {
        let (now, observers) = (turn.ctx.now(), &mut *turn.observers);
        if self.stages.subtree_is_staged::<C>(now, rank, observers) == RankStaged::All {
            turn.effects.push(IoEffect::RanksStaged { rank });
        }
    }

    /// A message of this layer has arrived, with so many bytes.
    pub(crate) fn message_arrives<C: HostContext>(&mut self, turn: &mut IoTurn<'_, C>, payload: Payload, bytes: u64) {
        match payload {
            Payload::Request { server, request } => self.request_arrived(turn, server, request),
            Payload::Pull {
                server,
                header,
                piece,
                bytes,
            } => self.pull_arrived(turn, server, header, (piece, bytes)),
            Payload::WriteData { piece, .. } => self.write_data_arrived(turn, piece),
            Payload::ReadData { server, header, .. } => self.read_data_arrived(turn, server, header, bytes),
            Payload::Response { header, lost, .. } => self.response_arrived(turn, header, lost),
            Payload::LockRevoke {
                server,
                client,
                owner,
                holder,
            } => self.lock_revoke_arrived(turn, (client, server), (owner, holder)),
            Payload::LockReturn {
                client, owner, holder, ..
            } => self.lock_returned(turn, holder, (client, owner)),
            Payload::JobEnded { server, owner, .. } => self.job_end_arrived(turn, server, owner),
            _ => debug_assert!(false, "{payload:?} is a message of ranks"),
        }
    }

    /// Lets servers fail that have by `now`, the end of the run.
    pub(crate) fn fail_until(&mut self, now: Time) {
        self.servers.fail_until(now);
        self.metadata.fail_until(now);
    }

    /// Charges the open waits at `now`, the end of the run.
    pub(crate) fn charge_open_waits(&mut self, now: Time) {
        self.servers.charge_open_waits(now);
        self.metadata.charge_open_waits(now);
    }

    /// Checks after a complete run that nothing is under way.
    ///
    /// # Errors
    /// Says what is.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.metadata.audit()?;
        self.servers.audit()
    }
}
