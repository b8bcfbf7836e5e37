"""Collectives of NCCL in rank programs: the operations of one rank, step by step and channel by channel.

The model is that of the workload `nccl` (docs/training.md): rings, double binary trees, the switches of
hosts or parallel aggregated trees, on several channels, chunk by chunk, with one of NCCL's protocols. All
ranks of the communicator make the same call. It begins when the operations before it on stream 0 are
complete, and the operations after it on stream 0 begin when it has ended.

>>> from odonata.operations import compute
>>> def step(rank, ranks, gradient=1 << 20):
...     yield compute(1e-3)
...     yield from all_reduce(rank, ranks, gradient, channels=1)
>>> [operation.kind for operation in step(0, 2)]
['compute', 'compute', 'sendrecv', 'compute', 'sendrecv', 'compute', 'compute']

A call by rings or parallel aggregated trees on n channels uses the streams 0 to n - 1, any other call and
NCCL's choice at most 0 to 4 n - 1. The tags are those of its communicator, from 0 on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from odonata import _core
from odonata.programs.rank_programs import Operation

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce_scatter"]

Protocol = Literal["simple", "ll", "ll128", "auto"]

#: Operations that are taken from the core at once.
_TOGETHER = 256


def all_reduce(
    rank: int,
    ranks: int,
    bytes: int,
    *,
    algorithm: Literal["ring", "tree", "nvls", "auto"] = "ring",
    protocol: Protocol = "simple",
    channels: int = 8,
    gpus_per_host: int = 8,
    chunk: int | None = None,
    step_latency: float | None = None,
    network_latency: float = 0.0,
    launch: float | None = None,
    comm: int = 0,
) -> Iterator[Operation]:
    """The operations of `rank` in an all-reduce of a vector of `bytes` (`ncclAllReduce`).

    Args:
        rank: This rank, in the communicator.
        ranks: Ranks of the communicator.
        bytes: Size of the vector.
        algorithm: Rings, trees, the switches of hosts, or NCCL's choice by its estimate of the time.
        protocol: How the arrival of data is signaled, or NCCL's choice.
        channels: Channels, at most; fewer if one would have less than 32 KiB.
        gpus_per_host: Consecutive ranks on a host.
        chunk: Bytes of a step of a channel, at most. Default: that of the protocol.
        step_latency: Seconds of a step beside its transfer. Default: that of the protocol.
        network_latency: Seconds that NCCL's estimate adds to a step between hosts.
        launch: Seconds from the call to its first step. Default: that of the protocol.
        comm: The communicator.

    Raises:
        ValueError: An argument is out of range, or the ranks do not fill their hosts.
    """
    settings = _settings(
        bytes, protocol, channels, gpus_per_host, chunk, step_latency, network_latency, launch
    )
    return _call("all-reduce", rank, ranks, comm, settings | {"algorithm": algorithm})


def all_gather(
    rank: int,
    ranks: int,
    bytes: int,
    *,
    algorithm: Literal["ring", "pat", "auto"] = "ring",
    protocol: Protocol = "simple",
    channels: int = 8,
    gpus_per_host: int = 8,
    chunk: int | None = None,
    step_latency: float | None = None,
    network_latency: float = 0.0,
    launch: float | None = None,
    comm: int = 0,
) -> Iterator[Operation]:
    """The operations of `rank` in an all-gather (`ncclAllGather`); `bytes` are those of all blocks.

    Arguments as of `all_reduce`, but `algorithm`: rings, parallel aggregated trees with one GPU per host, or
    NCCL's choice.
    """
    settings = _settings(
        bytes, protocol, channels, gpus_per_host, chunk, step_latency, network_latency, launch
    )
    return _call("all-gather", rank, ranks, comm, settings | {"algorithm": algorithm})


def reduce_scatter(
    rank: int,
    ranks: int,
    bytes: int,
    *,
    algorithm: Literal["ring", "pat", "auto"] = "ring",
    protocol: Protocol = "simple",
    channels: int = 8,
    gpus_per_host: int = 8,
    chunk: int | None = None,
    step_latency: float | None = None,
    network_latency: float = 0.0,
    launch: float | None = None,
    comm: int = 0,
) -> Iterator[Operation]:
    """The operations of `rank` in a reduce-scatter (`ncclReduceScatter`); `bytes` are those of all blocks.

    Arguments as of `all_reduce`, but `algorithm`: rings, parallel aggregated trees with one GPU per host, or
    NCCL's choice.
    """
    settings = _settings(
        bytes, protocol, channels, gpus_per_host, chunk, step_latency, network_latency, launch
    )
    return _call("reduce-scatter", rank, ranks, comm, settings | {"algorithm": algorithm})


def broadcast(
    rank: int,
    ranks: int,
    bytes: int,
    *,
    protocol: Protocol = "simple",
    channels: int = 8,
    gpus_per_host: int = 8,
    chunk: int | None = None,
    step_latency: float | None = None,
    network_latency: float = 0.0,
    launch: float | None = None,
    comm: int = 0,
) -> Iterator[Operation]:
    """The operations of `rank` in a broadcast of `bytes` from rank 0 (`ncclBroadcast`).

    Arguments as of `all_reduce`.
    """
    settings = _settings(
        bytes, protocol, channels, gpus_per_host, chunk, step_latency, network_latency, launch
    )
    return _call("broadcast", rank, ranks, comm, settings)


def _settings(
    bytes: int,
    protocol: str,
    channels: int,
    gpus_per_host: int,
    chunk: int | None,
    step_latency: float | None,
    network_latency: float,
    launch: float | None,
) -> dict[str, Any]:
    """The keys of the workload `nccl`."""
    given = {
        "bytes": f"{bytes} B",
        "protocol": protocol,
        "channels": channels,
        "gpus_per_host": gpus_per_host,
        "chunk": None if chunk is None else f"{chunk} B",
        "step_latency": None if step_latency is None else _time(step_latency),
        "network_latency": _time(network_latency),
        "launch": None if launch is None else _time(launch),
    }
    return {key: value for key, value in given.items() if value is not None}


def _time(seconds: float) -> str:
    """A time as scenarios have it.

    >>> _time(6e-6)
    '6000000 ps'
    """
    return f"{round(seconds * 1e12)} ps"


def _call(collective: str, rank: int, ranks: int, comm: int, settings: dict[str, Any]) -> Iterator[Operation]:
    # Here, so that a wrong argument is raised by the call and not by the first operation.
    call = _core.NcclCall(json.dumps(settings | {"collective": collective}), rank, ranks)
    return _operations(call, comm)


def _operations(call: _core.NcclCall, comm: int) -> Iterator[Operation]:
    while taken := call.take(_TOGETHER):
        for kind, numbers, stream, after in taken:
            if "comm" in numbers:
                numbers["comm"] = comm
            yield Operation(kind, numbers, stream, tuple(after))
