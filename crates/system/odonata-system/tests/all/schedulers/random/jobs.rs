//! Storage servers, and jobs on the other nodes.

use super::author::Author;
use super::machines::Machine;
use super::network::Network;

impl Author {
    pub(super) fn storage_and_jobs(&mut self, machine: &Machine, network: &Network) -> String {
        let storage = self.chance(50);
        self.tiered = false;
        let (mut text, servers) = match storage {
            true => self.numbered_storage(machine),
            false => (String::new(), 0),
        };
        let mut left = machine.nodes - servers;
        for job in 0..1 + self.below(3) {
            let on_a_node = self.one_of(&[1, 1, 2, 3]);
            let ranks = 3 + self.below((on_a_node * left.saturating_sub(3)).clamp(1, 12));
            let nodes = ranks.div_ceil(on_a_node);
            if nodes > left {
                break;
            }
            left -= nodes;
            text += &self.job(job, ranks, on_a_node, storage);
            if network.classes && self.chance(60) {
                text += &format!("traffic_class = {{ {} = \"b\" }}\n", self.one_of(&["mpi", "io"]));
            }
        }
        text
    }

    /// Like [`storage`](Self::storage); also returns the number of its servers.
    fn numbered_storage(&mut self, machine: &Machine) -> (String, u32) {
        (self.io_server, self.metadata_server) = (None, None);
        let (text, servers) = self.storage(machine);
        let objects = match text.split_once("[storage.file_system]\n") {
            None => 0,
            Some((_, system)) => match system.strip_prefix("object_servers = ") {
                // The default number.
                None => 16,
                Some(count) => count[..1].parse().expect("a number of one digit"),
            },
        };
        self.metadata_server = text.contains("metadata = {").then_some(servers + objects);
        (text, servers)
    }

    /// Servers small enough to make requests wait, and their number.
    fn storage(&mut self, machine: &Machine) -> (String, u32) {
        let (nodes, servers) = match machine.groups {
            0 => ("{ list = [1, 6] }".to_owned(), 2),
            groups => {
                let position = self.one_of(&["first", "last"]);
                (format!("{{ per_group = 1, position = {position:?} }}"), groups)
            }
        };
        let mut text = format!("[storage]\nnodes = {nodes}\n");
        text += &format!(
            "assignment = {:?}\n",
            self.one_of(&["by-group", "nearest", "random", "round-robin"])
        );
        if self.chance(60) {
            let layout = self.one_of(&[
                "\"hash\"",
                "\"random\"",
                "\"round-robin\"",
                "{ striped = { stripe = \"2 KiB\" } }",
                "{ striped = { stripe = \"700 B\", count = 2, start = \"round-robin\" } }",
            ]);
            text += &format!("layout = {layout}\n");
        }
        if self.chance(40) {
            let granularity = self.one_of(&["1 B", "4 KiB"]);
            text += &format!("locks = {{ granularity = {granularity:?}, revocation = \"500 ns\" }}\n");
        }
        if self.chance(50) {
            text += &format!(
                "metadata = {{ nodes = {nodes}, threads = {}, distribution = {:?}, serial_directories = {}, open = \"700 ns\", \
                 create = {:?}, stat = \"0 ns\", close = \"300 ns\", unlink = \"1 us\", mkdir = \"2 us\" }}\n",
                1 + self.below(3),
                self.one_of(&["by-file", "by-directory"]),
                self.chance(50),
                self.one_of(&["900 ns", "4 us"]),
            );
        }
        if self.chance(30) {
            text += &format!(
                "faults = [{{ server = 0, at = {:?}, duration = \"6 us\", kind = \"stall\" }}, \
                 {{ server = 0, at = \"20 us\", kind = {{ slow = 2.7 }} }}]\n",
                self.one_of(&["0 ns", "3 us", "11 us"]),
            );
        }
        let object_per_file = self.chance(50);
        text += &format!(
            "[storage.manager]\nblock = \"4 KiB\"\nmemory = {:?}\npieces_in_flight = {}\nobject_per_file = {}\n\
             extents = {}\nsharing = {:?}\nacknowledge = {:?}\n",
            self.one_of(&["4 KiB", "16 KiB", "1 MiB"]),
            1 + self.below(4),
            object_per_file,
            object_per_file && self.chance(50),
            self.one_of(&["fifo", "fifo", "round-robin", "weighted"]),
            self.one_of(&["device", "device", "memory"])
        );
        text += &match self.below(8) {
            0 => "[storage.device]\npreset = \"intel-d3-s4510\"\n".to_owned(),
            1 => format!(
                "[storage.device]\nnvme = {{ lanes = 2 }}\nqueue_depth = {}\n",
                1 + self.below(4)
            ),
            2 => "[storage.device.hdd]\nread_ahead = \"64 KiB\"\n".to_owned(),
            3 => "[[storage.devices]]\nname = \"flash\"\nssd = { channels = 2 }\n\
                  [[storage.devices]]\nname = \"disk\"\nhdd = {}\n\
                  [[storage.rules]]\ndevice = \"flash\"\nbelow = \"8 kB\"\n[[storage.rules]]\ndevice = \"disk\"\n"
                .to_owned(),
            _ => format!(
                "[storage.device.rate]\noverhead = {:?}\nseek = {:?}\n",
                self.one_of(&["0 ns", "1 us", "20 us"]),
                self.one_of(&["0 ns", "3 us"])
            ),
        };
        // Tables of arrays come last.
        if object_per_file && self.chance(50) {
            return self.tiers(machine, text, servers);
        }
        if self.chance(30) {
            text += "[storage.drain]\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\n";
        }
        (text, servers)
    }

