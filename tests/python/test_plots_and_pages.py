"""Figures show the values of the tables, and pages of notebooks the output of commands."""

import math
import tomllib
from html.parser import HTMLParser

import pytest
from conftest import SMALL

import odonata
from odonata import plot
from odonata.base.html_page import HtmlPage
from odonata.sweeps.statistics import interval

TRAFFIC = {
    "name": "a<b>&$x$",
    "machine": {"torus": {"dims": [4, 4]}},
    "jobs": [{"ranks": 16, "workload": {"uniform": {"load": 0.1, "messages": 100}}}],
}


@pytest.fixture(scope="module")
def runs():
    return [odonata.run(tomllib.loads(SMALL), baselines=True, seed=seed) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def curve():
    return odonata.load_sweep(TRAFFIC, loads=[0.1, 0.3, 0.9], max_samples=5)


def test_bars_are_the_slowdowns_and_intervals_those_of_the_seeds(runs):
    figure = plot.slowdown(runs, ["elapsed"])
    [axes] = figure.axes
    for number, (job, bar) in enumerate(zip(runs[0].slowdown(), axes.patches, strict=True)):
        expected = interval([run.slowdown()[job]["elapsed"].ratio for run in runs])
        assert bar.get_height() == pytest.approx(expected.mean)
        assert axes.get_xticklabels()[number].get_text() == job
        low, high = axes.collections[0].get_segments()[number][:, 1]
        assert (low, high) == pytest.approx((expected.low, expected.high))


def test_a_single_run_has_bars_without_intervals(runs):
    figure = plot.slowdown(runs[0])
    [axes] = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "time",
        "time in MPI",
        "time in I/O",
    ]
    heights = [bar.get_height() for bar in axes.patches]
    found = runs[0].slowdown()
    # The first job has no I/O, and no bar.
    assert math.isnan(heights[6])
    assert heights[3:6] == pytest.approx([job["mpi"].ratio for job in found.values()])
    assert axes.collections[0].get_segments() == [] if axes.collections else True


def test_a_scenario_without_name_and_file_has_a_title_all_the_same():
    nameless = {key: value for key, value in tomllib.loads(SMALL).items() if key != "name"}
    run = odonata.run(nameless, baselines=True)
    assert run.run["scenario"]["name"] == "scenario"
    [axes] = plot.slowdown(run).axes
    assert axes.get_title() == "scenario"


def test_a_distribution_ends_at_one_and_has_the_median_of_the_table(runs):
    [axes] = plot.latency_cdf(runs[0], jobs=["halo"]).axes
    together, alone = axes.get_lines()
    assert (together.get_label(), alone.get_label()) == ("halo", "halo, alone")
    xs, shares = together.get_data()
    assert shares[-1] == 1.0
    assert list(shares) == sorted(shares)
    assert list(xs) == sorted(xs)
    job = next(row for row in runs[0].rows("jobs") if row["job"] == "halo")
    assert xs[list(shares).index(0.5)] == pytest.approx(job["message_latency_p50_s"], rel=0.02)
    assert xs[-1] == pytest.approx(job["message_latency_max_s"])
    [tail] = plot.latency_cdf(runs[0], jobs=["halo"], alone=False, tail=True).axes
    [line] = tail.get_lines()
    assert list(line.get_ydata()) == pytest.approx([1 - share for share in shares[:-1]])


def test_a_map_has_the_busy_times_of_the_links(runs):
    links = runs[0].frame("links")
    routers = runs[0].frame("routers")
    between = links[(links["source_kind"] == "router") & (links["target_kind"] == "router")]
    groups = routers["group"]
    for measure, reduce in (("bytes", "sum"), ("most", "max")):
        figure = plot.link_map(runs[0], measure)
        cells = figure.axes[0].images[0].get_array()
        assert cells.shape == (5, 5)
        column = between["bytes"] if measure == "bytes" else between["busy_s"] / runs[0].run["simulated_s"]
        sums = column.groupby([between["source"].map(groups), between["target"].map(groups)]).agg(reduce)
        for (source, target), value in sums.items():
            assert cells[source, target] == pytest.approx(value)


def test_a_machine_of_one_group_is_a_map_of_routers():
    made = odonata.run(
        TRAFFIC | {"machine": {"torus": {"dims": [4]}}, "jobs": [TRAFFIC["jobs"][0] | {"ranks": 4}]}
    )
    figure = plot.link_map(made)
    assert figure.axes[0].get_xlabel() in ("to router", "to group")


def test_a_curve_has_the_points_that_were_measured(curve):
    upper, lower = curve.plot().axes
    accepted = next(line for line in lower.get_lines() if line.get_label() == "accepted")
    assert list(accepted.get_xdata()) == [point["offered"] for point in curve.points]
    assert list(accepted.get_ydata()) == [point["accepted"] for point in curve.points]
    means = next(line for line in upper.get_lines() if line.get_label() == "mean")
    stable = [point for point in curve.points if not point["saturated"]]
    assert list(means.get_ydata()) == [point["latency_ns"]["mean"] for point in stable]


