"""Functions for what the commands do beside runs: `odonata.trace_info` is `odonata trace info`, and so on.

What they give has the keys of the command's `--json` (docs/results.md); where that is a page, notebooks
show it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from odonata.errors import InputError

if TYPE_CHECKING:
    from odonata.answers import Bench, ParallelBench, Preset, PresetSummary
    from odonata.commands.declared import PathLike
    from odonata.tool_answers import (
        Calibration,
        Imported,
    )


def benchmark(names: Sequence[str] = (), *, quick: bool = False) -> Bench:
    """Measures the simulator on this machine: packet-hops per second of CPU time, memory per node.

    Args:
        names: Cases to run. Default: all.
        quick: Shorter runs; figures vary more.

    Raises:
        InputError: There is no such case.

    >>> import odonata
    >>> odonata.benchmark(quick=True)["cases"][0]["packet_hops_per_cpu_s"]  # doctest: +SKIP
    5200000.0
    """
    from odonata.benchmarks import bench

    return cast("Bench", bench.measure(list(names), quick=quick, announce=False))


def benchmark_parallel(
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    threads: Sequence[int] | None = None,
    rounds: int = 5,
) -> ParallelBench:
    """Measures what more threads gain, with every scheduler, each run in a process of its own.

    Args:
        names: Cases to run. Default: all.
        quick: Shorter runs; figures vary more.
        threads: Numbers of threads. Default: 1, 2, 4, ... up to the cores.
        rounds: Runs of which the median counts.

    Raises:
        InputError: There is no such case, or number of threads.

    >>> import odonata
    >>> odonata.benchmark_parallel(threads=[1, 2])["rows"][0]["speed_up"]  # doctest: +SKIP
    1.0
    """
    from odonata.benchmarks import parallel as bench_parallel

    counts = bench_parallel.thread_counts(None if threads is None else ",".join(map(str, threads)))
    if rounds < 1:
        raise InputError("no rounds", key="rounds", value=str(rounds), expected="1 or more")
    found = bench_parallel.measure(list(names), quick=quick, threads=counts, rounds=rounds, announce=False)
    return cast("ParallelBench", found)


def calibrate(
    measurements: PathLike,
    scenario: PathLike,
    fit: Sequence[str] = ("software", "bandwidth"),
    *,
    nodes: tuple[int, int] = (0, 1),
) -> Calibration:
    """Fits a machine to ping-pong measurements: software overhead, link rate, eager threshold.

    docs/calibrate.md says what can be determined.

    Args:
        measurements: CSV with the columns bytes, latency (half a round trip), and from, to.
        scenario: File of the machine to fit.
        fit: Among "software", "bandwidth", "per-byte", "hop", "eager".
        nodes: Nodes of measurements that name none.

    Raises:
        InputError: A file cannot be read, or the measurements cannot determine what is asked for.

    >>> import odonata
    >>> odonata.calibrate("ping-pong.csv", "machine.toml")["settings"]  # doctest: +SKIP
    {'mpi.send_delay': '412.3000 ns', 'network.links.terminal.bandwidth': '11.9 GB/s'}
    """
    from odonata.calibration import machine as calibration

    measured = calibration.read(Path(measurements), nodes)
    return calibration.answer(measured, calibration.fit(Path(scenario), measured, tuple(fit)))


def import_scenario(*files: PathLike) -> Imported:
    """Makes a scenario of a configuration of CODES, MFNetSim or BookSim (docs/imports.md).

    Args:
        files: The configuration of BookSim 2, or that of CODES with its workload and allocation files.

    Returns:
        The scenario as a text, which says of every key where it is from, and what has no counterpart.

    Raises:
        InputError: A file is none of these, or something in it has no counterpart without which there is no
            machine.

    >>> import odonata
    >>> odonata.Scenario.from_toml(odonata.import_scenario("torus88")["scenario"])  # doctest: +SKIP
    """
    import json

    from odonata import _core
    from odonata.errors import input_errors
    from odonata.imports import files as imports

    if not files:
        raise InputError("nothing to import", key="files", expected="one file or more")
    draft = imports.load([Path(file) for file in files])
    text = draft.text()
    with input_errors():
        look = _core.resolve if draft.jobs else _core.describe
        json.loads(look(text, "imported.toml"))
    left = [{"key": one.key, "value": one.value, "reason": one.reason} for one in draft.left]
    return cast("Imported", {"scenario": text, "not_taken_over": left})


def presets() -> list[PresetSummary]:
    """All presets that a scenario can start from: what each is, and the size of its machine.

    >>> import odonata
    >>> [one["machine"]["nodes"] for one in odonata.presets() if one["name"] == "theta"]
    [3456]
    """
    from odonata.scenario import preset_list

    return preset_list.presets()


def preset(name: str) -> Preset:
    """One preset: what it is, its keys with their values and sources, and its text (TOML).

    A notebook shows it as a page.

    Raises:
        InputError: There is no such preset.

    >>> import odonata
    >>> odonata.preset("theta")["keys"][0]["key"]
    'machine.dragonfly-2d.groups'
    """
    from odonata.base.html_page import Answer
    from odonata.scenario import preset_list

    found = cast("dict[str, Any]", preset_list.preset(name))
    return cast("Preset", Answer(found, preset_list.show))


def init(
    file: PathLike = "scenario.toml",
    *,
    machine: str | None = None,
    preset: str | None = None,
    jobs: Sequence[str] | None = None,
    storage: bool | None = None,
) -> Path:
    """Writes a commented scenario to start from; a file that is there is never replaced.

    Args:
        file: File to write.
        machine: A family of networks, such as "torus".
        preset: A preset to start from, such as "theta". Without `machine` and this, a small dragonfly.
        jobs: Workloads, such as ["stencil:64", "checkpoint"].
        storage: Whether there are storage servers. Default: if a job does I/O.

    Returns:
        The file.

    Raises:
        InputError: There is no such name, it cannot be written, or is there already.

    >>> import odonata
    >>> odonata.check(odonata.init("mine.toml", jobs=["stencil:16"]))  # doctest: +SKIP
    """
    from odonata.base.output_file import OutputFile
    from odonata.scenario import starter

    target = Path(file)
    if os.path.lexists(target):
        raise InputError("the file exists", key="file", value=str(target), expected="an unused name")
    family = None
    if machine is not None:
        family, named = starter.parse_machine(machine)
        if named is not None:
            raise InputError("a preset", key="machine", value=machine, expected=f'preset="{machine}"')
    elif preset is None:
        family = starter.DEFAULT_MACHINE
    wanted = starter.Starter(family, preset, storage=storage, name=target.stem)
    if jobs is not None:
        named_jobs = [starter.parse_job(job) for job in jobs]
        wanted = starter.Starter(family, preset, named_jobs, storage, target.stem)
    output = OutputFile(target, key="file")
    output.write(starter.scenario(wanted, str(target)))
    return target
