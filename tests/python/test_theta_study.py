"""The study of Theta: contrary data changes a verdict; tests are closed forms where they exist."""

import dataclasses
import sys

import pytest
from conftest import ROOT

STUDY = ROOT / "studies" / "theta"
sys.path.insert(0, str(STUDY))

from theta_study import claims, figures, machine, page, published, runs  # noqa: E402
from theta_study.page import verdicts  # noqa: E402
from theta_study.runs import Time, parquet  # noqa: E402

Verdict = verdicts.Verdict
CLAIMS = {claim.key: claim for claim in claims.CLAIMS}


def ideal():
    """Tests with the published values, and the values of the links."""
    times = []
    latencies = {"same blade": 1.3, "same chassis": 1.41, "same group": 1.55, "other group": 2.2}
    rates = {"same blade": 17.18e9, "same chassis": 5.25e9, "same group": 5.25e9, "other group": 5e9}
    for variant in machine.VARIANTS:
        for where in machine.DISTANCES:
            base = 1e-6 * latencies[where]
            if variant == "minimal":
                base = 0.9e-6
            for size in runs.SIZES:
                seconds = base + size / rates[where]
                times.append(Time(variant, "ping-pong", where, 2, 1, size, seconds, size))
            times.append(Time(variant, "ping-pong", where, 2, 1, runs.LONG, runs.LONG / 8.5e9, runs.LONG))
        for nodes in runs.NODES:
            for size in runs.SIZES:
                bound = machine.pairing_bound(nodes, size)
                seconds = 2.2e-6 + bound / (1 if variant == "minimal" else 3)
                times.append(Time(variant, "pairing", "", nodes, 1, size, seconds, size))
        for size in runs.SIZES:
            times.append(Time(variant, "pairing", "other group", 2, 1, size, 2.2e-6, size))
        for point in published.POINTS:
            if point.test in ("one way", "both ways"):
                sent = int(point.value * 1e9)
                ranks = point.ranks_per_node
                # For a blade with 8 ranks there are two published numbers: Theta's own counts.
                if not any(same(one, variant, point) for one in times):
                    times.append(Time(variant, point.test, point.where, 2, ranks, point.bytes, 1.0, sent))
        for groups, rate in published.BISECTION.items():
            nodes = groups * machine.GROUP
            times.append(Time(variant, "bisection", "", nodes, 1, 65536, 1.0, int(rate * 1e9)))
    return times


def same(time, variant, point):
    return (time.variant, time.test, time.where, time.ranks_per_node, time.bytes) == (
        *(variant, point.test, point.where, point.ranks_per_node, point.bytes),
    )


def changed(times, seconds=1.0, sent=1.0, **wanted):
    """The same tests; time and bytes of those with these values are multiplied."""
    return [
        dataclasses.replace(time, seconds=time.seconds * seconds, sent=int(time.sent * sent))
        if all(getattr(time, key) == value for key, value in wanted.items())
        else time
        for time in times
    ]


def verdict(key, times):
    return verdicts.judge([CLAIMS[key]], times)[0].verdict


#: Claim -> change that turns its verdict from "holds" into another.
PERTURBATIONS = {
    "worst-case": lambda times: changed(times, sent=1.2, test="one way", ranks_per_node=8),
    "worst-case-fitted": lambda times: changed(times, sent=1.2, test="one way", variant="fitted"),
    "more-ranks": lambda times: changed(times, sent=0.5, test="one way", ranks_per_node=64),
    "latency": lambda times: changed(times, 1.1, test="ping-pong", where="same blade"),
    "distance": lambda times: changed(times, 0.5, variant="preset", where="other group"),
    "distance-fitted": lambda times: changed(times, 0.5, variant="fitted", where="other group"),
    "distance-order": lambda times: changed(times, 0.5, variant="preset", bytes=16384, where="other group"),
    "hop": lambda times: changed(times, 1.1, variant="preset", where="same chassis"),
    "path": lambda times: changed(times, 1.3, variant="minimal", where="same group"),
    "any-pair": lambda times: changed(times, 2.3, variant="minimal", where="same group"),
    "ping-pong-rate": lambda times: changed(times, 1.1, variant="preset", bytes=runs.LONG),
    "ping-pong-rate-fitted": lambda times: changed(times, 1.1, variant="fitted", bytes=runs.LONG),
    "pair-rates": lambda times: changed(times, sent=1.1, variant="preset", test="both ways"),
    "pair-rates-fitted": lambda times: changed(times, sent=1.1, variant="fitted", test="both ways"),
    "bisection": lambda times: changed(times, sent=0.9, test="bisection"),
    "size": lambda times: changed(times, 0.1, variant="preset", bytes=32768),
    "slope": lambda times: changed(times, 1.5, variant="preset", bytes=65536),
    "pairing-links": lambda times: changed(times, 0.9, variant="minimal", test="pairing", nodes=2048),
    "pairing-adaptive": lambda times: changed(times, 4.0, variant="preset", test="pairing", nodes=2048),
    "pairing-small": lambda times: changed(times, 1.3, variant="preset", test="pairing", nodes=2048),
}


