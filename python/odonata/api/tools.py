"""Functions for what the commands do beside runs: `odonata.trace_info` is `odonata trace info`, and so on.

What they give has the keys of the command's `--json` (docs/results.md); where that is a page, notebooks
show it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from odonata.errors import InputError
from odonata.scenario import reading

if TYPE_CHECKING:
    from odonata.answers import Bench, ParallelBench, Preset, PresetSummary
    from odonata.scenario.given import ScenarioLike
    from odonata.tool_answers import (
        Calibration,
        Converted,
        DeviceBench,
        DeviceFit,
        Imported,
        MergedTraces,
        ProgramCheck,
        ProgramRecord,
        TraceFinding,
        TraceInfo,
    )

    PathLike = str | os.PathLike[str]
    Pattern = Literal[
        "sequential-read",
        "sequential-write",
        "sequential-mixed",
        "random-read",
        "random-write",
        "random-mixed",
    ]


def trace_info(trace: PathLike, *, incomplete: bool = False) -> TraceInfo:
    """What is in a trace: ranks, calls, messages, bytes and times.

    Args:
        trace: Folder of the trace or program, or a .meta file.
        incomplete: Read what there is of files that are not whole.

    Raises:
        InputError: It cannot be read.

    >>> import odonata
    >>> odonata.trace_info("tests/traces/dumpi/halo-8")["nranks"]
    8
    """
    from odonata.traces import report as trace_report

    return cast("TraceInfo", trace_report.info(Path(trace), incomplete=incomplete))


def trace_lint(trace: PathLike) -> list[TraceFinding]:
    """What is wrong with a trace; empty if nothing is.

    Args:
        trace: Folder of the trace or program, or a .meta file.

    Raises:
        InputError: It cannot be read.

    >>> import odonata
    >>> [finding["severity"] for finding in odonata.trace_lint("tests/traces/dumpi/halo-8")]
    ['note']
    """
    from odonata.traces import report as trace_report

    return cast("list[TraceFinding]", trace_report.lint(Path(trace)))


def trace_convert(
    source: ScenarioLike,
    out: PathLike,
    *,
    job: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    repeat: int = 1,
    compute_scale: float = 1.0,
    incomplete: bool = False,
    interface: Literal["posix", "mpi-io"] | None = None,
    without: Sequence[str] = (),
    ranks: int | None = None,
    bytes_from_time: str | None = None,
    flops: str | None = None,
    force: bool = False,
) -> Converted:
    """Writes a trace, or the program of a job, as a program in files, which jobs replay.

    Args:
        source: A trace (DUMPI, Chakra, OTF2, Nsight Systems, Darshan), a program in files, or a scenario file
            whose job is to be written.
        out: Folder to write, NAME.program by custom.
        job: Job of the scenario. Default: the only one.
        overrides: Settings of the scenario, by dotted key.
        repeat: How often, one after the other; of a trace.
        compute_scale: What times of computation are multiplied by; of a trace.
        incomplete: Read what there is of files that are not whole; of a trace.
        interface: Of a Darshan log: accesses as the file system saw them ("posix", the default), or as the
            application asked for them.
        without: Of a Darshan log: patterns of names of files that are left out.
        ranks: Of a Chakra trace or an export of Nsight Systems of one rank: how many ranks do the same.
        bytes_from_time: Of an export of Nsight Systems: a bus bandwidth such as "300 GB/s"; collectives of
            NCCL whose size is not recorded have what it moves in their time. Default: they are computation.
        flops: Of a Chakra trace: a rate such as "300 TFLOP/s"; nodes that have operations (`num_ops`) and no
            duration compute for their operations at this rate. Default: they take no time.
        force: Replace a program that is there.

    Raises:
        InputError: The source cannot be read, or `out` cannot be written, or is there already.

    >>> import odonata
    >>> odonata.trace_convert("tests/traces/dumpi/halo-8", "halo.program")["ranks"]  # doctest: +SKIP
    8
    """
    from odonata.scenario.given import override_list
    from odonata.traces import report as trace_report

    if not isinstance(source, str | os.PathLike):
        raise InputError("a scenario in memory", key="source", expected="a file: Scenario.save writes one")
    if not 1 <= repeat < 2**32:
        raise InputError(
            "no number of repetitions", key="repeat", value=str(repeat), expected="1 to 2^32 - 1"
        )
    written = trace_report.convert(
        Path(source),
        Path(out),
        job=job,
        settings=override_list(overrides),
        times=repeat,
        compute_scale=compute_scale,
        force=force,
        incomplete=incomplete,
        interface=interface,
        without=without,
        ranks=ranks,
        bytes_from_time=bytes_from_time,
        flops=flops,
    )
    answer: Converted = {"program": str(out), "ranks": written.ranks, "operations": written.operations}
    if written.notes:
        answer["notes"] = list(written.notes)
    return answer


def trace_merge(
    trace: PathLike,
    log: PathLike,
    out: PathLike,
    *,
    offset: float = 0.0,
    trace_files: bool = True,
    incomplete: bool = False,
    interface: Literal["posix", "mpi-io"] | None = None,
    without: Sequence[str] = (),
    force: bool = False,
) -> MergedTraces:
    """Merges an MPI trace and a log of file access of one job into a program in files, which jobs replay.

    Args:
        trace: An MPI trace (DUMPI, OTF2), or a program in files.
        log: A Darshan log, or a program in files that does nothing but access files.
        out: Folder to write, NAME.program by custom.
        offset: When the clock of the log begins on that of the trace, in seconds.
        trace_files: Whether what the trace does to files is kept.
        incomplete: Read what there is of files that are not whole.
        interface: Of a Darshan log, as of `trace_convert`.
        without: Of a Darshan log, as of `trace_convert`.
        force: Replace a program that is there.

    Raises:
        InputError: One of them cannot be read, or they are not of one job; or `out` cannot be written.

    >>> import odonata
    >>> odonata.trace_merge("halo-8", "halo.darshan", "halo.program")["from_log"]  # doctest: +SKIP
    24
    """
    from odonata.traces import merging as trace_merging

    if not -1e6 <= offset <= 1e6:
        raise InputError("out of range", key="offset", value=str(offset), expected="-1e6 to 1e6 seconds")
    merged = trace_merging.merge(
        Path(trace),
        Path(log),
        Path(out),
        offset_s=offset,
        trace_files=trace_files,
        force=force,
        incomplete=incomplete,
        interface=interface,
        without=without,
    )
    return trace_merging.answer(out, merged)


def trace_repeat(trace: PathLike, out: PathLike, times: int) -> None:
    """Writes a trace that does several times what a trace does, between MPI_Init and MPI_Finalize.

    To replay a trace several times, the key `repeat` of a job does without.

    Args:
        trace: Folder of the trace, or a .meta file.
        out: Folder to write; it must not exist.
        times: How often.

    Raises:
        InputError: It cannot be read, or written there.

    >>> import odonata
    >>> odonata.trace_repeat("tests/traces/dumpi/halo-8", "halo-x10", 10)  # doctest: +SKIP
    """
    from odonata.traces import report as trace_report

    if not 1 <= times < 2**32:
        raise InputError("no number of repetitions", key="times", value=str(times), expected="1 to 2^32 - 1")
    trace_report.repeat(Path(trace), Path(out), times)


def device_bench(
    device: PathLike,
    pattern: Pattern = "sequential-read",
    *,
    file: str = "512 MiB",
    record: str | None = None,
    page: str = "4 KiB",
    queue_depth: int = 1,
    accesses: int | None = None,
    reads: float | None = None,
    seed: int = 1,
) -> DeviceBench:
    """Measures a storage device alone, under one pattern of accesses (docs/storage-devices.md).

    Args:
        device: A preset (`device_presets`), or file of a device (TOML).
        pattern: Order and direction of the accesses.
        file: Size of the file.
        record: Size of an access. Default: 512 KiB in sequence, a page at random.
        page: Random accesses begin at multiples of it.
        queue_depth: Accesses outstanding.
        accesses: Accesses in all. Default: as many as the file has records.
        reads: Share of reads, of mixed patterns. Default: 0.5.
        seed: Seed of all that is random.

    Raises:
        InputError: There is no such device, or an argument is wrong.

    >>> import odonata
    >>> round(odonata.device_bench("intel-d3-s4510", "random-read", accesses=100)["figures"]["iops"], 2)
    8474.58
    """
    from odonata.calibration import devices

    if reads is not None and not pattern.endswith("mixed"):
        raise InputError(
            "only of a mixed pattern", key="reads", value=str(reads), expected='pattern="random-mixed"'
        )
    given: dict[str, Any] = {"record": record, "accesses": accesses, "reads": reads}
    workload = {key: value for key, value in given.items() if value is not None}
    workload |= {"pattern": pattern, "file": file, "page": page, "queue_depth": queue_depth, "seed": seed}
    return cast("DeviceBench", devices.bench(os.fspath(device), workload))


def device_fit(
    file: PathLike, model: Literal["rate", "ssd", "nvme", "hdd"], *, page: str | None = None
) -> DeviceFit:
    """Derives the parameters of a storage device from a few measurements.

    Args:
        file: CSV with the columns operation, pattern, record, queue_depth (may be left out), and one of iops,
            bandwidth, latency.
        model: Model whose parameters are derived.
        page: Page of an SSD. Default: 4 KiB.

    Raises:
        InputError: The measurements cannot be read, or do not tell it.

    >>> import odonata
    >>> odonata.device_fit("measured.csv", "ssd")["derived"]  # doctest: +SKIP
    ['page_read', 'read_switch']
    """
    from odonata.calibration import devices

    if page is not None and model != "ssd":
        raise InputError("only an SSD has pages", key="page", value=page, expected='model="ssd"')
    return cast("DeviceFit", devices.fit(Path(file), model, page))


def device_presets() -> list[str]:
    """Names of the storage devices that have one.

    >>> import odonata
    >>> "intel-d3-s4510" in odonata.device_presets()
    True
    """
    from odonata.calibration import devices

    return devices.presets()


def device_preset(name: str) -> str:
    """A storage device as a file (TOML), with the source of each number as comments.

    Raises:
        InputError: There is no such device.

    >>> import odonata
    >>> "page_read" in odonata.device_preset("intel-d3-s4510")
    True
    """
    from odonata.calibration import devices

    return devices.preset(name)


def workload_check(
    program: PathLike, *, strict: bool = False, ignore_unknown_backend: bool = False
) -> ProgramCheck:
    """What is wrong with a program in coNCePTuaL, and which options it has.

    Args:
        program: File of the program (.ncptl).
        strict: Accept only what release 1.5.1b of the reference accepts.
        ignore_unknown_backend: Pass over text for a back end that is not known.

    Raises:
        InputError: It cannot be read.

    >>> import odonata
    >>> odonata.workload_check("examples/conceptual.ncptl")["valid"]
    True
    """
    from odonata.programs import conceptual as workload

    found = workload.checked(Path(program), strict=strict, ignore_unknown_backend=ignore_unknown_backend)
    return cast("ProgramCheck", found)


def workload_compile(
    program: PathLike,
    tasks: int,
    args: Sequence[str] = (),
    *,
    seed: int = 1,
    strict: bool = False,
    ignore_unknown_backend: bool = False,
) -> ProgramRecord:
    """Every operation of every task of a program in coNCePTuaL, and whether all come to their end.

    Args:
        program: File of the program (.ncptl).
        tasks: Number of tasks.
        args: Command line of the program.
        seed: Of random tasks.
        strict: As of `workload_check`.
        ignore_unknown_backend: As of `workload_check`.

    Raises:
        InputError: It cannot be read, is no program, or fails with this command line.

    >>> import odonata
    >>> found = odonata.workload_compile("examples/conceptual.ncptl", 2, ["--reps", "1"])
    >>> found["completion"]
    ['complete']
    """
    from odonata.programs import conceptual as workload

    reading.check_seed(seed)
    if not 1 <= tasks <= 1 << 24:
        raise InputError("no number of tasks", key="tasks", value=str(tasks), expected="1 to 2^24")
    record, failure = workload.record(
        Path(program),
        tasks,
        list(args),
        seed=seed,
        strict=strict,
        ignore_unknown_backend=ignore_unknown_backend,
    )
    if failure is not None:
        raise InputError(failure.removeprefix("error: "), file=str(program))
    return cast("ProgramRecord", record)


def workload_format(program: PathLike) -> str:
    """The text of a program in coNCePTuaL in one layout: indentation, spaces, keywords in lower case.

    Raises:
        InputError: It cannot be read, or is no program.

    >>> import odonata
    >>> odonata.workload_format("examples/conceptual.ncptl").splitlines()[-2].strip()
    'task 0 computes aggregates'
    """
    from odonata.programs import conceptual as workload

    return workload.formatted(Path(program))[1]


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
