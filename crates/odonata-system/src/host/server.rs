//! The server's side of I/O: carries out what the storage managers ask for.
//!
//! A pushed piece counts as delivered when its last packet starts on the server's terminal link: the
//! server's memory is free then, and no state of the server changes at the client's.

use super::Hosts;
use super::event::{HostEvent, Outside};
use super::letter::{Kind, Letter, Words, halves, whole, words};
use super::outcome::Failure;
use super::post::Shipment;
use odonata_storage::{Action, Actions, NewRequest, Servers};

impl Hosts {
    /// Gives an input to the servers and carries out their actions. None of these is an input itself,
    /// so that one list of actions, used again and again, is enough.
    fn serve<X: Outside>(&mut self, x: &mut X, input: impl FnOnce(&mut Servers, &mut Actions)) {
        let mut actions = std::mem::take(&mut self.actions);
        input(&mut self.servers, &mut actions);
        for action in actions.drain(..) {
            self.carry_out(x, action);
        }
        self.actions = actions;
    }

    fn carry_out<X: Outside>(&mut self, x: &mut X, action: Action) {
        let control = self.params.io.control_bytes;
        // The servers of this part have numbers of their own.
        let number = |local: u32| self.server_numbers[local as usize];
        match action {
            Action::Pull {
                server,
                slot,
                client,
                token,
                bytes,
                ..
            } => {
                let server = number(server);
                let [low, high] = halves(bytes);
                let words = words(&[token as u32, slot, low, high]);
                self.send_to_client(x, server, client, Kind::Pull, control, words);
            }
            Action::Push {
                server,
                slot,
                client,
                token,
                bytes,
                ..
            } => {
                let server = number(server);
                self.send_to_client(x, server, client, Kind::Data, bytes, words(&[token as u32, slot]));
            }
            Action::Respond {
                server, client, token, ..
            } => {
                let server = number(server);
                self.send_to_client(x, server, client, Kind::Respond, control, words(&[token as u32]));
            }
            Action::DeviceBusyUntil { server, at } => {
                let server = number(server);
                x.schedule(
                    self.server_places[server as usize].lp,
                    at,
                    HostEvent::DeviceDone { server },
                );
            }
            Action::DrainUntil { server, at } => {
                let server = number(server);
                x.schedule(
                    self.server_places[server as usize].lp,
                    at,
                    HostEvent::DrainDone { server },
                );
            }
            Action::Impossible {
                server,
                client,
                bytes,
                capacity,
                ..
            } => {
                let server = number(server);
                self.fail(
                    x,
                    Failure::Impossible {
                        rank: client,
                        server,
                        bytes,
                        capacity,
                    },
                );
            }
        }
    }

    fn send_to_client<X: Outside>(&mut self, x: &mut X, server: u32, rank: u32, kind: Kind, bytes: u64, words: Words) {
        let shipment = Shipment {
            created: x.now(),
            source: self.end_of_server(server),
            target: self.end_of_rank(rank),
            bytes,
            traffic: Self::traffic(self.places[rank as usize].job, true),
            letter: Letter {
                kind,
                to: rank,
                from: server,
                words,
            },
            software: self.params.io.send_delay,
            notify_sent: kind == Kind::Data,
            notify_arrived: true,
        };
        self.ship(x, shipment);
    }

    /// A client's request has arrived.
    pub(crate) fn request_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        let Letter {
            to: server,
            from: client,
            kind,
            words: [io, file, file_high, offset, offset_high, bytes, bytes_high],
            ..
        } = letter;
        let job = self.places[client as usize].job;
        let request = NewRequest {
            write: kind == Kind::WriteRequest,
            client,
            token: u64::from(io),
            // Files are numbered within their job.
            file: (whole(file, file_high) ^ u64::from(job) << 48).min(u64::MAX - 1),
            offset: whole(offset, offset_high),
            bytes: whole(bytes, bytes_high),
            owner: job,
        };
        let (now, server) = (x.now(), self.server_places[server as usize].local);
        self.serve(x, |servers, actions| {
            servers.request::<X>(now, server, request, actions)
        });
    }

    /// A piece of a write has arrived.
    pub(crate) fn piece_arrived<X: Outside>(&mut self, x: &mut X, letter: Letter, bytes: u64) {
        let now = x.now();
        let piece = letter.words[1];
        self.serve(x, |servers, actions| {
            servers.piece_arrived::<X>(now, piece, bytes, actions)
        });
    }

    /// A piece of a read has left.
    pub(crate) fn data_sent<X: Outside>(&mut self, x: &mut X, letter: Letter) {
        let now = x.now();
        let piece = letter.words[1];
        self.serve(x, |servers, actions| servers.piece_sent::<X>(now, piece, actions));
    }

    /// The access in service at `server`'s device has ended.
    pub(crate) fn device_done<X: Outside>(&mut self, x: &mut X, server: u32) {
        let (now, server) = (x.now(), self.server_places[server as usize].local);
        self.serve(x, |servers, actions| servers.device_done::<X>(now, server, actions));
    }

    /// A block of `server` is safe in the external file system.
    pub(crate) fn drain_done<X: Outside>(&mut self, x: &mut X, server: u32) {
        let (now, server) = (x.now(), self.server_places[server as usize].local);
        self.serve(x, |servers, actions| servers.drain_done::<X>(now, server, actions));
    }
}
