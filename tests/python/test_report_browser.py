"""Reports in a browser: they open without an error and offline, and react to clicks."""

import shutil
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, SMALL, Shell
from test_report import SCENARIO, TROUBLE, sweep_table

#: Names of the browser; tests/browser/setup.sh installs it.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (tests/browser/setup.sh)"),
]

#: Seconds until the page of a large machine is open; and until all of its charts are drawn.
OPEN_S = 2.0
PATIENCE_S = 120

LARGE = """\
name = "9,600 nodes"

[machine.dragonfly-2d]
groups = 25
rows = 6
columns = 16
nodes_per_router = 4
global_ports_per_router = 4
cables = 12

[storage]
nodes = { per_group = 2 }
device = { capacity = "1 TB" }

[run]
blame = true
series_interval = "20 us"
message_rows = 1000

[[jobs]]
name = "halo"
ranks = 4096
placement = "random"
workload = { stencil = { dims = [16, 16, 16], message = "4 KiB", iterations = 2, compute = "20 us" } }

[[jobs]]
name = "saver"
ranks = 512
placement = "random"
workload = { checkpoint = { iterations = 1, total = "50 MB", interval = "20 us" } }
"""


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        # Root, as in containers, has no sandbox.
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def shell(tmp_path_factory, server):
    shell = Shell(tmp_path_factory.mktemp("browser"), server)
    shell.write(SCENARIO)
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--baselines").code == 0
    assert shell("report", "out", "-o", "report.html").code == 0
    return shell


