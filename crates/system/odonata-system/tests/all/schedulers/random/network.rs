//! Routers, links, and the information that routers exchange.

use super::author::Author;
use super::machines::Machine;

pub(super) struct Network {
    pub(super) tables: String,
    /// Whether there are the traffic classes "a" and "b".
    pub(super) classes: bool,
}

impl Author {
    pub(super) fn network(&mut self, machine: &Machine) -> Network {
        let algorithm = machine.algorithm;
        let router = match algorithm {
            "bubble" => self.one_of(&["input-queued", "pipelined"]),
            _ => self.one_of(&[
                "input-queued",
                "input-queued",
                "output-queued",
                "pipelined",
                "pipelined",
            ]),
        };
        let pipelined = router == "pipelined";
        let switching = match pipelined && algorithm != "bubble" {
            true => self.one_of(&["cut-through", "store-and-forward", "wormhole"]),
            false => self.one_of(&["cut-through", "cut-through", "store-and-forward"]),
        };
        let packet = 512 << self.below(4);
        let flit = match pipelined {
            true => packet >> (1 + self.below(4)),
            false => 32 << self.below(5),
        };
        let mut text = format!(
            "[network]\npacket = \"{packet} B\"\nflit = \"{flit} B\"\nrouter = {router:?}\nswitching = {switching:?}\n"
        );
        let arbitrations = ["round-robin", "round-robin", "age", "first-come"];
        text += &format!("arbitration = {:?}\n", self.one_of(&arbitrations));
        if router == "input-queued" {
            text += &format!("input_queues = {:?}\n", self.one_of(&["virtual-output", "fifo"]));
        }
        let classes = router == "input-queued" && self.chance(30);
        if classes {
            text += &format!(
                "traffic_classes = [{{ name = \"a\", share = 0.6 }}, {{ name = \"b\", share = 0.2, priority = {} }}]\n",
                self.below(2)
            );
        }
        if self.chance(25) {
            text += &format!(
                "congestion_control = {{ kind = {:?}, threshold = \"{} B\", interval = \"1 us\", recovery = \"20 us\" }}\n",
                self.one_of(&["ecn", "per-flow", "per-pair"]),
                2 * packet
            );
        }
        if pipelined {
            text += &self.pipeline();
        }
        text += &format!("[network.routing]\nalgorithm = {algorithm:?}\n");
        let by_groups = ["dragonfly", "dragonfly-2d"].contains(&machine.family);
        let is_direct = ["minimal", "up-down", "shortest-paths", "k-shortest-paths"].contains(&algorithm);
        if by_groups && !is_direct {
            text += &format!("via = {:?}\n", self.one_of(&["group", "router"]));
        }
        let latencies = ["terminal", "local", "global", "column"]
            .map(|class| (class, self.one_of(&[100_000, 51_200, 33_000, 10_000, 2_000])));
        if algorithm == "ugal" && machine.groups > 0 {
            let columns = u64::from(machine.family == "dragonfly-2d");
            text += &self.knowledge(latencies[1].1 + columns * latencies[3].1);
        }
        for (class, latency) in latencies {
            let bandwidth = self.one_of(&["10.24 GB/s", "5.12 GB/s", "4.7 GiB/s"]);
            let credit = self.one_of(&["100 ns", "51.2 ns", "1419 ps"]);
            let least = if algorithm == "bubble" { 2 } else { 1 };
            let buffer = match switching {
                "wormhole" => (2 + self.below(14)) * flit,
                _ => (least + self.below(4)) * packet,
            };
            text += &format!(
                "[network.links.{class}]\nbandwidth = {bandwidth:?}\nlatency = \"{latency} ps\"\n\
                 credit_delay = {credit:?}\nbuffer = \"{buffer} B\"\n"
            );
        }
        Network { tables: text, classes }
    }

    /// Keys for pipelined routers; the first key is one of `network`.
    fn pipeline(&mut self) -> String {
        format!(
            "clock = {:?}\n[network.pipeline]\nrouting = {}\nvc_allocation = {}\nswitch_allocation = {}\n\
             iterations = {}\ninternal_speedup = {:?}\ninput_speedup = {}\nallocator = {:?}\n\
             adaptive_requests = {:?}\ninjection_vc = {:?}\n",
            self.one_of(&["1 ns", "1 ns", "800 ps", "3333 ps"]),
            self.below(3),
            1 + self.below(2),
            1 + self.below(2),
            1 + self.below(2),
            self.one_of(&[1.0, 1.0, 1.5, 2.0]),
            1 + self.below(2),
            self.one_of(&["input-first", "output-first"]),
            self.one_of(&["all", "first"]),
            self.one_of(&["in-turn", "random"]),
        )
    }

    /// Information that routers publish in their group, whose shortest path takes `way` picoseconds: delays and
    /// intervals are multiples of each other, much shorter, or unrelated.
    fn knowledge(&mut self, way: u64) -> String {
        let knowledge = self.one_of(&["local", "global", "global", "piggyback"]);
        let mut text = format!("knowledge = {knowledge:?}\n");
        if knowledge == "local" {
            return text;
        }
        let delay = way * self.one_of(&[1, 1, 2, 3]);
        let interval = self.one_of(&[
            delay,
            delay / 2,
            delay / 10,
            2 * delay,
            130_000,
            51_200,
            10_000,
            1_000,
            7,
            1,
        ]);
        text += &format!("knowledge_interval = \"{interval} ps\"\n");
        if delay > way || self.chance(50) {
            text += &format!("knowledge_delay = \"{delay} ps\"\n");
        }
        if knowledge == "piggyback" && self.chance(70) {
            text += &format!(
                "congestion_factor = {:?}\ncongestion_threshold = \"{} B\"\n",
                self.one_of(&[0.0, 0.5, 1.1]),
                self.one_of(&[0, 512, 4096])
            );
        }
        text
    }
}
