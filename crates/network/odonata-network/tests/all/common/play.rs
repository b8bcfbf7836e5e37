//! Scripted messages, and the model that runs them on a fabric.

use super::{CYCLE, Net};
use odonata_blame::lost::Carried;
use odonata_engine::random::Purpose;
use odonata_engine::{
    Context, Digest, Journalled, Model, Pause, RollbackCheck, SendBuffer, Sequential, Store, Stream, Time,
    run_with_restarts,
};
use odonata_network::{FabricEvent, Notice, RemoteUpdate};

/// A message carries the index of its script line.
pub(crate) type Name = [u32; 1];
pub(crate) type Fabric = odonata_network::Fabric<Name>;
type Message = odonata_network::Message<Name>;
type RemoteEvent = odonata_network::RemoteEvent<Name>;

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scripted {
    pub(crate) at: Time,
    pub(crate) source: u32,
    pub(crate) target: u32,
    pub(crate) bytes: u64,
    pub(crate) traffic: u16,
    pub(crate) is_control: bool,
    /// The index at which its arrival is recorded.
    pub(crate) name: u32,
}

/// `bytes` from `source` to `target` at `at`.
pub(crate) fn message(at: Time, source: u32, target: u32, bytes: u64) -> Scripted {
    Scripted {
        at,
        source,
        target,
        bytes,
        traffic: 0,
        is_control: false,
        name: 0,
    }
}

/// Names messages by their index.
pub(crate) fn named(mut script: Vec<Scripted>) -> Vec<Scripted> {
    script.iter_mut().zip(0..).for_each(|(m, i)| m.name = i);
    script
}

/// `n` messages of the given sizes between random pairs of nodes, at random cycles up to `span`.
pub(crate) fn random_messages(net: &Net, n: usize, span: u64, sizes: &[u64], seed: u64) -> Vec<Scripted> {
    let mut random = Stream::new(seed, 0, Purpose::Destination);
    let nodes = net.nodes();
    let script = (0..n).map(|_| {
        let source = random.below(nodes);
        let target = (source + 1 + random.below(nodes - 1)) % nodes;
        let at = Time(CYCLE.0 * (1 + u64::from(random.below(span as u32))));
        message(at, source, target, sizes[random.below(sizes.len() as u32) as usize])
    });
    named(script.collect())
}

/// The fate of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Fate {
    pub(crate) sent: u32,
    pub(crate) arrivals: u32,
    pub(crate) at: Time,
}

/// The model: a fabric and a script.
pub(crate) struct Play {
    pub(crate) fabric: Fabric,
    script: Vec<Scripted>,
    /// Times at which every port and NIC is woken up, needed or not.
    looks: Vec<Time>,
    /// Times at which every pipelined router gets a cycle, needed or not.
    ticks: Vec<Time>,
    /// Times at which every router publishes, needed or not.
    publications: Vec<Time>,
    fates: Store<Fate>,
    /// The losses of a named message from before its submission.
    carried: Option<fn(u32) -> Carried>,
    /// Losses of messages at arrival; in runs without speculation.
    pub(crate) losses: Vec<(u32, Carried)>,
}
odonata_engine::journalled!(Play { fabric, fates });

impl Play {
    pub(crate) fn new(net: &Net, script: Vec<Scripted>) -> Self {
        Self::on(net.fabric(), script)
    }

    /// On a fabric that does not come from a `Net`.
    pub(crate) fn on(fabric: Fabric, script: Vec<Scripted>) -> Self {
        let fates = Store::filled(script.len(), Fate::default());
        Play {
            fabric,
            script,
            looks: Vec::new(),
            ticks: Vec::new(),
            publications: Vec::new(),
            fates,
            carried: None,
            losses: Vec::new(),
        }
    }

    /// Sets losses of messages from before their submission, by name.
    pub(crate) fn carrying(mut self, carried: fn(u32) -> Carried) -> Self {
        self.carried = Some(carried);
        self
    }

    /// Adds an idle wake-up for every port and NIC, every cycle until `until`.
    pub(crate) fn eager(mut self, until: Time) -> Self {
        self.looks = (1..=until.0 / CYCLE.0).map(|i| Time(i * CYCLE.0)).collect();
        self
    }

