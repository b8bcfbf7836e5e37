"""Collectives of NCCL in rank programs: the operations of one rank, step by step and channel by channel.

The model is that of the workload `nccl` (docs/training.md): rings, double binary trees or the switches of
hosts, on several channels, chunk by chunk, with one of NCCL's protocols. All ranks of the communicator make
the same call. It begins when the operations before it on stream 0 are complete, and the operations after it
on stream 0 begin when it has ended.

>>> from odonata.operations import compute
>>> def step(rank, ranks, gradient=1 << 20):
...     yield compute(1e-3)
...     yield from all_reduce(rank, ranks, gradient, channels=1)
>>> [operation.kind for operation in step(0, 2)]
['compute', 'compute', 'sendrecv', 'compute', 'sendrecv', 'compute', 'compute']

A call by rings on n channels uses the streams 0 to n - 1, any other call and NCCL's choice 0 to 2 n - 1. The
tags are those of its communicator, from 0 on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, TypedDict, Unpack

from odonata import _core
from odonata.programs.rank_programs import Operation

__all__ = ["Options", "all_gather", "all_reduce", "broadcast", "reduce_scatter"]

#: Operations that are taken from the core at once.
_TOGETHER = 256


class Options(TypedDict, total=False):
    """Options of all calls."""

    protocol: Literal["simple", "ll", "ll128", "auto"]
    """How the arrival of data is signaled, or NCCL's choice. Default: simple."""
    channels: int
    """Channels, at most; fewer if one would have less than 32 KiB. Default: 8."""
    gpus_per_host: int
    """Consecutive ranks on a host. Default: 8."""
    chunk: int | None
    """Bytes of a step of a channel, at most. Default: that of the protocol."""
    step_latency: float | None
    """Seconds of a step beside its transfer. Default: that of the protocol."""
    network_latency: float
    """Seconds that NCCL's estimate adds to a step between hosts. Default: 0."""
    launch: float | None
    """Seconds from the call to its first step. Default: that of the protocol."""
    comm: int
    """The communicator. Default: that of all ranks."""


def all_reduce(
    rank: int,
    ranks: int,
    bytes: int,
    *,
    algorithm: Literal["ring", "tree", "nvls", "auto"] = "ring",
    **options: Unpack[Options],
) -> Iterator[Operation]:
    """The operations of `rank` in an all-reduce of a vector of `bytes` (`ncclAllReduce`).

    Args:
        rank: This rank, in the communicator.
        ranks: Ranks of the communicator.
        bytes: Size of the vector.
        algorithm: Rings, trees, the switches of hosts, or NCCL's choice by its estimate of the time.
        options: As in `Options`.

    Raises:
        ValueError: An argument is out of range, or the ranks do not fill their hosts.
    """
    return _call("all-reduce", rank, ranks, {"algorithm": algorithm, "bytes": f"{bytes} B"}, **options)


def all_gather(rank: int, ranks: int, bytes: int, **options: Unpack[Options]) -> Iterator[Operation]:
    """The operations of `rank` in an all-gather (`ncclAllGather`); `bytes` are those of all blocks.

    Arguments as of `all_reduce`.
    """
    return _call("all-gather", rank, ranks, {"bytes": f"{bytes} B"}, **options)


def reduce_scatter(rank: int, ranks: int, bytes: int, **options: Unpack[Options]) -> Iterator[Operation]:
    """The operations of `rank` in a reduce-scatter (`ncclReduceScatter`); `bytes` are those of all blocks.

    Arguments as of `all_reduce`.
    """
    return _call("reduce-scatter", rank, ranks, {"bytes": f"{bytes} B"}, **options)


def broadcast(rank: int, ranks: int, bytes: int, **options: Unpack[Options]) -> Iterator[Operation]:
    """The operations of `rank` in a broadcast of `bytes` from rank 0 (`ncclBroadcast`).

    Arguments as of `all_reduce`.
    """
    return _call("broadcast", rank, ranks, {"bytes": f"{bytes} B"}, **options)


def _time(seconds: float) -> str:
    """A time as scenarios have it.

    >>> _time(6e-6)
    '6000000 ps'
    """
    return f"{round(seconds * 1e12)} ps"


def _call(
    collective: str,
    rank: int,
    ranks: int,
    settings: dict[str, Any],
    *,
    comm: int = 0,
    protocol: str = "simple",
    channels: int = 8,
    gpus_per_host: int = 8,
    chunk: int | None = None,
    step_latency: float | None = None,
    network_latency: float = 0.0,
    launch: float | None = None,
) -> Iterator[Operation]:
    """The operations of a call; a wrong argument is raised here and not by the first operation."""
    settings |= {
        "collective": collective,
        "protocol": protocol,
        "channels": channels,
        "gpus_per_host": gpus_per_host,
        "chunk": None if chunk is None else f"{chunk} B",
        "step_latency": None if step_latency is None else _time(step_latency),
        "network_latency": _time(network_latency),
        "launch": None if launch is None else _time(launch),
    }
    given = {key: value for key, value in settings.items() if value is not None}
    return _operations(_core.NcclCall(json.dumps(given), rank, ranks), comm)


def _operations(call: _core.NcclCall, comm: int) -> Iterator[Operation]:
    while taken := call.take(_TOGETHER):
        for kind, numbers, stream, after in taken:
            if "comm" in numbers:
                numbers["comm"] = comm
            yield Operation(kind, numbers, stream, tuple(after))
