//! Random scenarios of storage: tiers, layouts, locks, collective I/O, metadata, faults of all kinds, fsync, staging, write-behind and
//! sharing, drawn together, on a small machine.

use super::author::Author;

impl Author {
    /// A scenario that may combine all features of storage.
    pub(super) fn storage_scenario(&mut self) -> String {
        let groups = 3 + self.below(3);
        let blame = self.chance(70);
        let mut text = format!(
            "seed = {}\n[run]\nblame = {blame}\nlost_time = {}\nio_rows = 1000\n",
            self.below(1_000),
            blame && self.chance(30),
        );
        if self.chance(30) {
            text += "series_interval = \"9 us\"\n";
        }
        text += &format!(
            "[machine.dragonfly]\ngroups = {groups}\nrouters_per_group = 3\nnodes_per_router = 3\nglobal_ports_per_router = 2\n\
             [network]\npacket = \"{} B\"\nrouter = {:?}\n",
            512 << self.below(4),
            self.one_of(&["input-queued", "output-queued"]),
        );
        if self.chance(30) {
            let kind = self.one_of(&["ecn", "per-flow"]);
            text += &format!(
                "congestion_control = {{ kind = {kind:?}, threshold = \"8192 B\", interval = \"1 us\", recovery = \"20 us\" }}\n"
            );
        }
        let algorithm = self.one_of(&["minimal", "valiant", "progressive-adaptive"]);
        text += &format!("[network.routing]\nalgorithm = {algorithm:?}\n");
        text += &self.servers(groups);
        let mut left = 7 * groups - 2;
        for job in 0..1 + self.below(3) {
            let ranks = (2 + self.below(9)).min(left);
            left -= ranks;
            if ranks < 2 {
                break;
            }
            text += &self.storage_job(job, ranks);
        }
        text
    }

    /// A server on the first node of each group, with related keys.
    fn servers(&mut self, groups: u32) -> String {
        let mut text = "[storage]\nnodes = { per_group = 1 }\n".to_owned();
        text += &format!(
            "layout = {}\n",
            self.one_of(&[
                "\"assigned\"",
                "\"hash\"",
                "\"round-robin\"",
                "{ striped = { stripe = \"2 KiB\" } }",
                "{ striped = { stripe = \"700 B\", count = 2, start = \"round-robin\" } }",
            ])
        );
        if self.chance(50) {
            let granularity = self.one_of(&["1 B", "4 KiB"]);
            text += &format!("locks = {{ granularity = {granularity:?}, revocation = \"500 ns\" }}\n");
        }
        let (tiered, outside) = (self.chance(60), self.chance(60));
        let metadata = self.chance(60);
        if metadata {
            text += &format!(
                "metadata = {{ nodes = {{ per_group = 1, position = \"last\" }}, threads = {}, serial_directories = {}, open = \"700 ns\", \
                 create = \"2 us\", close = \"300 ns\" }}\n",
                1 + self.below(3),
                self.chance(50),
            );
        }
        if tiered && self.chance(40) {
            text += "sync = \"below\"\n";
        }
        let several = self.chance(50);
        // Storage servers, two I/O nodes below them, object servers outside, metadata servers.
        let (io, objects) = (if tiered { 2 } else { 0 }, if tiered && outside { 3 } else { 0 });
        let first_metadata = groups + io + objects;
        text += &self.faults_of_storage(several, (groups, io + objects), metadata.then_some(first_metadata));
        text += &format!(
            "[storage.manager]\nblock = \"4 KiB\"\nmemory = {:?}\npieces_in_flight = {}\nextents = true\nsharing = {:?}\n\
             acknowledge = {:?}\n",
            self.one_of(&["4 KiB", "16 KiB", "1 MiB"]),
            1 + self.below(4),
            self.one_of(&["fifo", "round-robin", "weighted"]),
            self.one_of(&["device", "memory"]),
        );
        if !several {
            text += "[storage.device]\ncapacity = \"10 MB\"\nrate = { overhead = \"1 us\", seek = \"0 s\" }\n";
        }
        if tiered {
            text += &self.policy("storage.policy");
        }
        if several {
            text += "[[storage.devices]]\nname = \"flash\"\ncapacity = \"10 MB\"\nssd = { channels = 2 }\n\
                     [[storage.devices]]\nname = \"disk\"\ncapacity = \"10 MB\"\nrate = { overhead = \"3 us\" }\n\
                     [[storage.rules]]\ndevice = \"flash\"\nbelow = \"3 kB\"\n[[storage.rules]]\ndevice = \"disk\"\n";
        }
        if tiered {
            text += "[[storage.tiers]]\nname = \"io\"\nnodes = { list = [1, 4] }\n";
            text += "device = { capacity = \"50 MB\", rate = { seek = \"0 s\" } }\n";
            if outside {
                text += &self.policy("storage.tiers.policy");
            }
            text += "[storage.tiers.manager]\nblock = \"4 KiB\"\n";
        }
        if objects > 0 {
            text += &format!(
                "[storage.file_system]\nobject_servers = {objects}\nbandwidth = \"3 GB/s\"\nlatency = \"2 us\"\n\
                 layout = {{ striped = {{ stripe = \"3 KiB\" }} }}\n"
            );
        }
        self.tiered = tiered;
        text
    }