def test_several_curves_share_a_figure(curve):
    upper, lower = plot.load_curve(curve, curve, labels=["minimal", "$ugal"]).axes
    stable = [point for point in curve.points if not point["saturated"]]
    for axes, ys in (
        (upper, [point["latency_ns"]["mean"] for point in stable]),
        (lower, [point["accepted"] for point in curve.points]),
    ):
        assert [line.get_label() for line in axes.get_lines()] == ["minimal", r"\$ugal"]
        assert [list(line.get_ydata()) for line in axes.get_lines()] == [ys, ys]
    assert len(plot.load_curve(curve, curve).axes[0].get_lines()) == 2
    with pytest.raises(odonata.InputError, match="not one label for each sweep"):
        plot.load_curve(curve, curve, labels=["minimal"])
    with pytest.raises(odonata.InputError, match="no sweep"):
        plot.load_curve()


def test_plots_draw_into_axes_of_others(runs):
    figure, axes = _subplots()
    assert plot.slowdown(runs, axes=axes[0]) is figure
    assert plot.latency_cdf(runs[0], axes=axes[1]) is figure
    assert plot.link_map(runs[0], axes=axes[2]) is figure


def _subplots():
    from matplotlib.figure import Figure

    figure = Figure()
    return figure, figure.subplots(1, 3)


def test_names_are_no_formulas(tmp_path, curve):
    made = odonata.run(TRAFFIC | {"jobs": [TRAFFIC["jobs"][0] | {"name": "$a_$"}]})
    plot.latency_cdf(made).savefig(tmp_path / "a.png")
    curve.plot().savefig(tmp_path / "b.png")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda runs: plot.slowdown(runs, ["elapsd"]), odonata.InputError, "did you mean elapsed?"),
        (lambda runs: plot.slowdown([]), odonata.InputError, "one run or more"),
        (lambda runs: plot.slowdown(odonata.run(TRAFFIC)), KeyError, "no baselines"),
        (
            lambda runs: plot.latency_cdf(runs[0], "mpi-packet"),
            odonata.InputError,
            "did you mean mpi-packets?",
        ),
        (lambda runs: plot.latency_cdf(runs[0], jobs=["hallo"]), odonata.InputError, "did you mean halo?"),
        (lambda runs: plot.latency_cdf(odonata.run(TRAFFIC), "calls"), odonata.InputError, "mpi-packets"),
        (lambda runs: plot.link_map(runs[0], "bussy"), odonata.InputError, "did you mean busy?"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(runs, call, error, message):
    with pytest.raises(error) as raised:
        call(runs)
    assert message in str(raised.value)


class Words(HTMLParser):
    """The words of a page, and whether its elements are closed in order."""

    def __init__(self):
        super().__init__()
        self.words, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words += data.split()


def words_of(page):
    parser = Words()
    parser.feed(page)
    assert parser.open == []
    return " ".join(parser.words)


def test_a_notebook_shows_a_summary_as_the_command_prints_it(runs, small, shell):
    results = odonata.load(small)
    printed = " ".join(shell("summary", str(small)).out.split())
    shown = words_of(results._repr_html_())
    assert shown == words_of(results.summary()._repr_html_())
    # A page has no dashes in lists, and headings of tables are on one line.
    for word in printed.replace("- ", "").split():
        assert word in shown, word
    assert "Interference between jobs" in shown
    assert results.summary()["jobs"][0]["job"] == "halo"


def test_a_notebook_shows_checks_descriptions_comparisons_and_presets(runs):
    for answer, message in [
        (odonata.check(TRAFFIC), "the scenario is valid Machine 16 nodes"),
        (odonata.describe("theta", routing=True), "free of deadlock"),
        (odonata.compare(runs[0], runs[1]), "seed"),
        (odonata.preset("theta"), "Argonne National Laboratory"),
    ]:
        assert message in words_of(answer._repr_html_()), message
        assert isinstance(answer, dict)


def test_a_notebook_shows_sweeps_and_curves(curve):
    assert "saturates between" in words_of(curve._repr_html_())
    found = odonata.sweep(TRAFFIC, over={"network.packet": ["1 KiB", "2 KiB"]}, seeds=2)
    shown = words_of(found._repr_html_())
    assert "2 points with 2 seeds each" in shown
    assert "network.packet" in shown


def test_a_notebook_shows_a_scenario_with_all_that_was_set():
    made = odonata.Scenario.from_dict(TRAFFIC)
    shown = words_of(made._repr_html_())
    assert "a<b>&$x$" in shown
    assert "torus (dims = [4, 4])" in shown
    assert " ".join(made.to_toml().split()) in shown
    assert "no jobs" in words_of(odonata.Scenario(preset="theta")._repr_html_())


def test_text_of_users_is_no_markup():
    made = odonata.run(TRAFFIC | {"jobs": [TRAFFIC["jobs"][0] | {"name": "<script>x</script>"}]})
    page = made._repr_html_()
    assert "<script" not in page
    assert "<script>x</script>" in words_of(page)


def test_results_without_tables_are_shown_as_they_are():
    assert odonata.Results({"outcome": "completed"})._repr_html_() is None


def test_figures_show_themselves_in_notebooks(runs):
    assert plot.slowdown(runs)._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"
    with_sweep = odonata.sweep(TRAFFIC, over={"network.packet": ["1 KiB", "2 KiB"]})
    assert with_sweep.plot("elapsed_s")._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_page_knows_its_headings():
    page = HtmlPage(file=None)
    page.parts = ["title", "", "Jobs", "text below", "", "A sentence stands alone.", "- item", "- other"]
    shown = page.html()
    assert '<p class="odonata-heading">Jobs</p>' in shown
    assert "<ul><li>item</li><li>other</li></ul>" in shown
    assert '<p class="odonata-title">title</p>' in shown
