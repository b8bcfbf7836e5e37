"""Measurements: of the simulator by `odonata bench`, of machines by `odonata calibrate` and `validate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from odonata.base import interrupts
from odonata.base.quantities import bytes_of
from odonata.base.terminal import console, say, show_table, table
from odonata.base.wording import duration, size
from odonata.benchmarks import bench
from odonata.benchmarks import parallel as speedups
from odonata.calibration import machine as calibration
from odonata.commands.declared import Shown, argument, command, option, switch
from odonata.errors import RUN_FAILED, InputError, given
from odonata.errors import option as named
from odonata.machines import validation
from odonata.machines.measured import MACHINES

if TYPE_CHECKING:
    from odonata.answers.bench import Bench, ParallelBench
    from odonata.commands.declared import PathLike
    from odonata.tool_answers import Calibration, Validation


def _bench(
    names: list[str] | None, *, quick: bool, parallel: bool, threads: str | None, rounds: int, as_json: bool
) -> Shown:
    with interrupts.raised():
        if not parallel:
            if threads is not None:
                raise InputError(
                    "only with --parallel", key=named("threads"), value=threads, expected=given("parallel")
                )
            report = bench.measure(names or [], quick=quick, announce=not as_json)
            return Shown(report, lambda: bench.show(report))
        found = speedups.measure(
            names or [],
            quick=quick,
            threads=speedups.thread_counts(threads),
            rounds=rounds,
            announce=not as_json,
        )
    wrong = speedups.wrong(found)
    after = [f"error: {text}" for text in wrong]
    return Shown(found, lambda: speedups.show(found), after=lambda: after, code=RUN_FAILED if wrong else 0)


@command(
    "bench",
    """
    The figure of merit is packet-hops (routers visited by packets) per second of CPU time. With --parallel it
    is elapsed time: every scheduler with every number of threads, each run in its own process, in turn.
    """,
    terminal=_bench,
    names=argument("[NAME]...", "Cases to run. [default: all]", list[str], default=None),
    quick=switch("Shorter runs; results vary more."),
    parallel=switch("Measure the speedup of threads, with every scheduler."),
    threads=option(
        "With --parallel: thread counts. [default: 1, 2, 4, ... up to the cores]",
        metavar="N,N,...",
        default=None,
    ),
    rounds=option("With --parallel: runs per median.", metavar="N", type=int, least=1, default=5),
)
def benchmark(names: Sequence[str] = (), *, quick: bool = False) -> Bench:
    """Measures the simulator on this machine: packet-hops per second of CPU time, memory per node.

    Args:
        names: Cases to run. Default: all.
        quick: Shorter runs; results vary more.

    Raises:
        InputError: There is no such case.

    >>> import odonata
    >>> odonata.benchmark(quick=True)["cases"][0]["packet_hops_per_cpu_s"]  # doctest: +SKIP
    5200000.0
    """
    return cast("Bench", bench.measure(list(names), quick=quick, announce=False))


def benchmark_parallel(
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    threads: Sequence[int] | None = None,
    rounds: int = 5,
) -> ParallelBench:
    """Measures the speedup of threads with every scheduler, each run in its own process.

    Args:
        names: Cases to run. Default: all.
        quick: Shorter runs; results vary more.
        threads: Thread counts. Default: 1, 2, 4, ... up to the cores.
        rounds: Runs per median.

    Raises:
        InputError: There is no such case, or a thread count is invalid.

    >>> import odonata
    >>> odonata.benchmark_parallel(threads=[1, 2])["rows"][0]["speed_up"]  # doctest: +SKIP
    1.0
    """
    counts = speedups.thread_counts(None if threads is None else ",".join(map(str, threads)))
    if rounds < 1:
        raise InputError("no rounds", key="rounds", value=str(rounds), expected="1 or more")
    found = speedups.measure(list(names), quick=quick, threads=counts, rounds=rounds, announce=False)
    return cast("ParallelBench", found)


def _calibrate(measurements: Path, scenario: Path, *, fit: str, nodes: str, as_json: bool) -> Shown:
    words = nodes.split(",")
    if len(words) != 2 or not all(word.strip().isdecimal() and len(word) < 10 for word in words):
        raise InputError(
            "not a pair of nodes", key=named("nodes"), value=nodes, expected="two numbers, such as 0,5"
        )
    measured = calibration.read(measurements, (int(words[0]), int(words[1])))
    names = tuple(name.strip() for name in fit.split(",") if name.strip())
    # Imported late: commands without a line start sooner.
    from odonata.running.progress import TextLine

    with TextLine() as show:

        def progress(runs: int, residual: float) -> None:
            show(f"{runs} ping-pongs, residual {100 * residual:.3f}%")

        answer = calibration.answer(measured, calibration.fit(scenario, measured, names, progress))
    return Shown(answer, lambda: _show_calibration(answer))


def _show_calibration(answer: Calibration) -> None:
    out = console()
    say(out, "Fitted settings, for the scenario or --set:", "")
    for key, value in answer["settings"].items():
        say(out, f"  {key} = {value if value == 'none' else repr(value).replace(chr(39), chr(34))}")
    residual = f"Residual {100 * answer['residual']:.2f}% (root mean square)"
    say(out, "", f"{residual}, {answer['runs']} ping-pongs", "")
    page = table("size", "from", "to", "measured", "simulated", "residual", left=0)
    for row in answer["sizes"]:
        page.add_row(
            size(row["bytes"]),
            str(row["from"]),
            str(row["to"]),
            duration(row["measured_s"]),
            duration(row["simulated_s"]),
            f"{100 * row['residual']:+.2f}%",
        )
    show_table(out, page)


@command(
    "calibrate",
    """
    Parameters: software overhead, link rate, eager threshold and others. Prints the keys for the scenario and
    the residuals between measured and simulated times, by size.
    Parameters that the measurements do not determine are refused (docs/calibrate.md).
    """,
    terminal=_calibrate,
    measurements=argument(
        "MEASUREMENTS",
        "Output of osu_latency or IMB-MPI1 PingPong, or CSV with the columns bytes, latency (half a round "
        "trip); optional: from, to.",
    ),
    scenario=argument("SCENARIO", "Machine to fit (TOML)."),
    fit=option(
        "Parameters to fit: software, bandwidth, per-byte, hop, eager.",
        metavar="NAMES",
        default="software,bandwidth",
    ),
    nodes=option("Nodes of measurements without from and to.", metavar="A,B", default="0,1"),
)
def calibrate(
    measurements: PathLike,
    scenario: PathLike,
    fit: Sequence[str] = ("software", "bandwidth"),
    *,
    nodes: tuple[int, int] = (0, 1),
) -> Calibration:
    """Fits a machine to ping-pong measurements: software overhead, link rate, eager threshold.

    docs/calibrate.md says which parameters measurements can determine.

    Args:
        measurements: Output of `osu_latency` or IMB-MPI1 PingPong, or CSV with the columns bytes, latency
            (half a round trip), and from, to.
        scenario: File of the machine to fit.
        fit: Among "software", "bandwidth", "per-byte", "hop", "eager".
        nodes: Nodes of measurements without from and to.

    Raises:
        InputError: A file cannot be read, or the measurements do not determine a parameter.

    >>> import odonata
    >>> odonata.calibrate("ping-pong.csv", "machine.toml")["settings"]  # doctest: +SKIP
    {'mpi.send_delay': '412.3000 ns', 'network.links.terminal.bandwidth': '11.9 GB/s'}
    """
    measured = calibration.read(Path(measurements), nodes)
    return calibration.answer(measured, calibration.fit(Path(scenario), measured, tuple(fit)))


def _validate(
    preset: str, *, largest: str | None, most_ranks: int | None, noise: bool, points: bool, as_json: bool
) -> Shown:
    most = None if largest is None else _size(largest)
    from odonata.running.progress import TextLine

    with interrupts.raised(), TextLine() as show:
        answer = _validation(
            preset, most, most_ranks, noise, lambda number, points: show(f"{number} of {points} points")
        )
    return Shown(answer, lambda: _show_validation(answer, points=points))


def _size(text: str) -> int:
    try:
        return bytes_of(text)
    except (ValueError, KeyError, ArithmeticError):
        raise InputError("not a size", key=named("largest"), value=text, expected='such as "1 MiB"') from None


def _validation(
    preset: str,
    largest: int | None,
    most_ranks: int | None,
    noise: bool,
    announce: Callable[[int, int], None] | None = None,
) -> Validation:
    if preset not in MACHINES:
        raise InputError(
            "there are no measured times of this preset",
            key=named("preset", "PRESET"),
            value=preset,
            expected=f"one of {', '.join(MACHINES)}",
        )
    return validation.validate(
        preset, {}, largest=largest, most_ranks=most_ranks, noise=noise, announce=announce
    )


def _show_validation(answer: Validation, *, points: bool) -> None:
    out = console()
    noise = any(row["p90_ratio"] is not None for row in answer["groups"])
    p90 = ["p90 ratio"] if noise else []
    page = table(
        "points", "collective", "sizes", "number", "median ratio", *p90, "mean factor", "within 20%", left=3
    )
    for row in answer["groups"]:
        page.add_row(
            "fitted" if row["fitted"] else "given, not fitted",
            row["collective"],
            row["size"],
            str(row["points"]),
            f"{row['median_ratio']:.2f}",
            *_ratio(row["p90_ratio"]),
            f"{row['mean_factor']:.2f}",
            f"{100 * row['within_20_percent']:.0f}%",
        )
    show_table(out, page)
    if points:
        say(out, "")
        page = table(
            "run", "collective", "algorithm", "ranks", "size", "measured", "simulated", "ratio", *p90, left=3
        )
        for one in answer["points"]:
            page.add_row(
                one["run"],
                one["collective"],
                one["algorithm"],
                str(one["ranks"]),
                size(one["bytes"]),
                duration(one["measured_s"]),
                duration(one["simulated_s"]),
                f"{one['ratio']:.2f}",
                *_ratio(one["p90_ratio"]),
            )
        show_table(out, page)
    if answer["not_repeated"]:
        say(out, "", f"Not repeated, for want of the algorithm: {', '.join(answer['not_repeated'])}")


def _ratio(value: float | None) -> list[str]:
    return [] if value is None else [f"{value:.2f}"]


@command(
    "validate",
    """
    Repeats measured collectives on the nodes that they ran on, without other jobs. Prints the ratio of
    simulated and measured times by collective and size: for the points that the costs of the preset were
    fitted to, and for all others (docs/calibrate.md). Long messages take minutes; --largest leaves them out.
    With --noise each point is repeated 21 times with the fitted noise of the machine, and 90th percentiles
    are compared too.
    """,
    terminal=_validate,
    preset=argument("PRESET", "lumi, leonardo or fugaku.", str),
    largest=option("Leave out larger sizes.", metavar="SIZE", default=None),
    most_ranks=option("Leave out runs on more ranks.", metavar="N", type=int, least=1, default=None),
    noise=switch("Simulate the fitted noise of the machine; compare 90th percentiles, too."),
    points=switch("Print every point, too."),
)
def validate(
    preset: str, *, largest: int | None = None, most_ranks: int | None = None, noise: bool = False
) -> Validation:
    """Compares a preset with measured times of its machine.

    Args:
        preset: "lumi", "leonardo" or "fugaku".
        largest: Largest size in bytes. Default: all.
        most_ranks: Leave out runs on more ranks. Default: none.
        noise: Repeat each point 21 times with the fitted noise of the machine; compare 90th percentiles, too.

    Raises:
        InputError: There are no measured times of the preset.

    >>> import odonata
    >>> odonata.validate("fugaku", largest=256)["groups"][-1]["points"] > 0
    True
    """
    return _validation(preset, largest, most_ranks, noise)