    /// Faults, stalls and slow periods: at most one at a server.
    fn faults_of_storage(&mut self, several: bool, (first, below): (u32, u32), metadata: Option<u32>) -> String {
        let mut servers: Vec<u32> = (0..first.min(3)).collect();
        servers.extend(first..first + below);
        servers.extend(metadata);
        let mut faults = Vec::new();
        for server in servers {
            if !self.chance(45) {
                continue;
            }
            let device = match several && server < first && self.chance(60) {
                true => format!("device = {:?}, ", self.one_of(&["flash", "disk"])),
                false => String::new(),
            };
            let (at, duration) = (
                self.one_of(&["0 ns", "7 us", "25 us", "60 us"]),
                self.one_of(&["5 us", "40 us", "300 us"]),
            );
            let kind = self.one_of(&["\"fail\"", "\"fail\"", "\"stall\"", "{ slow = 2.7 }"]);
            faults.push(format!(
                "{{ server = {server}, {device}at = {at:?}, duration = {duration:?}, kind = {kind} }}"
            ));
        }
        let fails = faults.iter().any(|fault| fault.contains("\"fail\""));
        let mut text = String::new();
        if fails || self.chance(20) {
            text += &format!(
                "client = {{ timeout = {:?}, retries = {}, backoff = {:?}, on_failure = {:?}, lost_reads = \"below\" }}\n",
                self.one_of(&["60 us", "300 us"]),
                2 + self.below(3),
                self.one_of(&["0 ns", "7 us"]),
                self.one_of(&["re-route", "re-route", "error"]),
            );
        }
        if !faults.is_empty() {
            text += &format!("faults = [{}]\n", faults.join(", "));
        }
        text
    }

    fn storage_job(&mut self, job: u32, ranks: u32) -> String {
        let collective = match ranks >= 4 && self.chance(40) {
            true => "collective = { aggregators = 2, buffer = \"9 kB\" }, ",
            false => "",
        };
        let fsync = self.chance(50);
        let workload = match self.below(6) {
            0 | 1 => format!(
                "{{ checkpoint = {{ iterations = 2, offset = \"strided\", record = \"1500 B\", {collective}fsync = {fsync}, total = \"{} B\", \
                 interval = \"3 us\" }} }}",
                6_000 * ranks
            ),
            2 => format!(
                "{{ checkpoint = {{ iterations = 2, file = \"per-rank\", record = \"3 KiB\", fsync = {fsync}, total = \"60 KiB\", \
                 interval = \"9 us\" }} }}"
            ),
            3 => format!(
                "{{ ior = {:?} }}",
                self.one_of(&["-w -r -t 2k -b 8k -i 2", "-w -r -t 3k -b 6k -F -e", "-w -t 1k -b 5k -Y"])
            ),
            4 => format!(
                "{{ mdtest = {:?} }}",
                self.one_of(&["-n 4 -F -u", "-n 6 -z 1 -b 2 -w 2k -e 1k -y -N 1"])
            ),
            _ => {
                "{ cosmoflow = { iterations = 2, elements = 700, sample = \"9 KiB\", compute = \"2 us\" } }".to_owned()
            }
        };
        let staged = self.tiered && self.chance(40);
        let io = match staged {
            true => self.one_of(&[
                "io = { stage_in = [{ bytes = \"30 KiB\" }], stage_out = true }\n",
                "io = { stage_in = [{ file = 1, bytes = \"7 KiB\", per_rank = true }], stage_wait = false }\n",
                "io = { stage_out = true, write_behind = \"8 KiB\" }\n",
            ]),
            false => self.one_of(&[
                "",
                "",
                "io = { directory = \"common\" }\n",
                "io = { write_behind = \"8 KiB\" }\n",
            ]),
        };
        let rule = match job {
            1 if self.chance(40) => "start_after = \"job0\"\n",
            _ => "",
        };
        format!(
            "[[jobs]]\nname = \"job{job}\"\nranks = {ranks}\nplacement = {:?}\nio_weight = {}\n{rule}{io}workload = {workload}\n",
            self.one_of(&["contiguous", "random"]),
            1 + self.below(3),
        )
    }
}
