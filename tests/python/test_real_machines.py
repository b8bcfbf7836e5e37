"""docs/real-machines.md: Odonata's numbers are measured, and the text follows from them."""

import dataclasses
import sys

import pytest
from conftest import ROOT

STUDY = ROOT / "studies" / "real_machines"
sys.path.insert(0, str(STUDY))

from real_machines_study import pingpong, table  # noqa: E402
from real_machines_study.entries import entries  # noqa: E402


def test_a_ping_pong_through_one_switch_is_the_closed_form():
    """send_delay + message_delay + 2 (8 B / b + d) + router_delay + recv_overhead, at 200 Gbit/s."""
    times = {time.bytes: time.seconds for time in pingpong.run("Slingshot", "same switch", (0, 1))}
    assert times[8] == pytest.approx(300e-9 + 10e-9 + 2 * (8 / 25e9 + 10e-9) + 300e-9 + 200e-9, rel=1e-4)
    # The interface's 100 Gbit/s limit a long message.
    assert times[4194304] == pytest.approx(4194304 / 12.5e9, rel=0.01)


def test_every_entry_has_a_source_and_a_certainty():
    found = entries(table.stored())
    assert len(found) >= 40
    for one in found:
        assert one.source
        assert one.certainty in ("exact", "table", "read", "second-hand")
        assert one.published > 0
        assert one.ours > 0


def test_twice_the_time_is_seen_as_such():
    measured = table.stored()
    slower = [dataclasses.replace(time, seconds=2 * time.seconds) for time in measured.pingpong]
    before, after = (entries(of) for of in (measured, dataclasses.replace(measured, pingpong=slower)))
    changed = [
        (one, other)
        for one, other in zip(before, after, strict=True)
        if one.unit == "us" and "Blue Gene" not in one.machine
    ]
    assert changed
    for one, other in changed:
        assert 1 + other.difference == pytest.approx(2 * (1 + one.difference))


def test_the_page_is_what_its_data_say():
    """Otherwise: `make study-real-machines WHAT=page`."""
    assert table.PAGE.read_text(encoding="utf-8") == table.text()