    /// Adds a superfluous cycle of every pipelined router, every cycle until `until`.
    pub(crate) fn ticking(mut self, until: Time) -> Self {
        self.ticks = (1..=until.0 / CYCLE.0).map(|i| Time(i * CYCLE.0 + 1)).collect();
        self
    }

    /// Adds a superfluous publication of every router after each multiple of `interval` until `until`.
    pub(crate) fn publishing(mut self, interval: Time, until: Time) -> Self {
        self.publications = (1..=until.0 / interval.0).map(|i| Time(i * interval.0 + 1)).collect();
        self
    }

    pub(crate) fn fates(&self) -> &[Fate] {
        // Store has no slice view; the fates are few.
        self.fates.iter().as_slice()
    }

    pub(crate) fn arrival(&self, name: usize) -> Time {
        assert_eq!(self.fates()[name].arrivals, 1, "message {name} did not arrive once");
        self.fates()[name].at
    }

    pub(crate) fn digest(&self) -> u128 {
        let mut digest = Digest::new();
        self.results(&mut digest);
        digest.value()
    }

    /// Checks that every message left once and arrived once, and nothing is left behind.
    pub(crate) fn assert_complete(&mut self, context: &str) {
        self.fabric.audit().unwrap_or_else(|error| panic!("{context}: {error}"));
        for (name, fate) in self.fates().iter().enumerate() {
            assert_eq!((fate.sent, fate.arrivals), (1, 1), "{context}: message {name}");
        }
        let bytes: u64 = self.script.iter().map(|m| m.bytes).sum();
        let delivered: u64 = self.fabric.traffic_stats().iter().map(|t| t.bytes).sum();
        assert_eq!(delivered, bytes, "{context}");
    }
}

impl Model for Play {
    type Event = FabricEvent;
    type RemoteEvent = RemoteEvent;
    type RemoteUpdate = RemoteUpdate;

    fn processes(&self) -> std::ops::Range<u32> {
        self.fabric.processes()
    }

    fn start<C: Context<Event = FabricEvent>>(&mut self, ctx: &mut C, lp: u32) {
        for m in &self.script {
            if self.fabric.process_of(m.source) == lp {
                let mut message = Message::new(m.source, m.target, m.bytes, m.traffic, m.at, [m.name]);
                message.is_control = m.is_control;
                let slot = self.fabric.submit(ctx, m.at, message);
                if let Some(carried) = self.carried {
                    self.fabric.set_losses::<C>(slot, carried(m.name));
                }
            }
        }
        for &at in &self.ticks {
            ctx.wake_up(lp, at, u32::MAX, FabricEvent::Tick);
        }
        for &at in &self.publications {
            // After wake-ups of ports, before needed publications and before cycles.
            ctx.wake_up(lp, at, 0xe000_0000, FabricEvent::Publish);
        }
        let topology = self.fabric.routing().topology();
        for &at in &self.looks {
            for port in topology.ports_of(lp) {
                ctx.wake_up(lp, at, self.fabric.wake_up_id(port), FabricEvent::Port { port });
            }
            for node in (0..topology.nodes()).filter(|&node| topology.node_router(node) == lp) {
                let name = self.fabric.wake_up_id(topology.ports() + node);
                ctx.wake_up(lp, at, name, FabricEvent::Nic { nic: node });
            }
        }
    }

    fn handle<C: Context<Event = FabricEvent>>(&mut self, ctx: &mut C, lp: u32, event: FabricEvent) {
        match self.fabric.handle(ctx, lp, event) {
            Some(Notice::Sent { message }) => {
                let name = self.fabric.message(message).content[0];
                self.fates.edit::<C>(name).sent += 1;
                self.fabric.note_sent::<C>(message);
            }
            Some(Notice::Arrived { message }) => {
                let m = *self.fabric.message(message);
                assert_eq!(self.fabric.process_of(m.target), lp);
                let fate = self.fates.edit::<C>(m.content[0]);
                fate.arrivals += 1;
                fate.at = ctx.now();
                let lost = self.fabric.losses(message);
                if !lost.is_empty() {
                    self.losses.push((m.content[0], lost));
                }
                self.fabric.release::<C>(message);
            }
            Some(Notice::Reduced { .. }) | None => {}
        }
    }

