//! Random small scenarios, hundreds of them, each under schedulers, threads and parts drawn at random.

use super::{ALL, ONE_QUEUE, results, tables};
use odonata_engine::Stream;
use odonata_engine::random::Purpose;

struct Author(Stream);

impl Author {
    fn new(seed: u64) -> Author {
        Author(Stream::new(seed, 0, Purpose::Host))
    }

    fn below(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u32) as usize]
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// A scenario on a machine of 12 to 90 nodes; rounded times and sizes make events tie.
    fn scenario(&mut self) -> String {
        let (groups, routers) = (3 + self.below(4), 2 + self.below(2));
        let nodes_per_router = 2 + self.below(3);
        let nodes = groups * routers * nodes_per_router;
        let algorithm = self.one_of(&["minimal", "valiant", "progressive-adaptive"]);
        let via = self.one_of(&["group", "router"]);
        let router = self.one_of(&["input-queued", "input-queued", "output-queued"]);
        let queues = self.one_of(&["virtual-output", "fifo"]);
        let switching = self.one_of(&["cut-through", "cut-through", "store-and-forward"]);
        let (packet, flit) = (512 << self.below(4), 32 << self.below(5));
        let mut text = format!(
            "seed = {}\n[run]\nblame = {}\nmessage_rows = {}\n{}{}",
            self.below(1_000),
            self.chance(70),
            self.one_of(&["0", "5", "60", "100000"]),
            if self.chance(30) {
                "series_interval = \"7 us\"\n"
            } else {
                ""
            },
            if self.chance(15) {
                "time_limit = \"23 us\"\n"
            } else {
                ""
            },
        );
        text += &format!(
            "[machine.dragonfly]\ngroups = {groups}\nrouters_per_group = {routers}\n\
             nodes_per_router = {nodes_per_router}\nglobal_ports_per_router = 3\n\
             [network]\npacket = \"{packet} B\"\nflit = \"{flit} B\"\nrouter = {router:?}\nswitching = {switching:?}\n"
        );
        if router == "input-queued" {
            text += &format!("input_queues = {queues:?}\n");
        }
        text += &format!("[network.routing]\nalgorithm = {algorithm:?}\n");
        if algorithm != "minimal" {
            text += &format!("via = {via:?}\n");
        }
        for class in ["terminal", "local", "global"] {
            let bandwidth = self.one_of(&["10.24 GB/s", "5.12 GB/s", "4.7 GiB/s"]);
            let latency = self.one_of(&["100 ns", "51.2 ns", "33 ns", "2 ns"]);
            let credit = self.one_of(&["100 ns", "51.2 ns", "1419 ps"]);
            let buffer = (1 + self.below(4)) * packet;
            text += &format!(
                "[network.links.{class}]\nbandwidth = {bandwidth:?}\nlatency = {latency:?}\n\
                 credit_delay = {credit:?}\nbuffer = \"{buffer} B\"\n"
            );
        }
        if self.chance(50) {
            text += &format!(
                "[mpi]\neager_threshold = \"{} B\"\n",
                self.one_of(&["0", "1024", "4096"])
            );
        }
        let storage = self.chance(50);
        if storage {
            text += "[storage]\nnodes = { per_group = 1, position = \"first\" }\n\
                     [storage.manager]\nblock = \"4 KiB\"\nmemory = \"16 KiB\"\n";
        }
        let mut left = nodes - if storage { groups } else { 0 };
        for job in 0..1 + self.below(3) {
            let ranks = 3 + self.below(left.saturating_sub(3).clamp(1, 12));
            if ranks > left {
                break;
            }
            left -= ranks;
            text += &self.job(job, ranks, storage);
        }
        text
    }

    fn job(&mut self, job: u32, ranks: u32, storage: bool) -> String {
        let bytes = self.one_of(&["0 B", "64 B", "3000 B", "8 KiB", "40 KiB"]);
        let compute = self.one_of(&["0 ns", "1 us", "1.7 us"]);
        let last = if storage { 9 } else { 6 };
        let workload = match self.below(last) {
            0 | 1 => format!(
                "{{ stencil = {{ dimensions = {}, message = {bytes:?}, iterations = 2, compute = {compute:?}, \
                 allreduce = \"{} B\" }} }}",
                1 + self.below(2),
                self.one_of(&["0", "8", "5000"])
            ),
            2 => format!("{{ uniform = {{ bytes = {bytes:?}, mean_interval = \"900 ns\", messages = 9 }} }}"),
            3 => format!("{{ incast = {{ bytes = {bytes:?}, mean_interval = \"2 us\", messages = 4 }} }}"),
            4 => format!(
                "{{ tornado = {{ bytes = {bytes:?}, mean_interval = \"1 us\", arrival = \"fixed\", messages = 7 }} }}"
            ),
            5 => format!("{{ neighbours = {{ bytes = {bytes:?}, mean_interval = \"1 us\", messages = 6 }} }}"),
            6 => "{ checkpoint = { iterations = 2, total = \"60 KiB\", interval = \"3 us\" } }".to_owned(),
            _ => format!(
                "{{ cosmoflow = {{ iterations = 2, elements = 700, sample = \"9 KiB\", compute = {compute:?} }} }}"
            ),
        };
        let rule = match job {
            1 if self.chance(30) => "start_after = \"job0\"\n",
            1 if self.chance(20) => "start = \"2 us\"\n",
            _ => "",
        };
        let placement = self.one_of(&["contiguous", "random", "random-router", "random-group"]);
        format!(
            "[[jobs]]\nname = \"job{job}\"\nranks = {ranks}\nplacement = {placement:?}\n{rule}workload = {workload}\n"
        )
    }

    /// How to run it.
    fn schedule(&mut self) -> Vec<String> {
        let threads = [1, 1, 2, 3][self.below(4) as usize];
        vec![
            format!("run.scheduler={:?}", self.one_of(&ALL)),
            format!("run.threads={threads}"),
            format!("run.parts={}", 2 + self.below(5)),
        ]
    }
}

#[test]
fn six_hundred_random_scenarios_have_the_same_results_everywhere() {
    let mut completed = 0;
    for seed in 0..600 {
        let mut author = Author::new(seed);
        let text = author.scenario();
        let reference = results(&text, &ONE_QUEUE);
        completed += u32::from(reference.outcome().name() == "completed");
        for _ in 0..2 {
            let how = author.schedule();
            let overrides: Vec<&str> = how.iter().map(String::as_str).collect();
            let got = results(&text, &overrides);
            let context = format!("seed {seed}, {how:?}:\n{text}");
            assert_eq!(got.outcome(), reference.outcome(), "{context}");
            assert_eq!(got.digest(), reference.digest(), "{context}");
            assert_eq!(tables(&got), tables(&reference), "{context}");
        }
    }
    assert!(completed > 400, "only {completed} scenarios ran to their end");
}