    /// Tiers below the servers of `text`: I/O nodes with or without devices, a file system, or both; some nodes have
    /// servers of their own instead.
    fn tiers(&mut self, machine: &Machine, text: String, servers: u32) -> (String, u32) {
        let (mut text, mut servers) = (text, servers);
        if self.chance(40) {
            text = text.replacen("[storage]\n", "[storage]\nsync = \"below\"\n", 1);
        }
        self.tiered = true;
        text += &self.policy("storage.policy");
        let file_system = self.chance(70);
        let free = [machine.nodes - 1, 0, 3, 2];
        let taken = |node: &u32| match machine.groups {
            0 => [1, 6].contains(node),
            groups => {
                let group = machine.nodes / groups;
                node.is_multiple_of(group) || node % group == group - 1
            }
        };
        let io_node = free.into_iter().find(|node| *node < machine.nodes && !taken(node));
        if let Some(node) = io_node.filter(|_| !file_system || self.chance(60)) {
            self.io_server = Some(servers);
            servers += 1;
            text += &format!("[[storage.tiers]]\nname = \"io\"\nnodes = {{ list = [{node}] }}\n");
            if !file_system || self.chance(60) {
                text += "device = { capacity = \"10 MB\", rate = { seek = \"0 s\" } }\n";
                if file_system {
                    text += &self.policy("storage.tiers.policy");
                }
            }
            text += &format!(
                "[storage.tiers.manager]\nblock = {:?}\nmemory = {:?}\n",
                self.one_of(&["4 KiB", "3 KiB"]),
                self.one_of(&["4 KiB", "64 KiB"])
            );
        } else {
            text += "[storage.file_system]\n";
            return (text, servers);
        }
        if file_system {
            text += &format!(
                "[storage.file_system]\nobject_servers = {}\nbandwidth = {:?}\nlatency = \"2 us\"\n\
                 layout = {{ striped = {{ stripe = \"3 KiB\" }} }}\n",
                1 + self.below(4),
                self.one_of(&["300 MB/s", "3 GB/s"])
            );
        }
        (text, servers)
    }

    /// Adds server faults to some scenarios where they are possible, and only timeouts of clients to others.
    pub(super) fn failing(&mut self, text: String) -> String {
        let Some(storage) = text.split_once("[storage]\n").map(|(_, storage)| storage) else {
            return text;
        };
        if !self.chance(60) {
            return text;
        }
        let fails = !storage.contains("object_per_file = false");
        let client = format!(
            "client = {{ timeout = {:?}, retries = {}, backoff = {:?}, on_failure = {:?}, lost_reads = {:?} }}\n",
            self.one_of(if fails {
                &["15 us", "60 us", "300 us"]
            } else {
                &["100 us", "300 us"]
            }),
            self.below(4),
            self.one_of(&["0 ns", "3 us"]),
            if fails && self.chance(80) { "re-route" } else { "error" },
            self.one_of(&["below", "below", "below", "error"]),
        );
        let (first, second) = (
            self.one_of(&["0 ns", "4 us", "25 us"]),
            self.one_of(&["31 us", "90 us"]),
        );
        let faults = match !fails || storage.contains("faults = [") {
            true => String::new(),
            false => {
                let device = match storage.contains("[[storage.devices]]") && self.chance(60) {
                    true => format!("device = {:?}, ", self.one_of(&["flash", "disk"])),
                    false => String::new(),
                };
                let mut faults = format!(
                    "{{ server = 0, {device}at = {first:?}, duration = \"6 us\", kind = \"fail\" }}, \
                     {{ server = {}, at = {second:?}, kind = \"fail\" }}",
                    self.below(2)
                );
                for server in [self.io_server, self.metadata_server].into_iter().flatten() {
                    if self.chance(40) {
                        let at = self.one_of(&["0 ns", "12 us", "40 us"]);
                        let duration = self.one_of(&["9 us", "70 us"]);
                        faults += &format!(
                            ", {{ server = {server}, at = {at:?}, duration = {duration:?}, kind = \"fail\" }}"
                        );
                    }
                }
                format!("faults = [{faults}]\n")
            }
        };
        text.replacen("[storage]\n", &format!("[storage]\n{client}{faults}"), 1)
    }

