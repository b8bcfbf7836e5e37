//! The events of the fabric.

use odonata_engine::Time;

/// The logical process that computes the rates of flows.
pub(crate) const KEEPER: u32 = 0;

/// Delay from the beginning of a cycle of pipelined routers to its processing. A cycle sees credits and published loads
/// as of its beginning, which lies before its event: other components must keep their history that far back.
pub(crate) const LAG: Time = Time(1);

/// An event of the fabric; 12 bytes. Slots are indices into the fabric's pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FabricEvent {
    /// The head of packet `packet` is ready to be routed here; with pipelined routers, only from another part.
    Arrive {
        /// Packet slot.
        packet: u32,
    },
    /// A body flit from another part is in input buffer `buffer`, of the packet that arrived last (pipelined routers).
    Flit {
        /// Local number of the input buffer.
        buffer: u32,
    },
    /// A cycle of the router (pipelined routers). An idempotent wake-up.
    Tick,
    /// Wake-up of output port `port`: it became free or got a credit.
    Port {
        /// Local number of the output port.
        port: u32,
    },
    /// Wake-up of input buffer `buffer`: the tail ahead of its head has left.
    Input {
        /// Local number of the input buffer (port and virtual channel).
        buffer: u32,
    },
    /// Publish changes at the global ports to the group. An idempotent wake-up.
    Publish,
    /// Wake-up of NIC `nic`.
    Nic {
        /// Local number of the NIC.
        nic: u32,
    },
    /// Message `message` joins the queue of its source's NIC, after host overhead.
    Submit {
        /// Message slot.
        message: u32,
    },
    /// Notification `notification` of congestion control arrives.
    Notify {
        /// Notification slot.
        notification: u32,
    },
    /// The last byte of message `message` has left its source (without packets).
    Sent {
        /// Message slot.
        message: u32,
    },
    /// The first byte of message `message` is at the interface of its target (without packets).
    Incoming {
        /// Message slot.
        message: u32,
    },
    /// All bytes of message `message` have reached its target.
    Arrived {
        /// Message slot.
        message: u32,
    },
    /// Message `message` has reached the process that computes the rates (messages as flows).
    FlowStart {
        /// Message slot.
        message: u32,
    },
    /// Recompute the max-min fair rates of flows.
    FlowFill,
    /// The last packet of the message in this slot may have left its source.
    FlowSent {
        /// Message slot.
        message: u32,
    },
    /// Flow `flow` may end now. A wake-up: rates may have changed since.
    FlowEnd {
        /// Flow.
        flow: u32,
    },
    /// Report to the senders of links what flows leave to packets.
    FlowTell,
    /// The load of packets on a link.
    LinkUse {
        /// The number of the link in the machine.
        link: u32,
        /// The part of its bandwidth.
        part: u32,
        /// The sources of the packets.
        note: u16,
    },
    /// The owner of most of these packets.
    LinkUser {
        /// The number of the link in the machine.
        link: u32,
        /// The owner.
        owner: u16,
    },
    /// An interval has ended: report the load of packets on links that flows use as well.
    LinkReport,
    /// The part of a link that flows leave to packets.
    LinkShare {
        /// Local number of the link.
        link: u32,
        /// The part of its bandwidth.
        part: u32,
        /// Flits that flows would have waiting.
        load: u16,
    },
    /// The wait of packets behind flows, see [`FlowWait`](crate::FlowWait).
    FlowWait {
        /// Local number of the port.
        port: u32,
        /// The wait in picoseconds.
        wait: u32,
        /// The output.
        output: u16,
        /// The level of the routing.
        level: u8,
    },
    /// Message `message`, a flow, has reached its target.
    Delivered {
        /// Message slot.
        message: u32,
    },
    /// An event of Ethernet.
    Ethernet(odonata_ethernet::Event),
    /// A rank's contribution to a sum in routers reaches its interface.
    Contribute {
        /// Slot of the contribution.
        contribution: u32,
    },
    /// A chunk of such a sum arrives at a router or interface.
    ChunkArrives {
        /// Chunk slot.
        chunk: u32,
    },
    /// A router has summed the chunks of its children.
    ChunkReady {
        /// Chunk slot.
        chunk: u32,
    },
    /// The next chunk of a link may start.
    ChunkPort {
        /// Local number of the link.
        link: u32,
    },
}

impl FabricEvent {
    /// Whether it is an idempotent wake-up without effect of its own, whose number may depend on the scheduler; or an
    /// exchange of loads, which carries no traffic.
    #[inline]
    pub fn is_wake_up(self) -> bool {
        self.is_of_rates()
            || matches!(
                self,
                FabricEvent::Tick
                    | FabricEvent::Port { .. }
                    | FabricEvent::Input { .. }
                    | FabricEvent::Publish
                    | FabricEvent::Nic { .. }
            )
    }

    /// Whether it belongs to NICs or routers.
    #[inline(always)]
    pub(crate) fn is_of_packets(self) -> bool {
        matches!(
            self,
            FabricEvent::Arrive { .. }
                | FabricEvent::Flit { .. }
                | FabricEvent::Tick
                | FabricEvent::Port { .. }
                | FabricEvent::Input { .. }
                | FabricEvent::Publish
                | FabricEvent::Nic { .. }
                | FabricEvent::Notify { .. }
        )
    }

    /// Whether it belongs to the rates of flows, or to the exchange of loads between flows and packets.
    #[inline]
    fn is_of_rates(self) -> bool {
        matches!(
            self,
            FabricEvent::FlowFill
                | FabricEvent::FlowSent { .. }
                | FabricEvent::FlowEnd { .. }
                | FabricEvent::FlowTell
                | FabricEvent::LinkUse { .. }
                | FabricEvent::LinkUser { .. }
                | FabricEvent::LinkReport
                | FabricEvent::LinkShare { .. }
                | FabricEvent::FlowWait { .. }
        )
    }
}

/// A notice to the hosts, as the result of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// At the source: the last packet of the message has started on the terminal link. The
    /// sending host may reuse its buffer; it must not free the message.
    Sent {
        /// Message slot.
        message: u32,
    },
    /// At an interface: a sum in routers has ended. The host takes the contributions of its ranks with
    /// [`Fabric::take_reduced`](crate::Fabric::take_reduced).
    Reduced {
        /// Slot of the operation.
        operation: u32,
    },
    /// At the target: all bytes of the message have arrived. The host frees it with
    /// [`Fabric::release`](crate::Fabric::release).
    Arrived {
        /// Message slot.
        message: u32,
    },
}
