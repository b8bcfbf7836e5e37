//! The events of the fabric.

/// An event of the fabric; 12 bytes. Slots are indices into the fabric's pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FabricEvent {
    /// The head of packet `packet` is ready to be routed here; of pipelined routers, if it is from another part.
    Arrive {
        /// Packet slot.
        packet: u32,
    },
    /// A body flit, from another part, of the packet that came last is in input buffer `buffer` (pipelined routers).
    Flit {
        /// Input buffer, by its own number in the part.
        buffer: u32,
    },
    /// A cycle of the router (pipelined routers). An idempotent wake-up.
    Tick,
    /// Wake-up of output port `port`: it became free or got a credit.
    Port {
        /// Output port, by its own number in the part.
        port: u32,
    },
    /// Wake-up of input buffer `buffer`: the tail before its head has left.
    Input {
        /// Input buffer (port and virtual channel), likewise.
        buffer: u32,
    },
    /// Tell the group of what has changed at the global ports. An idempotent wake-up.
    Publish,
    /// Wake-up of NIC `nic`.
    Nic {
        /// NIC, counted over the nodes of the part.
        nic: u32,
    },
    /// Message `message` reaches the queue of its source's NIC (host costs paid).
    Submit {
        /// Message slot.
        message: u32,
    },
    /// Notification `notification` of congestion control is here.
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
    /// All bytes of message `message` are at its target.
    Arrived {
        /// Message slot.
        message: u32,
    },
    /// Message `message` is where rates of flows are kept (messages as flows).
    FlowStart {
        /// Message slot.
        message: u32,
    },
    /// Make the rates of flows max-min fair again.
    FlowFill,
    /// Of the message in this slot the last packet has perhaps left its source.
    FlowSent {
        /// Message slot.
        message: u32,
    },
    /// Perhaps flow `flow` ends now. A wake-up: rates may have changed since.
    FlowEnd {
        /// Flow.
        flow: u32,
    },
    /// Tell the senders of links what flows leave to packets.
    FlowTell,
    /// Packets have taken so much of a link.
    LinkUse {
        /// The machine's number of the link.
        link: u32,
        /// Of its bandwidth.
        part: u32,
        /// Their sources.
        note: u16,
    },
    /// Whose packets these are, for the most part.
    LinkUser {
        /// The machine's number of the link.
        link: u32,
        /// Whose traffic.
        owner: u16,
    },
    /// An interval has ended: report what packets have taken of links, where flows use them as well.
    LinkReport,
    /// Flows leave so much of a link to packets.
    LinkShare {
        /// The link, by its own number in the part.
        link: u32,
        /// Of its bandwidth.
        part: u32,
        /// Flits that they would have waiting.
        load: u16,
    },
    /// Packets wait so long behind flows, see [`FlowWait`](crate::FlowWait).
    FlowWait {
        /// The port, by its own number in the part.
        port: u32,
        /// Picoseconds.
        wait: u32,
        /// The output.
        output: u16,
        /// The level of the routing.
        level: u8,
    },
    /// Message `message`, a flow, is at its target.
    Delivered {
        /// Message slot.
        message: u32,
    },
}

impl FabricEvent {
    /// Whether it is an idempotent wake-up, which may find nothing to do: there may be more or fewer of them, depending on who
    /// handles events. Or whether it is only about what is known of links, and carries nothing.
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

    /// Whether it is of a message that does not go in packets, or of what flows and packets know of each other.
    #[inline]
    pub(crate) fn is_without_packets(self) -> bool {
        self.is_of_rates()
            || matches!(
                self,
                FabricEvent::Sent { .. }
                    | FabricEvent::Incoming { .. }
                    | FabricEvent::Delivered { .. }
                    | FabricEvent::FlowStart { .. }
            )
    }

    /// Whether it is about rates of flows, or about what flows and packets know of each other's.
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

/// What the fabric tells the hosts, as the result of handling an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// At the source: the last packet of the message has started on the terminal link. The
    /// sending host may reuse its buffer; it must not free the message.
    Sent {
        /// Message slot.
        message: u32,
    },
    /// At the target: all bytes of the message are there. The host frees it with
    /// [`Fabric::release`](crate::Fabric::release).
    Arrived {
        /// Message slot.
        message: u32,
    },
}