@pytest.fixture
def opened(chromium, shell):
    """Opens a page; messages on the console and network requests fail the test."""
    output, asked, contexts = [], [], []

    def opened(name="report.html", **options):
        context = chromium.new_context(viewport={"width": 1300, "height": 900}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE_S * 1000)
        tab.on("console", lambda message: output.append(message.text))
        tab.on("pageerror", lambda error: output.append(str(error)))
        tab.on("dialog", lambda dialog: output.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto((shell.folder / name).as_uri())
        tab.wait_for_selector("html[data-ready]", state="attached")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert output == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def await_truth(tab, expression):
    """Waits for an expression to be true. (Playwright's own way evaluates text, which the page forbids.)"""
    until = time.monotonic() + PATIENCE_S
    while not tab.evaluate(expression):
        assert time.monotonic() < until, expression
        time.sleep(0.05)


def names(tab, chart):
    return tab.evaluate(f"document.getElementById('{chart}').data.map((trace) => trace.name)")


def test_every_chart_is_drawn(opened):
    tab = opened()
    charts = tab.eval_on_selector_all(".plot", "plots => plots.map((plot) => [plot.id, plot.dataset.drawn])")
    assert len(charts) >= 10
    assert {drawn for _, drawn in charts} == {"yes"}
    assert tab.locator(".plot .main-svg").count() >= len(charts)
    assert tab.title() == "small · Odonata"


def test_every_chart_of_a_batch_queue_is_drawn(opened, shell):
    assert shell("batch", str(ROOT / "examples/batch/day.toml"), "-o", "day", "-q").code == 0
    assert shell("report", "day", "-o", "day.html").code == 0
    tab = opened("day.html")
    charts = tab.eval_on_selector_all(".plot", "plots => plots.map((plot) => [plot.id, plot.dataset.drawn])")
    assert {drawn for _, drawn in charts} == {"yes"}
    drawn = [chart.removesuffix("-matrix") for chart, _ in charts if chart.endswith("-matrix")]
    assert drawn == ["profile", "application", "user", "job"]
    assert names(tab, "waits-by-size-chart") == ["median", "mean", "p90", "largest"]
    assert names(tab, "waits-over-time-chart") == ["1-3 nodes", "4-15 nodes", "16-63 nodes", "64-127 nodes"]


def test_the_toolbar_of_a_chart_is_visible_before_the_pointer_is_on_it(opened):
    tab = opened()
    shown = tab.eval_on_selector_all(
        ".plot .modebar", "bars => bars.map((bar) => [getComputedStyle(bar).opacity, bar.offsetHeight > 0])"
    )
    assert shown
    assert {tuple(one) for one in shown} == {("1", True)}


def test_names_of_jobs_are_shown_as_they_are(opened):
    tab = opened()
    assert tab.locator("#jobs-table tbody th").all_inner_texts() == ["halo", "training", TROUBLE]
    legend = tab.locator("#latency-distribution .legendtext").all_text_contents()
    assert TROUBLE in legend


def test_choices_change_the_charts(opened):
    tab = opened()
    before = names(tab, "latency-distribution")
    tab.select_option("select[data-of=latency-distribution][name=measure]", "calls")
    after = names(tab, "latency-distribution")
    assert "halo" in before
    assert "halo" not in after
    tab.select_option("select[data-of=latency-distribution][name=view]", "tail")
    axis = tab.evaluate("document.getElementById('latency-distribution').layout.yaxis.type")
    assert axis == "log"


def test_the_vertical_axis_is_named_after_the_shown_measure(opened):
    tab = opened()
    title = "document.getElementById('latency-distribution').layout.yaxis.title.text"
    for view, words in (
        ("cdf", "cumulative share"),
        ("tail", "share above"),
        ("density", "share per factor of ten"),
    ):
        tab.select_option("select[data-of=latency-distribution][name=view]", view)
        assert tab.evaluate(title) == words


def test_an_axis_of_shares_has_its_last_label(opened):
    """plotly.js leaves out a label that does not fit, though it is in the document."""
    tab = opened()
    for chart in ("jobs-time", "links-load"):
        tab.locator(f"#{chart}").scroll_into_view_if_needed()
        last = tab.locator(f"#{chart} .xtick text").last
        assert last.text_content() == "100%"
        assert last.is_visible(), chart


@pytest.mark.parametrize("width", [400, 320])
def test_nothing_is_wider_than_a_small_screen(opened, width):
    tab = opened()
    tab.set_viewport_size({"width": width, "height": 900})
    await_truth(tab, f"document.documentElement.scrollWidth <= {width}")


def test_the_axes_of_the_map_count_routers_and_groups(opened):
    """Numbers of routers and groups are whole."""
    tab = opened()
    tab.locator("#machine-map").scroll_into_view_if_needed()
    tab.wait_for_selector("#machine-map .xtick text")
    for axis in ("x", "y"):
        ticks = tab.locator(f"#machine-map .{axis}tick text").all_text_contents()
        assert ticks
        assert all(tick.lstrip("\u2212-").isdecimal() for tick in ticks), ticks


def test_the_map_is_filtered_by_class_measure_and_job(opened):
    tab = opened()
    colors = (
        "document.getElementById('machine-map').data.find((trace) => trace.marker?.cmin === 0).marker.color"
    )
    data = tab.evaluate("JSON.parse(document.getElementById('report-data').textContent)['machine-map'].data")
    # A job that waited for another.
    victim, culprit = max(data["waits"], key=lambda row: (row[2] != row[3]) * row[4])[2:4]
    shown = []
    for choices in (
        {},
        {"class": "global"},
        {"measure": "waits"},
        {"measure": "waits", "victim": str(victim)},
        {"measure": "waits", "victim": str(victim), "culprit": str(culprit)},
    ):
        for name in ("measure", "class", "victim", "culprit"):
            value = choices.get(name, "busy" if name == "measure" else "")
            tab.select_option(f"select[data-of=machine-map][name={name}]", value)
        shown.append(tab.evaluate(colors))
    classes = data["routers"]["busy"]
    assert shown[0] == [max(values) for values in zip(*classes.values(), strict=True)]
    assert shown[1] == classes["global"]
    for values, fits in (
        (shown[2], lambda of, held: True),
        (shown[3], lambda of, held: of == victim),
        (shown[4], lambda of, held: (of, held) == (victim, culprit)),
    ):
        waited = sum(row[4] for row in data["waits"] if fits(row[2], row[3]))
        assert sum(values) == pytest.approx(waited)
    assert sum(shown[2]) > sum(shown[3]) > sum(shown[4]) > 0


def test_the_mouse_tells_about_a_router(opened):
    tab = opened()
    tab.locator("#machine-map").scroll_into_view_if_needed()
    point = tab.evaluate(
        """() => {
            const plot = document.getElementById('machine-map');
            const { x, y } = plot.data.find((one) => one.marker?.cmin === 0);
            const box = plot.getBoundingClientRect(), { xaxis, yaxis, _size } = plot._fullLayout;
            return [box.x + _size.l + xaxis.d2p(x[5]), box.y + _size.t + yaxis.d2p(y[5])];
        }"""
    )
    tab.mouse.move(*point)
    tab.wait_for_selector("#machine-map .hovertext")
    output = tab.locator("#machine-map .hovertext").first.text_content()
    assert "router 5" in output
    assert "busy" in output


def test_a_time_that_is_chosen_in_one_chart_is_shown_in_all(opened):
    tab = opened()
    tab.evaluate("Plotly.relayout('jobs-traffic', {'xaxis.range[0]': 1e-4, 'xaxis.range[1]': 3e-4})")
    for chart in ("waits-time", "links-time", "storage-time"):
        found = f"document.getElementById('{chart}').layout.xaxis.range.map(Number)"
        await_truth(tab, f"{found}[1] < 3.001e-4")
        assert tab.evaluate(found) == pytest.approx([1e-4, 3e-4])
    # A choice in another chart leaves the time unchanged.
    tab.select_option("select[data-of=waits-time][name=where]", "servers")
    found = tab.evaluate("document.getElementById('waits-time').layout.xaxis.range.map(Number)")
    assert found == pytest.approx([1e-4, 3e-4])


def test_tables_are_sorted_and_searched_by_mouse_and_keys(opened):
    tab = opened()
    heading = tab.locator("#jobs-table th", has_text="time").first
    cells = "#jobs-table tbody tr td:nth-child(3)"
    values = "cells => cells.map((cell) => Number(cell.dataset.value))"
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    shown = tab.eval_on_selector_all(cells, values)
    assert shown == sorted(shown, reverse=True)
    heading.locator("button").focus()
    tab.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert tab.eval_on_selector_all(cells, values) == sorted(shown)
    tab.locator("details:has(#slowdown-all) summary").click()
    tab.fill("input[data-rows=slowdown-all]", "i/o bandwidth")
    rows = tab.locator("#slowdown-all tbody tr:visible")
    assert rows.count() == 2
    assert all("I/O bandwidth" in text for text in rows.all_inner_texts())


def test_everything_is_reached_with_the_keyboard(opened):
    tab = opened()
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.tagName + ' ' + document.activeElement.id"))
    kinds = {one.split()[0] for one in reached}
    assert {"A", "BUTTON", "SELECT", "SUMMARY"} <= kinds
    assert "BUTTON theme" in reached
    unnamed = "all => all.filter((one) => !one.labels?.length && !one.getAttribute('aria-label')).length"
    assert tab.eval_on_selector_all("select, input", unnamed) == 0


#: Contrast of text as WCAG counts it: of two colors, given as rgb().
CONTRAST = """([ink, page]) => {
    const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number).map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
    const [a, b] = [light(ink), light(page)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast_in_both_schemes_and_the_switch_changes_them(opened, scheme):
    tab = opened(color_scheme=scheme)
    paper = "getComputedStyle(document.body).backgroundColor"

    def check(is_dark):
        assert (tab.evaluate(paper) == "rgb(255, 255, 255)") is not is_dark
        font = tab.evaluate("document.getElementById('jobs-time').layout.font.color")
        assert font == ("#e6e9ed" if is_dark else "#1b1f24")
        for selector in (
            "body",
            "section:nth-of-type(2) .lead",
            "figcaption",
            "nav li:last-child a",
            "summary",
        ):
            ink = tab.evaluate(f"getComputedStyle(document.querySelector('{selector}')).color")
            assert tab.evaluate(CONTRAST, [ink, tab.evaluate(paper)]) >= 4.5, selector

    check(scheme == "dark")
    tab.click("#theme")
    check(scheme != "dark")


def test_on_paper_it_is_light_and_whole(opened, tmp_path):
    tab = opened(color_scheme="dark")
    tab.emulate_media(media="print", color_scheme="dark")
    await_truth(tab, "document.getElementById('jobs-time').layout.font.color === '#000000'")
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not tab.locator("nav").is_visible()
    assert tab.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    # A4 less margins of 15 mm at 96 dots an inch: no chart is cut off, though nothing resizes them for paper.
    room = (210 - 2 * 15) / 25.4 * 96
    widths = "[...document.querySelectorAll('.plot')].map((one) => one._fullLayout.width)"
    on_paper = tab.evaluate(widths)
    assert on_paper
    assert max(on_paper) <= room
    # Nor is a table: a wide one continues below, its rows named again.
    tables = "[...document.querySelectorAll('.scroll')].filter((one) => one.offsetWidth)"
    assert tab.evaluate(f"{tables}.map((one) => one.scrollWidth - one.clientWidth)") == [0] * tab.evaluate(
        f"{tables}.length"
    )
    # Chromium repeats no buttons at the head of a page.
    assert not tab.locator("thead button").first.is_visible()
    pdf = tab.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000
    tab.emulate_media(media="screen", color_scheme="dark")
    await_truth(tab, f"({widths}).every((width) => width > {room})")


def test_the_scenario_is_copied_and_saved(opened, tmp_path):
    tab = opened(permissions=["clipboard-read", "clipboard-write"])
    tab.locator("details:has(#origin-scenario) summary").click()
    tab.click("button[data-copy=origin-scenario]")
    await_truth(tab, "document.querySelector('button[data-copy=origin-scenario]').textContent === 'Copied'")
    with tab.expect_download() as download:
        tab.click("button[data-save=origin-scenario]")
    download.value.save_as(tmp_path / "saved.toml")
    assert download.value.suggested_filename == "scenario.toml"
    assert (tmp_path / "saved.toml").read_text() == SCENARIO


def test_axes_of_a_sweep_are_chosen_in_the_page(opened, shell):
    sweep_table(shell.folder)
    assert shell("report", "sweep.parquet", "-o", "sweep.html").code == 0
    tab = opened("sweep.html")

    def points():
        read = "data.map((one) => [one.name, one.x, one.y, one.error_y.array])"
        return tab.evaluate(f"document.getElementById('sweep-chart').{read}")

    # Three seeds: 0.1, 0.2 and 0.3 of which the mean is 0.2, and half an interval 4.303 * 0.1 / sqrt(3).
    name, x, y, halves = points()[0]
    assert (name, x) == ("milc", [0.1, 0.2])
    assert y == pytest.approx([0.2, 0.4])
    assert halves == pytest.approx([4.303 * 0.1 / 3**0.5, 4.303 * 0.2 / 3**0.5], rel=1e-3)
    assert points()[1][0] == "io &lt;b&gt;"
    tab.select_option("select[name=x]", "placement")
    tab.select_option("select[name=by]", "jobs.a.load")
    assert [one[0] for one in points()] == ["0.1", "0.2"]
    assert points()[0][1] == ["random", "contiguous"]
    # Means over jobs are no replications, and have no interval.
    assert points()[0][3] == [None, None]
    # Points of one place are side by side; no error bar suggests a negative time.
    layout = "document.getElementById('sweep-chart')._fullLayout"
    assert tab.evaluate(f"{layout}.scattermode") == "group"
    assert tab.evaluate(f"{layout}.yaxis.range[0]") >= 0


def test_a_sweep_with_ten_values_and_many_columns(opened, shell):
    """Ten colors, values with units; on paper the columns that do not fit continue below."""
    sizes = [1024 * number for number in range(1, 11)]
    axis = pa.field("network.packet", pa.float64(), metadata={"role": "axis", "unit": "bytes"})
    metrics = [
        pa.field(f"some_measure_{number}_s", pa.float64(), metadata={"role": "metric", "unit": "s"})
        for number in range(12)
    ]
    columns = {"network.packet": sizes, "job": ["milc"] * 10} | {
        field.name: [123.4] * 10 for field in metrics
    }
    schema = pa.schema([axis, pa.field("job", pa.string()), *metrics])
    pq.write_table(pa.table(columns, schema=schema), shell.folder / "ten.parquet")
    assert shell("report", "ten.parquet", "-o", "ten.html").code == 0
    tab = opened("ten.html")
    texts = [f"{number} KiB" for number in range(1, 11)]
    held = tab.locator("select[name='only:network.packet'] option").all_inner_texts()
    assert held == [*texts, "all"]
    assert tab.evaluate("document.getElementById('sweep-chart')._fullLayout.xaxis.ticksuffix") == "B"
    tab.select_option("select[name=x]", "job")
    tab.select_option("select[name=by]", "network.packet")
    drawn = tab.evaluate(
        "document.getElementById('sweep-chart').data.map((one) => [one.name, one.line.color])"
    )
    assert [name for name, _ in drawn] == texts
    assert len({color for _, color in drawn}) == 10

    heads = tab.locator("#sweep-rows thead th").all_inner_texts()
    tab.emulate_media(media="print")
    await_truth(tab, "document.querySelectorAll('.on-paper').length > 1")
    parts = tab.evaluate(
        "[...document.querySelectorAll('.on-paper')].map((part) => [part.scrollWidth - part.clientWidth, "
        "part.clientWidth, [...part.querySelectorAll('thead th')].map((head) => head.dataset.title)])"
    )
    assert not tab.locator("#sweep-rows").is_visible()
    assert all(beyond == 0 and width > 0 for beyond, width, _ in parts)
    # Each part names its rows, and together they have every column once.
    assert all(part[:2] == ["network.packet", "job"] for _, _, part in parts)
    assert ["network.packet", "job", *(head for _, _, part in parts for head in part[2:])] == heads
    tab.emulate_media(media="screen")
    await_truth(tab, "document.querySelectorAll('.on-paper').length === 0")
    assert tab.locator("#sweep-rows").is_visible()


def test_runs_are_compared_in_the_page(opened, shell):
    shell.write(SMALL.replace("seed = 3", "seed = 4"), "other.toml")
    assert shell("run", "other.toml", "-o", "other", "-q").code == 0
    assert shell("report", "out", "other", "-o", "both.html").code == 0
    shell.write(SMALL.replace('"saver"', '"other saver"'), "third.toml")
    tab = opened("both.html")
    assert names(tab, "jobs-compared") == ["out", "other"]
    tab.select_option("select[data-of=waits-compared][name=run]", "other")
    assert tab.locator("#runs tbody tr").count() == 2


def test_a_machine_of_9600_nodes_opens_at_once(chromium, tmp_path, server):
    shell = Shell(tmp_path, server)
    shell.write(LARGE)
    assert shell("run", "scenario.toml", "-o", "out", "-q").code == 0
    assert shell("report", "out").code == 0
    file = tmp_path / "out/report.html"
    assert file.stat().st_size < 15e6
    tab = chromium.new_page()
    session = tab.context.new_cdp_session(tab)
    # CPU time of the page, because tests share the processor.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(file.as_uri(), wait_until="load")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    assert tab.locator("#verdict-title").is_visible()
    tab.wait_for_selector("html[data-ready]", state="attached", timeout=PATIENCE_S * 1000)
    tab.close()
    assert 0 < metrics["TaskDuration"] < OPEN_S
