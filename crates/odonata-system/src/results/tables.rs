//! The definition of every table: one line per column, with its unit and what it says.

use super::blame;
use super::rows::{
    IoRow, IterationRow, JobRow, LatencyBucket, LinkRow, LogRow, MessageRow, RankRow, RouterRow, Rows, SeriesRow,
    ServerRow,
};
use super::table::{Builder, Table};

/// All tables of a run.
pub fn tables(rows: &Rows) -> Vec<Table> {
    vec![
        jobs(&rows.jobs),
        ranks(&rows.ranks),
        messages(&rows.messages),
        packets(&rows.packets),
        links(&rows.links),
        routers(&rows.routers),
        io(&rows.io),
        servers(&rows.servers),
        series(&rows.series),
        iterations(&rows.iterations),
        logs(&rows.logs),
        blame::table(&rows.blame),
        blame::series_table(&rows.blame_series),
    ]
}

fn jobs(rows: &[JobRow]) -> Table {
    Builder::new("jobs", "One row per job, in the order of the scenario.", rows)
        .text("job", "Name of the job.", |r| r.job.clone())
        .text("workload", "What the job does.", |r| r.workload.clone())
        .count("ranks", "Number of ranks.", |r| r.ranks)
        .count("nodes", "Number of nodes that the ranks are on.", |r| r.nodes)
        .count("ranks_finished", "Ranks whose program has ended.", |r| r.finished)
        .seconds("start_s", "When the job's first rank started, simulated time; the end of the run if none has.", |r| r.start_s)
        .seconds("elapsed_s", "From the job's start to the end of its last rank (or of the run).", |r| r.elapsed_s)
        .seconds("compute_s", "Time in computation, mean over ranks.", |r| r.compute_mean_s)
        .seconds("mpi_s", "Time blocked in MPI calls, mean over ranks.", |r| r.mpi_mean_s)
        .seconds("mpi_max_s", "Time blocked in MPI calls, largest of all ranks.", |r| r.mpi_max_s)
        .seconds("io_s", "Time blocked in I/O, mean over ranks.", |r| r.io_mean_s)
        .seconds("io_max_s", "Time blocked in I/O, largest of all ranks.", |r| r.io_max_s)
        .seconds("non_compute_s", "Elapsed time less computation, mean over ranks (the communication time of the MFNetSim runs, I/O included).", |r| r.non_compute_mean_s)
        .seconds("non_compute_max_s", "The same, largest of all ranks.", |r| r.non_compute_max_s)
        .count("messages", "MPI messages received.", |r| r.message.count)
        .bytes("bytes_sent", "Payload of the MPI messages sent.", |r| r.bytes_sent)
        .seconds("message_latency_mean_s", "MPI message latency, from the send call to the arrival of the last byte: mean.", |r| r.message.mean_s)
        .seconds("message_latency_p50_s", "The same: median.", |r| r.message.p50_s)
        .seconds("message_latency_p99_s", "The same: 99th percentile.", |r| r.message.p99_s)
        .seconds("message_latency_max_s", "The same: largest.", |r| r.message.max_s)
        .count("mpi_packets", "Packets of MPI messages delivered.", |r| r.mpi_packet.count)
        .seconds("mpi_packet_latency_mean_s", "Packet latency of MPI messages, from its start on the terminal link to the last byte: mean.", |r| r.mpi_packet.mean_s)
        .seconds("mpi_packet_latency_p50_s", "The same: median.", |r| r.mpi_packet.p50_s)
        .seconds("mpi_packet_latency_p99_s", "The same: 99th percentile.", |r| r.mpi_packet.p99_s)
        .seconds("mpi_packet_latency_max_s", "The same: largest.", |r| r.mpi_packet.max_s)
        .number("mpi_hops_mean", "routers", "Routers visited by a packet of an MPI message, mean.", |r| r.mpi_hops_mean)
        .count("mpi_packets_nonminimal", "Packets of MPI messages that took a non-minimal path.", |r| r.mpi_nonminimal)
        .count("io_packets", "Packets of I/O messages (requests, pulls, data, acknowledgements) delivered.", |r| r.io_packet.count)
        .seconds("io_packet_latency_mean_s", "Packet latency of I/O messages: mean.", |r| r.io_packet.mean_s)
        .seconds("io_packet_latency_p50_s", "The same: median.", |r| r.io_packet.p50_s)
        .seconds("io_packet_latency_p99_s", "The same: 99th percentile.", |r| r.io_packet.p99_s)
        .seconds("io_packet_latency_max_s", "The same: largest.", |r| r.io_packet.max_s)
        .number("io_hops_mean", "routers", "Routers visited by a packet of an I/O message, mean.", |r| r.io_hops_mean)
        .bytes("bytes_written", "Bytes written to storage servers.", |r| r.bytes_written)
        .bytes("bytes_read", "Bytes read from storage servers.", |r| r.bytes_read)
        .count("io_operations", "Reads and writes completed.", |r| r.io_operations)
        .seconds("io_completion_s", "From the first I/O request to the last acknowledgement.", |r| r.io_completion_s)
        .number("io_bandwidth_bytes_per_s", "bytes/s", "Bytes read and written over io_completion_s.", |r| r.io_bandwidth)
        .seconds("mpi_network_s", "Packet latency of MPI messages, summed over packets.", |r| r.mpi_network_s)
        .seconds("io_network_s", "Packet latency of I/O messages, summed over packets.", |r| r.io_network_s)
        .seconds("io_calls_s", "From request to acknowledgement, summed over reads and writes.", |r| r.io_calls_s)
        .seconds("io_device_s", "Time in which a device served a request, summed over requests (0 unless run.blame).", |r| r.io_device_s)
        .done()
}

