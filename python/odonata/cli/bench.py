"""`odonata bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from odonata.base import interrupts
from odonata.benchmarks import bench as benchmark
from odonata.benchmarks import parallel as bench_parallel
from odonata.cli.answer import open_pipe, print_json, reported, say
from odonata.cli.arguments import Json
from odonata.errors import RUN_FAILED, InputError, given, option


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Cases to run. [default: all]")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs; results vary more.")] = False,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Measure the speedup of threads, with every scheduler.")
    ] = False,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads",
            metavar="N,N,...",
            help="With --parallel: thread counts. [default: 1, 2, 4, ... up to the cores]",
        ),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option("--rounds", min=1, metavar="N", help="With --parallel: runs per median."),
    ] = 5,
    as_json: Json = False,
) -> None:
    """Measure the simulator on this machine.

    The figure of merit is packet-hops (routers visited by packets) per second of CPU time. With --parallel it
    is elapsed time: every scheduler with every number of threads, each run in its own process, in turn.
    """
    with reported(as_json, writes=False), interrupts.raised():
        if parallel:
            counts = bench_parallel.thread_counts(threads)
            report = bench_parallel.measure(
                names or [], quick=quick, threads=counts, rounds=rounds, announce=not as_json
            )
        elif threads is not None:
            raise InputError(
                "only with --parallel", key=option("threads"), value=threads, expected=given("parallel")
            )
        else:
            report = benchmark.measure(names or [], quick=quick, announce=not as_json)
    with open_pipe():
        if as_json:
            print_json(report)
        elif parallel:
            bench_parallel.show(report)
        else:
            benchmark.show(report)
    if parallel and (wrong := bench_parallel.wrong(report)):
        for text in wrong:
            say(f"error: {text}")
        raise typer.Exit(RUN_FAILED)