def test_every_claim_has_a_perturbation_a_source_and_a_rule():
    assert PERTURBATIONS.keys() == CLAIMS.keys()
    assert all(one.source and one.rule and one.number and one.says for one in claims.CLAIMS)


@pytest.mark.parametrize("key", CLAIMS)
def test_data_that_say_otherwise_turn_the_verdict(key):
    assert verdict(key, ideal()) is Verdict.HOLDS
    assert verdict(key, PERTURBATIONS[key](ideal())) is not Verdict.HOLDS


@pytest.mark.parametrize("key", CLAIMS)
def test_without_tests_nothing_is_judged(key):
    assert verdict(key, []) is Verdict.UNKNOWN


def test_what_the_fitted_machine_was_made_of_is_not_judged():
    """Changing the fitted numbers by half changes no verdict of that variant on them."""
    made = [point for point in published.POINTS if point.made_of_it]
    assert {point.made_of_it for point in made} == {"mpi.send_delay", "nic.rate"}
    graded = [
        value
        for key in ("distance-fitted", "pair-rates-fitted")
        for value in CLAIMS[key].measure(ideal())
        if value.quantity in {point.quantity for point in made}
    ]
    assert graded
    assert all(value.grade is None for value in graded)


# The tests themselves


def test_a_ping_pong_in_a_blade_is_the_closed_form():
    """send_delay + message_delay + 2 (b / rate + latency) + router_delay + recv_overhead, 16 GiB/s."""
    found = {time.bytes: time for time in runs.ping_pong("preset", "same blade", (8, 64))}
    for size, time in found.items():
        expected = machine.HOST_S + 2 * (max(size, 32) / machine.NODE_RATE + 10e-9) + 100e-9
        assert time.seconds == pytest.approx(expected, rel=5e-3)


def test_the_fitted_send_delay_gives_the_published_latency():
    (time,) = runs.ping_pong("fitted", "same blade", (8,))
    assert time.seconds == pytest.approx(1.3e-6, rel=1e-3)


def test_pairs_that_share_the_links_between_two_groups_take_what_they_need():
    """512 nodes: 64 of a chassis with group 1 over 2 links of 4.6875 GB/s: 64 x 64 KiB / 9.375 GB/s."""
    bound = machine.pairing_bound(512, 65536)
    assert bound == pytest.approx(64 * 65536 / 9.375e9)
    assert machine.pairing_bound(128, 65536) == 0
    time = runs.pairing("minimal", 512, 65536)
    assert bound <= time.seconds <= 1.2 * bound


def test_a_stream_sends_the_counted_bytes():
    """8 ranks on each of two nodes, 64 messages of 64 KiB each; the node's link is 16 GiB/s."""
    one, both = (runs.rate("preset", "same blade", 8, both=both) for both in (False, True))
    assert one.sent == 8 * 64 * 65536
    assert both.sent == 2 * one.sent
    assert 0.9 * machine.NODE_RATE < one.rate < machine.NODE_RATE
    assert 0.9 * machine.NODE_RATE < both.rate / 2 < machine.NODE_RATE


def test_across_the_middle_every_rank_receives_from_its_receivers():
    """4 groups of 384: all messages of rank r have their receives; both halves have the same turns."""
    ranks, sent, received = 4 * machine.GROUP, set(), set()
    for rank in (0, 383, 384, 800, 1535):
        for operation in runs.across(rank, ranks, rounds=1):
            peer = operation.numbers.get("peer")
            if operation.kind == "isend":
                sent.add((rank, peer))
                assert (rank < ranks // 2) != (peer < ranks // 2)
                back = [one for one in runs.across(peer, ranks, rounds=1) if one.kind == "irecv"]
                assert rank in {one.numbers["peer"] for one in back}
            elif operation.kind == "irecv":
                received.add((peer, rank))
    assert len(sent) == len(received) == 5 * 2


# The page


def test_the_pages_are_what_their_data_say():
    """Otherwise: `make study-theta WHAT=page`."""
    texts = page.texts()
    assert {path.name for path in texts} == {"README.md", "APPENDIX.md"}
    for path, text in texts.items():
        assert path.read_text(encoding="utf-8") == text, path


def test_every_claim_that_does_not_hold_is_explained():
    judged = page.judge(page.stored())
    wanting = {one.claim.key for one in judged if one.verdict in (Verdict.PART, Verdict.NOT)}
    assert verdicts.notes(STUDY / "notes.md").keys() == wanting


def test_the_figure_is_drawn(tmp_path):
    figures.draw(tmp_path, page.stored())
    assert (tmp_path / figures.NAME).stat().st_size > 5000


def test_kept_rows_come_back_as_they_were(tmp_path):
    parquet.write(tmp_path / "one.parquet", runs.Time, ideal())
    assert runs.read(tmp_path / "one.parquet") == ideal()
