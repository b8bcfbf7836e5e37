//! Draws random scenarios: the same seed gives the same scenario.

use super::super::{ALL, PARALLEL};
use odonata_engine::Stream;
use odonata_engine::random::Purpose;

pub(super) struct Author {
    stream: Stream,
    /// Whether the scenario has tiers of servers.
    pub(super) tiered: bool,
    /// A server of a tier below the first, and a metadata server, if there are any.
    pub(super) io_server: Option<u32>,
    pub(super) metadata_server: Option<u32>,
}

impl Author {
    pub(super) fn new(seed: u64) -> Author {
        Author {
            stream: Stream::new(seed, 0, Purpose::Host),
            tiered: false,
            io_server: None,
            metadata_server: None,
        }
    }

    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.stream.below(n)
    }

    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// A scenario; rounded times and sizes make events tie.
    pub(super) fn scenario(&mut self) -> String {
        let machine = self.machine();
        let network = self.network(&machine);
        let mut text = format!(
            "seed = {}\n[run]\nblame = {}\nmessage_rows = {}\n",
            self.below(1_000),
            self.chance(70),
            self.one_of(&["0", "5", "60", "100000"])
        );
        if self.chance(30) {
            text += "series_interval = \"7 us\"\n";
        }
        if self.chance(15) {
            text += "time_limit = \"23 us\"\n";
        }
        let faults = self.faults(&machine, &network);
        text += &format!("{faults}{}{}", machine.table, network.tables);
        if self.chance(50) {
            text += &format!(
                "[mpi]\neager_threshold = \"{} B\"\n",
                self.one_of(&["0", "1024", "4096"])
            );
        }
        text += &self.storage_and_jobs(&machine, &network);
        // Drawn from a separate stream: apart from this, the scenarios of all seeds stay the same.
        let mut aside = Author {
            stream: self.stream,
            tiered: self.tiered,
            io_server: self.io_server,
            metadata_server: self.metadata_server,
        };
        let text = aside.analytic(text);
        let text = aside.failing(text);
        let text = aside.lost_time(text);
        let text = aside.flows(text);
        let text = aside.sampling(text);
        aside.analytic_job(text)
    }

    /// Adds a job in the analytic model to some scenarios, beside packets, flows or both.
    fn analytic_job(&mut self, text: String) -> String {
        let refused = ["lost_time", "traffic_class", "network]\nfidelity"];
        let mut parts: Vec<String> = text.split("[[jobs]]\n").map(str::to_owned).collect();
        let of_network: Vec<usize> = (1..parts.len())
            .filter(|&job| !parts[job].contains("fidelity"))
            .collect();
        // Some packets stay where they are coupled with flows or controlled.
        let packets = ["coupling_interval", "congestion_control"];
        let fewest = 1 + usize::from(packets.iter().any(|key| text.contains(key)));
        if refused.iter().any(|key| text.contains(key)) || of_network.len() < fewest || !self.chance(12) {
            return text;
        }
        let job = of_network[self.chance(50) as usize % of_network.len()];
        parts[job].insert_str(0, "fidelity = \"analytic\"\n");
        parts.join("[[jobs]]\n")
    }

    /// Enables sampling in some of the scenarios whose waits are charged.
    fn sampling(&mut self, text: String) -> String {
        let refused = text.contains("lost_time") || text.contains("\"pipelined\"");
        if refused || !text.contains("blame = true\n") || !self.chance(40) {
            return text;
        }
        text.replacen("blame = true\n", "blame = true\nblame_sampling = 3\n", 1)
    }

    /// Enables lost time in some of the scenarios whose waits are charged.
    fn lost_time(&mut self, text: String) -> String {
        let refused = !text.contains("blame = true") || text.contains("fidelity = \"analytic\"");
        if refused || !self.chance(40) {
            return text;
        }
        text.replacen("blame = true\n", "blame = true\nlost_time = true\n", 1)
    }

    /// Removes packets from the network in some scenarios that do not need any.
    fn analytic(&mut self, text: String) -> String {
        let packets = ["congestion_control", "traffic_classes"]
            .iter()
            .any(|key| text.contains(key));
        if packets || !self.chance(15) {
            return text;
        }
        let latency = self.one_of(&["1419 ps", "200 ns", "3 us"]);
        let gap = self.one_of(&["0 ns", "70 ns"]);
        let model = format!("{{ latency = {latency:?}, gap = {gap:?}, gap_per_byte = \"0.11 ns/B\" }}");
        text.replacen(
            "[network]\n",
            &format!("[network]\nfidelity = \"analytic\"\nanalytic = {model}\n"),
            1,
        )
    }

    /// Makes messages of all or some jobs flows in some scenarios that do not need packets.
    fn flows(&mut self, text: String) -> String {
        let packets = [
            "congestion_control",
            "traffic_classes",
            "fidelity",
            "lost_time",
            "\"pipelined\"",
        ];
        if packets.iter().any(|key| text.contains(key)) || !self.chance(20) {
            return text;
        }
        if self.chance(40) {
            return text.replacen("[network]\n", "[network]\nfidelity = \"flow\"\n", 1);
        }
        // Messages of some jobs, beside the packets of others.
        let mut jobs = text.split("[[jobs]]\n");
        let mut mixed = jobs.next().unwrap_or_default().to_owned();
        let (mut all, mut flows) = (0, 0);
        for job in jobs {
            let flow = self.chance(50);
            (all, flows) = (all + 1, flows + u32::from(flow));
            mixed += &format!("[[jobs]]\n{}{job}", if flow { "fidelity = \"flow\"\n" } else { "" });
        }
        if flows == 0 || flows == all {
            return mixed;
        }
        let interval = self.one_of(&["100 ns", "1300 ns", "10 us"]);
        mixed.replacen(
            "[network]\n",
            &format!("[network]\ncoupling_interval = {interval:?}\n"),
            1,
        )
    }

    /// How to run it.
    pub(super) fn schedule(&mut self) -> [String; 3] {
        [
            format!("run.scheduler={:?}", self.one_of(&ALL)),
            format!("run.threads={}", self.one_of(&[1, 1, 2, 3])),
            format!("run.parts={}", 2 + self.below(5)),
        ]
    }

    /// How to run it on several threads.
    pub(super) fn threads(&mut self) -> [String; 3] {
        [
            format!("run.scheduler={:?}", self.one_of(&PARALLEL)),
            format!("run.threads={}", 2 + self.below(2)),
            format!("run.parts={}", 2 + self.below(5)),
        ]
    }
}
