"""`odonata advise`: candidates, the search, what packets confirm, prices."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from sweep_cases import TINY

import odonata
from odonata.advice import answer, choices, goals, page, search
from odonata.advice.choices import Choice
from odonata.advice.goals import Measured
from odonata.advice.search import Candidate, Found, Request
from odonata.answers.advice import Advice
from odonata.base.json_types import check
from odonata.errors import InputError
from odonata.machines import prices
from odonata.machines.prices import Cost, Prices
from odonata.running.runner import Task


def put(folder: Path, text: str, name: str = "scenario.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def task(text: str = TINY) -> Task:
    return Task(text, "tiny.toml", [], None)


def test_candidates_are_what_the_machine_has_and_what_differs():
    found, left_out = choices.find(task(), ["placement", "routing"])
    labels = [one.label for one in found]
    assert labels[0] == choices.PRESENT
    # The scenario's own placement and routing are no candidates.
    assert "placement random" not in labels
    assert "routing minimal" not in labels
    assert "placement contiguous, routing ugal" in labels
    assert any("dimension-order" in one.label for one in left_out)
    assert len(labels) == len(set(labels))


def test_keys_and_alternatives_multiply():
    vary = ["jobs.halo.ranks=4,6", "network.packet=1 KiB; nic.message_delay=1 us", "network.packet=2 KiB;"]
    found, _ = choices.find(task(), vary)
    # Ranks 4 are the scenario's own; two alternatives and no alternative.
    assert len(found) == 2 * 3
    last = found[-1].settings
    assert last == {"jobs.0.ranks": 6, "network.packet": "2 KiB"}


@pytest.mark.parametrize(
    ("vary", "value"),
    [
        (["placment"], "placment"),
        (["jobs.halo.ranks=4"], "jobs.halo.ranks=4"),
        (["buffers"], "buffers"),
        (["network.packet=1 KiB,2 KiB; nic.message_delay=1 us"], "network.packet=1 KiB,2 KiB"),
    ],
)
def test_what_cannot_vary_is_refused(vary, value):
    with pytest.raises(InputError) as caught:
        choices.find(task(), vary)
    assert caught.value.value == value


def test_buffers_are_fractions_and_multiples_of_the_present_number():
    text = TINY.replace("[[jobs]]", "[storage]\nnodes = { per_group = 1 }\n\n[[jobs]]", 1)
    text = text.replace("ranks = 6", "ranks = 2")
    found, left_out = choices.find(task(text), ["buffers"])
    # Groups have 4 nodes: 4 buffers would leave no node for jobs.
    assert [one.settings["storage.nodes.per_group"] for one in found[1:]] == [2]
    assert [one.label for one in left_out] == ["4 buffers per group"]


def test_classes_are_per_job_and_by_priority():
    found, left_out = choices.find(task(), ["classes"])
    jobs = [job["name"] for job in task().scenario()["jobs"]]
    assert not left_out
    assert [one.label for one in found[1:]] == ["a class per job", *(f"{name} first" for name in jobs)]
    first = found[2].settings
    assert [one.get("priority", 0) for one in first["network.traffic_classes"]] == [0, 1]
    assert [first[f"jobs.{at}.traffic_class"]["mpi"] for at in range(len(jobs))] == [
        "c1",
        *["c0"] * (len(jobs) - 1),
    ]
    text = TINY.replace("[[jobs]]", "[storage]\nnodes = { per_group = 1 }\n\n[[jobs]]", 1)
    found, _ = choices.find(task(text.replace("ranks = 6", "ranks = 2")), ["classes"])
    assert "a class for I/O" in [one.label for one in found]


class Goes:
    """A stop that is not requested."""

    requested = False


def test_traffic_classes_are_searched_in_packets(monkeypatch, tmp_path):
    asked = []

    def faster(_request, _present, tiers, *_others):
        asked.append(tuple(tiers))
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "_faster", faster)
    for vary in ("classes", "placement"):
        found, left_out = choices.find(task(), [vary])
        with contextlib.suppress(KeyboardInterrupt):
            search.search(request(), found, left_out, tmp_path, stop=Goes())
    assert asked == [("packet",), ("flow", "packet")]


def test_packets_run_the_first_candidates_if_the_search_had_no_time_for_any(monkeypatch, tmp_path):
    """A short budget on a slow computer: five runs of the scenario as it is would tell nothing."""
    monkeypatch.setattr(search, "SEARCH_SHARE", 0.0)
    found, left_out = choices.find(task(), ["placement"])
    asked = replace(request(), budget_s=3600.0, seeds=1, processes=1)
    done = search.search(asked, found, left_out, tmp_path, stop=Goes())
    assert all(not one.searched for one in done.candidates)
    assert [one.choice.label for one in done.confirmed] == [one.label for one in found[:4]]
    assert all(len(one.packets) == 1 for one in done.confirmed)
    (sentence,) = answer.of_search(asked, done, ["placement"])["sentences"][:1]
    assert "packets ran the first 3 of" in sentence or "better" in sentence


def measured(score: float, digest: str, limited: float = 0.0) -> Measured:
    return Measured(score, {"a": score}, {"a.io_s <= 1": limited}, digest)


def candidate(label: str, scores: list[float], cost: float = 100.0, limited: float = 0.0) -> Candidate:
    runs = {seed: measured(score, f"{label} {seed} {score}", limited) for seed, score in enumerate(scores, 1)}
    settings = {} if label == choices.PRESENT else {"key": label}
    return Candidate(Choice(label, settings), Cost(cost, 0.0, 0.0), dict(runs), dict(runs))


def found_of(*confirmed: Candidate) -> Found:
    return Found(list(confirmed), [], list(confirmed), "completed", "packet", 0, 0.0)


def request(goal: str = "slowdown", limits: tuple[goals.Limit, ...] = ()) -> Request:
    return Request(task(), "tiny", goal, limits, Prices(), 1.0, 5)


#: Times of the scenario with five seeds: they vary by a factor of 2, from seed to seed.
PRESENT = [1.0, 2.0, 1.4, 1.8, 1.1]


def test_a_candidate_that_is_better_with_every_seed_is_found_though_means_overlap():
    better = candidate("better", [0.90 * time for time in PRESENT[:4]] + [0.92 * PRESENT[4]])
    found = found_of(candidate(choices.PRESENT, PRESENT), better)
    assert search.best(request(), found) is better
    output = answer.of_search(request(), found, ["placement"])
    check(output, Advice)
    assert output["best"] == "better"
    pair = output["confirmed"][1]["score"]
    # Geometric mean of four 0.90 and one 0.92.
    assert pair["ratio"] == pytest.approx((0.9**4 * 0.92) ** 0.2)
    assert pair["low"] < pair["ratio"] < pair["high"] < 1
    assert "in all 5 seeds" in output["sentences"][0]


def test_the_printed_advice_says_what_scores_are_before_the_tables(capsys):
    output = answer.of_search(request(), found_of(candidate(choices.PRESENT, PRESENT)), ["placement"])
    page.show(output)
    shown = capsys.readouterr().out
    assert shown.index("less is better") < shown.index("packets  ")
    assert "search in packets" in shown
    output["searched_by"] = "flow"
    page.show(output)
    assert "search by flows (estimates)" in capsys.readouterr().out


def test_of_equally_good_candidates_the_one_with_fewest_settings_is_the_answer():
    both = candidate("both", [0.80 * time for time in PRESENT])
    one = candidate(
        "one", [factor * time for factor, time in zip([0.8, 0.81, 0.79, 0.82, 0.8], PRESENT, strict=True)]
    )
    both.choice = Choice("both", {"a": 1, "b": 2})
    found = found_of(candidate(choices.PRESENT, PRESENT), both, one)
    assert search.best(request(), found) is one
    # One that is known to be worse does not win.
    one.packets = {
        seed: measured(0.85 * run.score, f"worse {seed}") for seed, run in found.confirmed[0].packets.items()
    }
    one.packets[1] = measured(0.86 * PRESENT[0], "worse 1")
    assert search.best(request(), found) is both


def test_a_difference_that_may_be_chance_is_no_advice():
    chance = candidate("chance", [0.7 * PRESENT[0], *PRESENT[1:4], 1.1 * PRESENT[4]])
    found = found_of(candidate(choices.PRESENT, PRESENT), chance)
    assert search.best(request(), found) is None
    output = answer.of_search(request(), found, ["placement"])
    assert output["best"] is None
    assert output["sentences"][0].startswith("Nothing is known to be better")


def test_more_confirmed_candidates_have_wider_intervals():
    one, other = candidate(choices.PRESENT, PRESENT), candidate("b", [0.9, 1.9, 1.2, 1.7, 1.0])
    narrow, wide = search.ratio(one, other, 1), search.ratio(one, other, 3)
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low < narrow.high < wide.high


def test_equal_runs_count_once():
    one, other = candidate(choices.PRESENT, [1.0]), candidate("b", [0.5])
    one.packets = dict.fromkeys((1, 2, 3), one.packets[1])
    other.packets = dict.fromkeys((1, 2, 3), other.packets[1])
    pair = search.ratio(one, other, 1)
    assert pair is not None
    assert (pair.pairs, pair.ratio) == (1, 0.5)
    assert math.isnan(pair.low)
    # Nothing is random, so the difference is none of chance.
    assert search.best(request(), found_of(one, other)) is other


def test_the_cheapest_that_keeps_the_limits_is_the_answer_for_cost():
    limits = (goals.Limit("a", "io_s", 1.0, "a.io_s <= 1"),)
    present = candidate(choices.PRESENT, PRESENT, cost=400.0, limited=0.2)
    cheap = candidate("1 buffer", PRESENT, cost=100.0, limited=1.5)
    middle = candidate("2 buffers", PRESENT, cost=200.0, limited=0.9)
    found = found_of(present, cheap, middle)
    assert search.best(request("cost", limits), found) is middle
    output = answer.of_search(request("cost", limits), found, ["buffers"])
    assert "keeps a.io_s <= 1" in output["sentences"][0]


@pytest.mark.parametrize("text", ["halo.speed=3", "other.io_s=3 s", "halo.io_s=fast", "cost"])
def test_wrong_limits_are_refused(text):
    with pytest.raises(InputError):
        goals.limits([text], ["halo"])


def test_prices_of_a_file_replace_those_of_the_table(tmp_path):
    file = put(tmp_path, "server = 1\nport = 2", "prices.toml")
    found = prices.read(file)
    assert (found.server, found.port, found.router) == (1.0, 2.0, Prices().router)
    machine = prices.cost(
        task(), Prices(router=0.0, port=1.0, copper=0, copper_meter=0, fiber=0, fiber_meter=0)
    )
    # 6 routers of 2 nodes, a link to the other router, and a global port.
    assert (machine.routers, machine.cables, machine.servers) == (6 * 4, 0.0, 0.0)


def test_a_search_continues_without_repeating_runs(tmp_path):
    scenario = put(tmp_path, TINY)
    arguments = {"budget": "2 h", "seeds": 2, "out": tmp_path / "out", "processes": 1}
    first = odonata.advise(scenario, ["placement"], **arguments)
    check(first, Advice)
    assert (first["candidates"], first["confirmed"][0]["choice"]) == (4, choices.PRESENT)
    assert len(first["confirmed"]) == 4
    assert all(one["seeds"] == 2 and one["waits"] for one in first["confirmed"][1:])
    assert json.loads((tmp_path / "out/advice.json").read_text())["best"] == first["best"]
    again = odonata.advise(scenario, ["placement"], **arguments)
    assert (first["runs"] > 0, again["runs"]) == (True, 0)
    assert again["confirmed"] == first["confirmed"]


CHECKPOINT = """\
name = "checkpoint"