fn ranks(rows: &[RankRow]) -> Table {
    Builder::new("ranks", "One row per rank of every job.", rows)
        .text("job", "Name of the job.", |r| r.job.clone())
        .count("rank", "Rank in the job.", |r| r.rank)
        .count("node", "Node that the rank is on.", |r| r.node)
        .count("router", "Router of that node.", |r| r.router)
        .id("server", "Storage server that the rank uses; -1: none.", |r| r.server)
        .count("finished", "1 if the rank's program has ended, else 0.", |r| r.finished)
        .seconds(
            "start_s",
            "When the rank started, simulated time; that of its job if it has not.",
            |r| r.start_s,
        )
        .seconds("elapsed_s", "From the job's start to the rank's end.", |r| r.elapsed_s)
        .seconds("compute_s", "Time in computation.", |r| r.compute_s)
        .seconds("mpi_s", "Time blocked in MPI calls.", |r| r.mpi_s)
        .seconds(
            "io_s",
            "Time blocked in I/O (request to acknowledgement; for non-blocking I/O, the time waited).",
            |r| r.io_s,
        )
        .seconds("non_compute_s", "elapsed_s - compute_s.", |r| r.non_compute_s)
        .count(
            "messages_sent",
            "MPI messages sent, those of collectives included.",
            |r| r.messages_sent,
        )
        .count("messages_received", "MPI messages received.", |r| r.messages_received)
        .bytes("bytes_sent", "Payload of the messages sent.", |r| r.bytes_sent)
        .bytes("bytes_received", "Payload of the messages received.", |r| {
            r.bytes_received
        })
        .seconds(
            "message_latency_mean_s",
            "Latency of the messages received, from the send call: mean.",
            |r| r.message_latency_mean_s,
        )
        .seconds("message_latency_max_s", "The same: largest.", |r| {
            r.message_latency_max_s
        })
        .bytes("bytes_written", "Bytes written to storage.", |r| r.bytes_written)
        .bytes("bytes_read", "Bytes read from storage.", |r| r.bytes_read)
        .count(
            "packets_received",
            "Packets received by the rank's node (all its ranks, MPI and I/O).",
            |r| r.packets_received,
        )
        .seconds(
            "packet_latency_mean_s",
            "Their latency, from their start on the sender's terminal link: mean.",
            |r| r.packet_latency_mean_s,
        )
        .seconds("packet_latency_min_s", "The same: smallest.", |r| {
            r.packet_latency_min_s
        })
        .seconds("packet_latency_max_s", "The same: largest.", |r| r.packet_latency_max_s)
        .number("hops_mean", "routers", "Routers visited by these packets, mean.", |r| {
            r.hops_mean
        })
        .done()
}

