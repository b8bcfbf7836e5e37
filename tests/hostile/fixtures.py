"""Intact files of every kind that Odonata reads, made by the project itself, which `damaged.py` damages."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import odonata
from hostile import bases, dumpi_writer, rank_program
from odonata import _core, operations

#: Seconds after which a run counts as hung.
PATIENCE_S = 300

MACHINE = "[machine.torus]\ndims = [4, 2]\n[storage]\nnodes = { list = [7] }\n"

#: Two jobs that share servers, with all tables that there are.
RESULT = """\
seed = {seed}
[machine.dragonfly]
groups = 3
routers_per_group = 2
nodes_per_router = 2
global_ports_per_router = 1
[run]
baselines = true
series_interval = "20 us"
[storage]
nodes = {{ per_group = 1 }}
[[jobs]]
name = "solver"
ranks = 5
workload = {{ stencil = {{ iterations = 2, message = "8 KiB", compute = "1 us" }} }}
[[jobs]]
name = "writer"
ranks = 4
workload = {{ checkpoint = {{ total = "64 KiB", interval = "3 us" }} }}
"""

#: Runs for about a second, and is saved ten times.
LASTING = """\
[machine.torus]
dims = [4, 4]
[run]
checkpoint_interval = "0.1 s"
message_rows = 0
[[jobs]]
ranks = 16
workload = { uniform = { load = 0.3, messages = 30000 } }
"""

SCENARIOS = {
    "trace": f"{MACHINE}[[jobs]]\ntrace = 'trace'\n",
    "program": f"{MACHINE}[[jobs]]\ntrace = 'x.program'\n",
    "text": f"{MACHINE}[[jobs]]\nranks = 4\nprogram = 'x.ncptl'\n",
    "graph": "[machine.graph]\nfile = 'graph.txt'\n" + bases.JOBS.replace("ranks = 8", "ranks = 3"),
    "xml": "[machine.graph]\nfile = 'graph.xml'\n" + bases.JOBS.replace("ranks = 8", "ranks = 3"),
    "unfinished": LASTING,
}  # fmt: skip

EDGES = """\
# Routers, nodes, cables.
router a nodes=2
router b nodes=1
a b cables=2 class=global
b c
c d class=local
d a
"""


def make(folder: Path) -> None:
    """Makes them all, each kind in a folder of its own with its scenario."""
    for kind, text in SCENARIOS.items():
        (folder / kind).mkdir()
        (folder / kind / "scenario.toml").write_text(text)
    dumpi_writer.write(folder / "trace/trace", 4, 8, random.Random(4), files=True)
    program = folder / "program/x.program"
    operations.write(program, rank_program.work, 5, args={"seed": 3, "rounds": 12, "files": True})
    (folder / "log").mkdir()
    _log(folder / "log/x.darshan")
    (folder / "training").mkdir()
    _training(folder / "training/x.0.et")
    (folder / "gpus").mkdir()
    _gpus(folder / "gpus/x.sqlite")
    texts = [*sorted((bases.ROOT / "programs").glob("*.ncptl")), bases.ROOT / "examples/conceptual.ncptl"]
    for path in texts:
        shutil.copy(path, folder / "text" / path.name)
    (folder / "graph/graph.txt").write_text(EDGES)
    torus = "[machine.torus]\ndims = [3, 2]\nnodes_per_router = 2\n"
    (folder / "xml/graph.xml").write_text(_core.graphml(torus, "x.toml"))
    (folder / "result").mkdir()
    for name, seed in (("result", 1), ("other", 2)):
        scenario = folder / "result/scenario.toml"
        scenario.write_text(RESULT.format(seed=seed))
        odonata.run(scenario, folder / "result" / name, processes=1)
    _unfinished(folder / "unfinished")
    whole = {}
    for kind in ("trace", "program"):
        whole[kind] = odonata.run(folder / kind / "scenario.toml").run["digest"]
    (folder / "digests.json").write_text(json.dumps(whole))


def _log(path: Path) -> None:
    """A Darshan log of all modules that are read, by the writer of the tests."""
    sys.path.insert(0, str(bases.ROOT / "tests/traces"))
    from darshan_writer import Writer, in_ranges

    log = Writer(6)
    writes = [4096] * 9 + [70_000] * 3
    counts = {**in_ranges("WRITE", writes), **in_ranges("READ", [512] * 6)}
    times = {
        f"F_{what}_{edge}_TIMESTAMP": 1.0 for what in ("OPEN", "READ", "WRITE") for edge in ("START", "END")
    }
    log.record(
        "POSIX", 3, "/shared", -1, OPENS=6, READS=6, WRITES=12, MAX_BYTE_WRITTEN=300_000, **counts, **times
    )
    log.record("MPI-IO", 3, "/shared", -1, COLL_OPENS=6, COLL_WRITES=6, BYTES_WRITTEN=sum(writes))
    log.record("STDIO", 4, "/log", 2, OPENS=1, WRITES=40, BYTES_WRITTEN=2000)
    rows = [(place * 100, 100, 0.5 + place, 0.6 + place) for place in range(8)]
    log.record("POSIX", 5, "/own", 1, OPENS=1, WRITES=8, READS=8, **in_ranges("WRITE", [100] * 8))
    log.segments("DXT_POSIX", 5, "/own", 1, rows, rows)
    log.layout(5, "/own", 1 << 20, [1, 2, 3])
    log.write(path)


def _training(path: Path) -> None:
    """A Chakra trace of one rank: nodes of all types that are read, by the writer of the tests."""
    sys.path.insert(0, str(bases.ROOT / "tests/traces"))
    import chakra_writer as chakra

    path.write_bytes(
        chakra.trace(
            chakra.node(1, chakra.METADATA, "metadata"),
            chakra.node(2, chakra.COMP, "call", us=5, is_cpu_op=True, tid=1),
            chakra.node(3, chakra.COMP, "kernel", (2,), us=100, is_cpu_op=False, tid=7),
            chakra.node(4, chakra.LOAD, "load", (3,), us=9, tensor_size=4096),
            chakra.node(5, chakra.COLL, "all-reduce", (4,), comm_type=0, comm_size=4096, pg_name="0"),
            chakra.node(6, chakra.COLL, "barrier", (5,), calls=(2,), comm_type=9, involved_dim=[True]),
        )
    )


def _gpus(path: Path) -> None:
    """An export of Nsight Systems of two GPUs: kernels, copies, a collective and messages of NCCL."""
    sys.path.insert(0, str(bases.ROOT / "tests/traces"))
    import nsys_writer as nsys

    export = nsys.Export(path)
    for pid in (1, 2):
        export.init(7, pid - 1, 2, pid=pid)
        export.copy(1, 4096, 10, 20, pid=pid)
        export.kernel("layer", 20, 500, pid=pid, launched=5)
        export.call("ncclAllReduce", 7, 4096, 100, 200, pid=pid)
        export.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 300, 700, stream=9, pid=pid, launched=150)
        export.range("ncclGroupStart", 210, 211, pid=pid)
        for number, name in enumerate(("ncclSend", "ncclRecv")):
            export.call(name, 7, 500, 220 + 10 * number, 225 + 10 * number, last=2 - pid, pid=pid)
        export.range("ncclGroupEnd", 250, 300, pid=pid)
        export.kernel("ncclDevKernel_SendRecv", 800, 900, stream=9, pid=pid, launched=260)
        export.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 900, 950, stream=9, pid=pid)
    export.close()


def make_few(folder: Path) -> None:
    """A result, a trace and a program, side by side."""
    scenario = folder / "two.toml"
    scenario.write_text(RESULT.format(seed=1))
    odonata.run(scenario, folder / "result", processes=1)
    dumpi_writer.write(folder / "trace", 4, 4, random.Random(4), files=True)
    operations.write(folder / "x.program", rank_program.work, 3, args={"seed": 3, "rounds": 4})


def _unfinished(folder: Path) -> None:
    """A run that was stopped by SIGTERM after its first snapshot."""
    command = [sys.executable, "-m", "odonata", "run", "scenario.toml", "-o", "out", "--quiet"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    over = time.monotonic() + PATIENCE_S
    try:
        while process.poll() is None and time.monotonic() < over:
            with contextlib.suppress(FileNotFoundError):
                if any(folder.glob(".out.unfinished/checkpoint/run/[0-9]/0.snapshot")):
                    process.send_signal(signal.SIGTERM)
                    break
            time.sleep(0.01)
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    if not (folder / ".out.unfinished").is_dir():
        raise RuntimeError(f"the run {folder} was not saved: it ended too soon")