    pub(super) fn policy(&mut self, table: &str) -> String {
        let drain = self.one_of(&["immediately", "immediately", "above-watermark", "job-end"]);
        let watermark = match drain {
            "above-watermark" => "watermark = \"20 kB\"\n",
            _ => "",
        };
        let read = self.one_of(&[
            "read = \"pass\"",
            "read = \"cache\"",
            "read = \"cache\"\nread_ahead = \"20 kB\"",
        ]);
        format!(
            "[{table}]\nwrite = {:?}\ndrain = {drain:?}\n{watermark}blocks_in_flight = {}\nkeep = {}\neviction = {:?}\n{read}\n",
            self.one_of(&["back", "back", "through", "around"]),
            1 + self.below(4),
            self.chance(50),
            self.one_of(&["lru", "oldest"]),
        )
    }

    fn job(&mut self, job: u32, ranks: u32, on_a_node: u32, storage: bool) -> String {
        let bytes = self.one_of(&["0 B", "64 B", "3000 B", "8 KiB", "40 KiB"]);
        let compute = self.one_of(&["0 ns", "1 us", "1.7 us"]);
        let last = if storage { 10 } else { 6 };
        let workload = match self.below(last + 2) {
            n if n == last => format!(
                "{{ nccl = {{ collective = {:?}, bytes = \"70 kB\", chunk = {:?}, channels = 2, gpus_per_host = {}, launch = {compute:?} }} }}",
                self.one_of(&["all-reduce", "all-gather", "reduce-scatter", "broadcast"]),
                self.one_of(&["2 MiB", "3000 B"]),
                if ranks.is_multiple_of(2) { 2 } else { ranks },
            ),
            n if n > last => {
                let stages = if ranks.is_multiple_of(2) { 2 } else { 1 };
                format!(
                    "{{ training = {{ layers = 2, hidden = 16, sequence = 16, vocabulary = 50, pipeline = {stages}, micro_batches = 3, \
                     schedule = {:?}, gradients = {:?}, flops = 1e12 }} }}",
                    self.one_of(&["1f1b", "gpipe"]),
                    self.one_of(&["all-reduce", "sharded"]),
                )
            }
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
            5 => format!("{{ neighbors = {{ bytes = {bytes:?}, mean_interval = \"1 us\", messages = 6 }} }}"),
            6 => {
                let files = self.one_of(&[
                    "",
                    "file = \"per-rank\", record = \"3 KiB\", ",
                    "offset = \"strided\", record = \"1500 B\", ",
                ]);
                let fsync = self.chance(50);
                format!(
                    "{{ checkpoint = {{ iterations = 2, {files}fsync = {fsync}, total = \"60 KiB\", interval = \"3 us\" }} }}"
                )
            }
            7 => format!(
                "{{ mdtest = {:?} }}",
                self.one_of(&["-n 4 -F -u", "-n 6 -z 1 -b 2 -w 2k -e 1k -y -N 1", "-n 3 -D -B"])
            ),
            _ => format!(
                "{{ cosmoflow = {{ iterations = 2, elements = 700, sample = \"9 KiB\", compute = {compute:?} }} }}"
            ),
        };
        let rule = match job {
            1 if self.chance(30) => "start_after = \"job0\"\n",
            1 if self.chance(20) => "start = \"2 us\"\n",
            _ => "",
        };
        let staged = self.tiered && self.chance(50) && !workload.contains("messages = ");
        let io = match storage {
            true if staged => self.one_of(&[
                "io = { stage_in = [{ bytes = \"30 KiB\" }], stage_out = true }\n",
                "io = { stage_in = [{ file = 1, offset = \"5 kB\", bytes = \"7 KiB\", per_rank = true }], stage_wait = false }\n",
                "io = { stage_out = true, write_behind = \"8 KiB\" }\n",
            ]),
            true if self.chance(30) => "io = { directory = \"common\" }\n",
            true if self.chance(30) => "io = { write_behind = \"8 KiB\", assignment = \"random\" }\n",
            _ => "",
        };
        let placement = self.one_of(&["contiguous", "random", "random-router", "random-group"]);
        format!(
            "[[jobs]]\nname = \"job{job}\"\nranks = {ranks}\nranks_per_node = {on_a_node}\nplacement = {placement:?}\n\
             {rule}{io}workload = {workload}\n"
        )
    }
}