fn messages(rows: &[MessageRow]) -> Table {
    Builder::new("messages", "One row per message; above run.message_rows messages, one row per bucket of a histogram (then source_rank and target_rank are -1).", rows)
        .text("job", "Name of the job.", |r| r.job.clone())
        .text("class", "mpi or io.", |r| r.class.into())
        .id("source_rank", "Sending rank.", |r| r.source_rank)
        .id("target_rank", "Receiving rank.", |r| r.target_rank)
        .bytes("bytes", "Payload (histogram: 0).", |r| r.bytes)
        .seconds("created_s", "When it was sent, simulated time (histogram: 0).", |r| r.created_s)
        .seconds("latency_low_s", "Latency, from the send call to the arrival of the last byte; histogram: lower end of the bucket.", |r| r.latency_low_s)
        .seconds("latency_high_s", "The same; histogram: upper end.", |r| r.latency_high_s)
        .count("count", "Messages that the row stands for.", |r| r.count)
        .done()
}

fn packets(rows: &[LatencyBucket]) -> Table {
    Builder::new(
        "packets",
        "Histogram of packet latency: one row per job, class, measure and occupied bucket. Buckets are 1/32 wide.",
        rows,
    )
    .text("job", "Name of the job.", |r| r.job.clone())
    .text("class", "mpi or io.", |r| r.class.into())
    .text(
        "measure",
        "network: from its start on the terminal link; total: from the creation of the message.",
        |r| r.measure.into(),
    )
    .seconds("latency_low_s", "Lower end of the bucket.", |r| r.latency_low_s)
    .seconds("latency_high_s", "Upper end of the bucket.", |r| r.latency_high_s)
    .count("count", "Packets in the bucket.", |r| r.count)
    .done()
}

fn links(rows: &[LinkRow]) -> Table {
    Builder::new("links", "One row per direction of every link.", rows)
        .count("link", "Number of the link.", |r| r.link)
        .text("name", "Its ends: n = node, r = router.", |r| r.name.clone())
        .text("class", "terminal, local or global.", |r| r.class.into())
        .text("source_kind", "node or router.", |r| r.source_kind.into())
        .count("source", "Number of the sending node or router.", |r| r.source)
        .text("target_kind", "node or router.", |r| r.target_kind.into())
        .count("target", "Number of the receiving node or router.", |r| r.target)
        .bytes("bytes", "Payload sent.", |r| r.bytes)
        .count("packets", "Packets sent.", |r| r.packets)
        .seconds("busy_s", "Time in which the link transmits.", |r| r.busy_s)
        .seconds(
            "saturation_s",
            "Time in which a packet found the buffers behind the link exhausted (docs/model.md).",
            |r| r.saturation_s,
        )
        .count("stalled_packets", "Packets that met exhausted buffers.", |r| r.stalled)
        .done()
}

fn routers(rows: &[RouterRow]) -> Table {
    Builder::new("routers", "One row per router: sums over its output ports.", rows)
        .count("router", "Number of the router.", |r| r.router)
        .count("group", "Its group.", |r| r.group)
        .bytes("bytes", "Payload sent by all ports.", |r| r.bytes)
        .count("packets", "Packets sent by all ports.", |r| r.packets)
        .seconds("busy_terminal_s", "Time transmitting, terminal ports.", |r| {
            r.busy_terminal_s
        })
        .seconds("busy_local_s", "Time transmitting, local ports.", |r| r.busy_local_s)
        .seconds("busy_global_s", "Time transmitting, global ports.", |r| r.busy_global_s)
        .seconds("saturation_terminal_s", "Saturation time, terminal ports.", |r| {
            r.saturation_terminal_s
        })
        .seconds("saturation_local_s", "Saturation time, local ports.", |r| {
            r.saturation_local_s
        })
        .seconds("saturation_global_s", "Saturation time, global ports.", |r| {
            r.saturation_global_s
        })
        .done()
}

fn io(rows: &[IoRow]) -> Table {
    Builder::new("io", "One row per read or write, up to run.io_rows of them.", rows)
        .text("job", "Name of the job.", |r| r.job.clone())
        .count("rank", "Rank in the job.", |r| r.rank)
        .count("server", "Storage server.", |r| r.server)
        .text("operation", "read or write.", |r| r.operation.into())
        .count("file", "File number.", |r| r.file)
        .bytes("bytes", "Size of the operation.", |r| r.bytes)
        .seconds("start_s", "When it was requested, simulated time.", |r| r.start_s)
        .seconds("end_s", "When its acknowledgement arrived.", |r| r.end_s)
        .done()
}