    fn send_buffer(&mut self) -> &mut SendBuffer<RemoteEvent, RemoteUpdate> {
        self.fabric.send_buffer()
    }

    fn receive_event<C: Context<Event = FabricEvent>>(&mut self, _: &mut C, _: u32, event: RemoteEvent) -> FabricEvent {
        self.fabric.receive_event::<C>(event)
    }

    fn apply_update<C: Context<Event = FabricEvent>>(&mut self, ctx: &mut C, _: u32, at: Time, update: RemoteUpdate) {
        self.fabric.apply_update(ctx, at, update);
    }

    fn lookahead(&self, from: u32, to: u32) -> Time {
        self.fabric.lookahead(from, to)
    }

    fn results(&self, digest: &mut Digest) {
        self.fabric.results(digest);
        for fate in self.fates() {
            digest.word(fate.at.0);
        }
    }
}

/// Runs `script` to the end.
pub(crate) fn play(net: &Net, script: Vec<Scripted>) -> Play {
    finish(Play::new(net, script))
}

pub(crate) fn finish(play: Play) -> Play {
    let mut run = Sequential::new(play);
    assert_eq!(
        run.run(Time::NEVER, 100_000_000),
        Pause::Idle,
        "the run did not come to an end"
    );
    run.into_model()
}

/// The state digest of a model without an undo journal.
pub(crate) fn fingerprint(play: &Play) -> u128 {
    let mut digest = Digest::new();
    play.fingerprint(&mut digest);
    digest.value()
}

/// Runs `script` with every event done, undone and redone, and checks that it ends like a plain run.
pub(crate) fn assert_can_be_undone(net: &Net, script: Vec<Scripted>, context: &str) -> RollbackCheck<Play> {
    let plain = play(net, script.clone());
    let mut harness = RollbackCheck::new(Play::new(net, script));
    harness
        .run(u64::MAX)
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(harness.model().digest(), plain.digest(), "{context}");
    harness
}

/// Runs `script` with a save and restore after each 1 to `most` events, drawn from `random`, and checks that it ends
/// like an uninterrupted run. Returns how it ended.
pub(crate) fn assert_restores(
    net: &Net,
    script: &[Scripted],
    (random, most): (&mut Stream, u32),
    context: &str,
) -> Play {
    let whole = play(net, script.to_vec());
    let leg = || 1 + u64::from(random.below(most));
    let run =
        run_with_restarts(|| Play::new(net, script.to_vec()), leg).unwrap_or_else(|error| panic!("{context}: {error}"));
    let model = run.into_model();
    assert_eq!(fingerprint(&model), fingerprint(&whole), "{context}");
    assert_eq!(model.digest(), whole.digest(), "{context}");
    model
}

/// Runs `script` with and without blame, also over time: only the charges differ, and the series is a view of the
/// charges. Returns the charges, in picoseconds.
pub(crate) fn assert_blame_changes_nothing(net: &Net, script: Vec<Scripted>, context: &str) -> u64 {
    let with = play(net, script.clone());
    let series: u64 = with.fabric.blame_series().map(|c| c.time.0).sum();
    let charged: u64 = with.fabric.blame().iter().map(|c| c.time.0).sum();
    assert_eq!(series, charged, "{context}: the series is a view of the charges");
    let mut net = net.clone();
    net.params.blame = false;
    let without = play(&net, script);
    assert_eq!(with.fates(), without.fates(), "{context}");
    let counts = |model: &Play| {
        let links: Vec<_> = model.fabric.link_stats().iter().copied().collect();
        let traffic: Vec<_> = model.fabric.traffic_stats().iter().copied().collect();
        (links, traffic)
    };
    assert_eq!(counts(&with), counts(&without), "{context}");
    assert!(without.fabric.blame().is_empty(), "{context}");
    charged
}