[machine.dragonfly]
groups = 3
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 1

[storage]
nodes = { per_group = 4 }
device = { capacity = "1 TB", rate = { write = "2 GB/s", read = "2 GB/s", overhead = "20 us" } }

[[jobs]]
name = "ck"
ranks = 12
workload = { checkpoint = { iterations = 1, total = "24 MB", interval = "1 ms" } }
"""


def test_the_smallest_number_of_buffers_that_keeps_a_limit_is_found(tmp_path):
    """24 MB at 2 GB/s take 4 ms with 1 buffer in each of 3 groups, 2 ms with 2."""
    scenario = put(tmp_path, CHECKPOINT)
    limit = {"goal": "cost", "seeds": 1, "processes": 1, "out": tmp_path / "out"}
    found = odonata.advise(scenario, ["buffers"], at_most=["ck.io_s=3.6 ms"], **limit)
    assert found["settings"] == {"storage.nodes.per_group": 2}
    assert found["sentences"][0].startswith("2 buffers per group: costs $")
    none = odonata.advise(scenario, ["buffers"], at_most=["ck.io_s=1.6 ms"], **limit)
    assert none["best"] is None
    assert none["sentences"][0].startswith("No cheaper candidate is known to keep the limits")


class Stopped:
    """A request to stop that comes at once."""

    requested = True


def test_a_stopped_search_says_that_there_is_no_advice_yet(tmp_path):
    found, left_out = choices.find(task(), ["placement"])
    stopped = search.search(request(), found, left_out, tmp_path, stop=Stopped())
    output = answer.of_search(request(), stopped, ["placement"])
    check(output, Advice)
    assert (output["outcome"], output["best"]) == ("interrupted", None)
    assert output["sentences"][0].startswith("There is no advice yet")
