"""One-sided communication in programs: targets take no part, files keep the calls, errors name the rank."""

import pytest

import odonata
from odonata import operations as ops

PAIR = {"machine": {"torus": {"dims": [2]}}}


def origin_and_target(rank, ranks, *, size, busy, kind):
    if rank == 0:
        yield getattr(ops, kind)(1, size)
        yield ops.win_flush(1)
    else:
        yield ops.compute(busy)


def elapsed(program, **args):
    results = odonata.run({**PAIR, "jobs": [{"python": program, "ranks": 2, "args": args}]})
    assert results.outcome == "completed"
    return {row["rank"]: row for row in results.rows("ranks")}


@pytest.mark.parametrize("kind", ["put", "get"])
def test_an_access_takes_the_same_time_whatever_its_target_does(kind):
    def time(busy):
        return elapsed(origin_and_target, size=100_000, busy=busy, kind=kind)[0]["elapsed_s"]

    times = [time(busy) for busy in (0, 1e-3)]
    assert 0 < times[0] == times[1] < 1e-3


def test_the_bytes_of_an_access_are_sent_by_the_side_that_has_them():
    by_put = elapsed(origin_and_target, size=5_000, busy=0, kind="put")
    by_get = elapsed(origin_and_target, size=5_000, busy=0, kind="get")
    assert [by_put[rank]["bytes_sent"] for rank in (0, 1)] == [5_000, 0]
    assert [by_get[rank]["bytes_sent"] for rank in (0, 1)] == [0, 5_000]


def with_request(rank, ranks, *, kind, size):
    if rank == 0:
        yield getattr(ops, kind)(1, size, request=5)
        yield ops.wait(5)


@pytest.mark.parametrize("kind", ["put", "get", "accumulate", "get_accumulate"])
def test_a_wait_for_the_request_of_an_access_ends_as_a_flush(kind):
    flushed = elapsed(origin_and_target, size=100_000, busy=0, kind=kind)[0]["elapsed_s"]
    assert elapsed(with_request, size=100_000, kind=kind)[0]["elapsed_s"] == flushed > 0


def every_call(rank, ranks, *, size=9_000):
    right = (rank + 1) % ranks
    yield ops.put(right, size)
    yield ops.get(right, size)
    yield ops.win_flush()
    yield ops.win_lock(0)
    yield ops.accumulate(0, size)
    yield ops.win_unlock(0)
    yield ops.get(right, size, request=3)
    yield ops.wait(3)
    yield ops.win_lock(0, shared=True)
    yield ops.get_accumulate(0, 8)
    yield ops.win_unlock(0)
    yield ops.win_post(group=1)
    yield ops.win_start(group=1)
    yield ops.put((rank + 2) % ranks, size)
    yield ops.win_complete(group=1)
    yield ops.win_wait(group=1)
    yield ops.win_fence()


every_call = ops.communicators(lambda ranks, **_: {1: [range(0, ranks, 2), range(1, ranks, 2)]})(every_call)


def test_a_program_in_a_file_keeps_the_calls(tmp_path):
    folder = tmp_path / "calls.program"
    assert ops.write(folder, every_call, 8) == (8, 8 * 17)
    kinds = [row["kind"] for row in ops.read(folder).rank(3)]
    assert kinds[3:11] == [
        "win_lock",
        "accumulate",
        "win_unlock",
        "rget",
        "wait",
        "win_lock_shared",
        "get_accumulate",
        "win_unlock",
    ]
    machine = {"machine": {"torus": {"dims": [4, 2]}}}
    written = odonata.run({**machine, "jobs": [{"trace": str(folder), "name": "calls"}]})
    yielded = odonata.run({**machine, "jobs": [{"python": every_call, "ranks": 8, "name": "calls"}]})
    assert written.outcome == yielded.outcome == "completed"
    assert written.run["digest"] == yielded.run["digest"]


def forgets(rank, ranks):
    yield ops.put((rank + 1) % ranks, 64)


def stranger(rank, ranks):
    yield ops.win_post(group=3)


@pytest.mark.parametrize(
    ("program", "text"),
    [(forgets, "rank 0: an access (operation 0) was never flushed"), (stranger, "communicator 3")],
)
def test_what_a_program_does_wrong_is_its_error(program, text):
    results = odonata.run({**PAIR, "jobs": [{"python": program, "ranks": 2}]}, must_succeed=False)
    assert results.outcome == "program-error"
    assert text in results.run["detail"]
