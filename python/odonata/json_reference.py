"""Reference of what `--json` prints: the keys of `odonata summary` and `odonata compare`.

A key after `.` stands below the one before it, `[]` is a list, JOB and METRIC are any name of one. Tests
compare the keys with those of a run. `docs/results.md` has them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_NOT_APPLICABLE = "null where it does not apply."

#: What `odonata summary --json` prints, and `run.json` says in other words.
SUMMARY_KEYS = {
    "name": "Name of the scenario.",
    "outcome": "How the run ended.",
    "detail": "The same in words where there is more to say, else null.",
    "can_deadlock": "Whether the run was made although its routing can deadlock.",
    "simulated_s": "Simulated time at the end, in seconds.",
    "wall_s": "Time that the run took, in seconds.",
    "packet_hops_per_cpu_s": "Speed of the simulator.",
    "digest": "Hash over everything that was measured.",
    "results": "The folder.",
    "jobs[].job": "Name of the job.",
    "jobs[].ranks": "Its ranks.",
    "jobs[].ranks_finished": "Those that have ended.",
    "jobs[].elapsed_s": "From the job's start to the end of its last rank (or of the run).",
    "jobs[].compute_share": "Share of a rank's time in computation, mean over ranks.",
    "jobs[].mpi_share": "The same in MPI calls.",
    "jobs[].io_share": "The same in I/O.",
    "jobs[].bytes_written": "Bytes written to storage servers.",
    "jobs[].bytes_read": "Bytes read from them.",
    "jobs[].io_bandwidth_bytes_per_s": f"Bytes over the time that I/O took; {_NOT_APPLICABLE}",
    "jobs[].message_latency_p50_s": f"MPI message latency, median; {_NOT_APPLICABLE}",
    "jobs[].message_latency_p99_s": "The same, 99th percentile.",
    "jobs[].message_latency_max_s": "The same, largest.",
    "jobs[].mpi_packet_latency_p50_s": f"Latency of packets of MPI messages, median; {_NOT_APPLICABLE}",
    "jobs[].mpi_packet_latency_p99_s": "The same, 99th percentile.",
    "jobs[].io_call_p50_s": f"Reads and writes, request to acknowledgement, median; {_NOT_APPLICABLE}",
    "jobs[].io_call_p99_s": "The same, 99th percentile.",
    "links[].name": "The five busiest links of routers: their ends.",
    "links[].class": "terminal, local or global.",
    "links[].busy_share": "Share of the simulated time in which the link transmits.",
    "links[].saturation_s": "Time in which a packet found the buffers behind the link exhausted.",
    "links[].bytes": "Payload sent.",
    "links[].packets": "Packets sent.",
    "servers[].server": "The five busiest storage servers: number.",
    "servers[].node": "Node.",
    "servers[].busy_share": "Share of the simulated time in which the device is busy.",
    "servers[].bytes_written": "Bytes written to the device.",
    "servers[].bytes_read": "Bytes read from it for clients.",
    "servers[].requests": "Requests completed.",
    "servers[].request_mean_s": "From a request's arrival to its response, mean.",
    "servers[].wait_space_s": "Time that requests waited for space, summed.",
    "blame": "null if the run did not measure blame; else what is worth saying, the largest share first, "
    "what traffic did to itself last:",
    "blame[].victim": "The job that waited.",
    "blame[].victim_class": "Its traffic: mpi or io.",
    "blame[].culprit": "The job that held what was waited for.",
    "blame[].culprit_class": "Its traffic: mpi or io.",
    "blame[].where": "network (waits in routers) or servers.",
    "blame[].waited_s": "Packet-seconds (network) or request-seconds (servers) waited.",
    "blame[].whole_s": "The whole of the share: mpi_network_s, io_network_s or io_calls_s of the victim.",
    "blame[].share": "waited_s / whole_s.",
    "blame[].own": "Whether traffic held itself up: victim and culprit are the same.",
    "blame[].places": "Links or servers at which it waited.",
    "blame[].most": "The link or server at which it waited most.",
    "blame[].most_place": "terminal, local, global or server.",
    "blame[].resource": "What it waited for most: link, credit, input, space, memory or device.",
    "blame[].words": "All that as a sentence.",
    "slowdown": "null if the run had no baselines; else the metrics of the table slowdown:",
    "slowdown.JOB.METRIC.alone": "The metric, alone.",
    "slowdown.JOB.METRIC.together": "The same, together with the other jobs.",
    "slowdown.JOB.METRIC.ratio": "together / alone; null where it cannot be told.",
    "failed_baselines": "Baselines that failed or are missing:",
    "failed_baselines.JOB": "How it ended.",
    "single_job": "true if baselines were asked for and there is one job only, which is its own baseline.",
}

_RUN = {
    "results": "Its folder.",
    "name": "Name of its scenario.",
    "outcome": "How it ended.",
    "seed": "Its seed.",
    "version": "The version of odonata that ran it.",
    "digest": "Hash over everything that it measured.",
}

_PAIR = {
    "a": f"Value in A; {_NOT_APPLICABLE}",
    "b": "Value in B.",
    "ratio": f"B / A; {_NOT_APPLICABLE}",
}

_METRIC = {"metric": "The column.", "unit": "Its unit: s, bytes, bytes/s, routers or nothing."} | _PAIR

#: What `odonata compare --json` prints.
COMPARE_KEYS = (
    {f"a.{key}": f"A: {meaning}" for key, meaning in _RUN.items()}
    | {f"b.{key}": f"B: {meaning}" for key, meaning in _RUN.items()}
    | {
        "equal_digests": "Whether both measured the same.",
        "scenario[].key": "A setting that differs, by dotted key; jobs go by name.",
        "scenario[].change": "changed, added (only B has it) or removed (only A has it).",
        "scenario[].a": "The setting in A, null if it has none.",
        "scenario[].b": "The setting in B.",
        "jobs[].job": "A job that both have; columns of the table jobs that differ:",
    }
    | {f"jobs[].{key}": meaning for key, meaning in _METRIC.items()}
    | {"links[].class": "terminal, local or global; sums of columns of the table links that differ:"}
    | {f"links[].{key}": meaning for key, meaning in _METRIC.items()}
    | {f"servers[].{key}": meaning for key, meaning in _METRIC.items()}
    | {
        "blame": "null unless both measured blame; else waits that differ, the largest difference first:",
        "blame[].victim": "The job that waited.",
        "blame[].victim_class": "Its traffic: mpi or io.",
        "blame[].culprit": "The job that held what was waited for.",
        "blame[].culprit_class": "Its traffic: mpi or io.",
        "blame[].where": "network (packet-seconds in routers) or servers (request-seconds).",
    }
    | {f"blame[].{key}": meaning for key, meaning in _PAIR.items()}
)


def keys_of(value: Any, maps: tuple[str, ...] = (), key: str = "") -> Iterator[str]:
    """The keys of what `--json` printed, written as above; members of `maps` have names of the user's.

    >>> list(keys_of({"jobs": [{"job": "milc"}, {"job": "noise"}], "of": {"milc": {"io": 1}}}, ("of",)))
    ['jobs[].job', 'of.JOB.METRIC']
    """
    found: dict[str, None] = {}
    if isinstance(value, dict) and (value or not key):
        for name, item in value.items():
            shown = "JOB" if key in maps else "METRIC" if key.endswith(".JOB") else name
            found |= dict.fromkeys(keys_of(item, maps, f"{key}.{shown}" if key else shown))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for item in value:
            found |= dict.fromkeys(keys_of(item, maps, f"{key}[]"))
    else:
        found[key] = None
    yield from found
