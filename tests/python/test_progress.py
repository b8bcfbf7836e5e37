"""Progress in a log: few lines, with rates and the time left."""

import io

from odonata.running.progress import ProgressLine
from odonata.running.runner import Progress


def at(wall_s, fraction=None):
    return Progress(wall_s, 1e-3 * wall_s, int(2e6 * wall_s), 0, int(1e6 * wall_s), 0, fraction)


def test_a_log_gets_a_line_every_ten_seconds():
    stream = io.StringIO()
    with ProgressLine(stream) as progress:
        for tenth in range(1, 251):
            progress(at(tenth / 10, fraction=tenth / 500))
    assert stream.getvalue().splitlines() == [
        "20% | simulated 10 ms | 2 M events/s | 1 M packet-hops/s | 40 s left",
        "40% | simulated 20 ms | 2 M events/s | 1 M packet-hops/s | 30 s left",
    ]


def test_without_a_known_end_no_time_left_is_claimed():
    stream = io.StringIO()
    with ProgressLine(stream) as progress:
        progress(at(10.0))
    assert stream.getvalue() == "simulated 10 ms | 2 M events/s | 1 M packet-hops/s\n"


def test_a_log_says_how_far_the_baselines_are():
    stream = io.StringIO()
    now = Progress(10.0, 1e-3, 10, 0, 10, 0, 1.0, baselines={"milc": 1.0, "noise": 0.5, "[bold]": None})
    with ProgressLine(stream) as progress:
        progress(now)
    assert stream.getvalue().endswith(" | alone: milc 100%, noise 50%, [bold] ?\n")


def test_after_the_run_itself_its_baselines_are_still_to_come():
    """One after the other, as with -j 1: a completed run is half of the work."""
    stream = io.StringIO()
    with ProgressLine(stream) as progress:
        progress(Progress(10.0, 1e-3, 10, 0, 10, 0, 1.0, baselines={"milc": 0.0, "noise": 0.0}))
        progress(Progress(30.0, 1e-3, 10, 0, 10, 0, 1.0, baselines={"milc": 1.0, "noise": 0.999}))
    first, last = stream.getvalue().splitlines()
    assert first.startswith("50% | ")
    assert "10 s left | alone: milc 0%, noise 0%" in first
    assert last.startswith("99% | ")


def test_names_of_jobs_are_shown_as_they_are_on_a_live_line():
    stream = io.StringIO()
    progress = ProgressLine(stream)
    progress._console.print(
        progress._bar(Progress(1.0, 0, 0, 0, 0, 0, 0.5, baselines={"a[bold]b:32:": 0.5}), None)
    )
    assert "alone: a[bold]b:32: 50%" in stream.getvalue()