fn servers(rows: &[ServerRow]) -> Table {
    Builder::new("servers", "One row per storage server.", rows)
        .count("server", "Number of the server.", |r| r.server)
        .count("node", "Node that it is on.", |r| r.node)
        .count("requests", "Requests completed.", |r| r.requests)
        .seconds(
            "request_time_s",
            "From a request's arrival to its response, summed over requests.",
            |r| r.request_time_s,
        )
        .bytes("bytes_written", "Bytes written to the device.", |r| r.bytes_written)
        .bytes("bytes_read", "Bytes read from the device for clients.", |r| {
            r.bytes_read
        })
        .bytes("bytes_drained", "Bytes moved on to the external file system.", |r| {
            r.bytes_drained
        })
        .count("device_writes", "Write accesses of the device.", |r| r.device_writes)
        .count("device_reads", "Read accesses of the device.", |r| r.device_reads)
        .count("seeks", "Accesses that paid a seek.", |r| r.seeks)
        .seconds("device_busy_s", "Time in which the device is busy.", |r| {
            r.device_busy_s
        })
        .seconds(
            "wait_space_s",
            "Time that requests waited for space on the device, summed.",
            |r| r.wait_space_s,
        )
        .seconds("wait_memory_s", "Time that pieces waited for memory, summed.", |r| {
            r.wait_memory_s
        })
        .seconds(
            "wait_device_s",
            "Time that accesses waited for the device, summed.",
            |r| r.wait_device_s,
        )
        .bytes("peak_memory_bytes", "Most memory in use.", |r| r.peak_memory)
        .bytes("peak_used_bytes", "Most space in use on the device.", |r| r.peak_used)
        .done()
}

fn series(rows: &[SeriesRow]) -> Table {
    Builder::new(
        "series",
        "Time series, one row per interval and job's traffic or link class; empty unless run.series_interval is set.",
        rows,
    )
    .seconds("start_s", "Start of the interval, simulated time.", |r| r.start_s)
    .text(
        "kind",
        "traffic (what was delivered to a job) or links (what was sent over a class of links).",
        |r| r.kind.into(),
    )
    .text("job", "Name of the job (traffic).", |r| r.job.clone())
    .text(
        "class",
        "mpi or io (traffic); terminal, local or global (links, from routers).",
        |r| r.class.into(),
    )
    .bytes("bytes", "Bytes delivered or sent.", |r| r.bytes)
    .count("packets", "Packets delivered or sent.", |r| r.packets)
    .seconds("latency_mean_s", "Mean packet latency (traffic).", |r| r.latency_mean_s)
    .seconds(
        "busy_s",
        "Time transmitting, summed over the links of the class (links).",
        |r| r.busy_s,
    )
    .done()
}

fn iterations(rows: &[IterationRow]) -> Table {
    Builder::new("iterations", "One row per iteration that a job's program marks.", rows)
        .text("job", "Name of the job.", |r| r.job.clone())
        .count("iteration", "Number of the iteration.", |r| r.iteration)
        .count("ranks", "Ranks that have finished it.", |r| r.ranks)
        .seconds("first_s", "When the first rank finished it, simulated time.", |r| {
            r.first_s
        })
        .seconds("mean_s", "The same, mean over ranks.", |r| r.mean_s)
        .seconds("last_s", "When the last rank finished it.", |r| r.last_s)
        .done()
}

fn logs(rows: &[LogRow]) -> Table {
    Builder::new(
        "logs",
        "What programs have logged and put out, in order of job, rank and time; a rank that has more than 1,048,576 ends the run.",
        rows,
    )
    .text("job", "Name of the job.", |r| r.job.clone())
    .count("rank", "Rank of the job.", |r| r.rank)
    .seconds(
        "time_s",
        "When: of values that are aggregated, when the last came, simulated time.",
        |r| r.time_s,
    )
    .text("label", "Heading of the column; empty for a line of text.", |r| {
        r.label.clone()
    })
    .text(
        "aggregate",
        "What is shown of the values of the column: each, mean, median, ...; text for a line.",
        |r| r.aggregate.to_owned(),
    )
    .number("value", "of the program", "The value; 0 for a line of text.", |r| {
        r.value
    })
    .count("count", "How often a histogram has the value; otherwise 1.", |r| {
        r.count
    })
    .text("text", "The line of text.", |r| r.text.clone())
    .done()
}
