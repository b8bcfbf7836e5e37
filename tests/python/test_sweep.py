"""`odonata sweep`: points, seeds, intervals, reuse, tables and pages."""

from __future__ import annotations

import math
import re
import tomllib

import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from sweep_cases import TINY, journal, points, same, sweep_file

import odonata
from odonata.errors import InputError
from odonata.sweeps import samples, spec, statistics, table


def test_a_grid_with_seeds_is_a_row_per_point_seed_and_job(shell):
    sweep_file(shell, 'seeds = 3\nbaselines = true\n[grid]\njobs.halo.placement = ["random", "contiguous"]\n')
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    assert done.json["outcome"] == "completed"
    assert (done.json["points"], done.json["seeds"]) == (2, 3)
    found = points(shell.folder / "out")
    keys = zip(
        *(found[name].to_pylist() for name in ("point", "jobs.halo.placement", "seed", "job")), strict=True
    )
    assert list(keys) == [
        (point, placement, seed, job)
        for point, placement in enumerate(("random", "contiguous"))
        for seed in (3, 4, 5)
        for job in ("halo", "noise")
    ]
    assert set(found["outcome"].to_pylist()) == set(found["baseline"].to_pylist()) == {"completed"}
    # Each equals the result of `odonata run`, digests included.
    shell("run", "scenario.toml", "--seed", "4", "--baselines", "-o", "run", "-q")
    results = odonata.load(shell.folder / "run")
    slowdowns = results.slowdown()
    for row in found.to_pylist()[2:4]:
        assert row["digest"] == results.run["digest"]
        assert row["elapsed_ratio"] == slowdowns[row["job"]]["elapsed"].ratio
        assert row["message_latency_p99_ratio"] == slowdowns[row["job"]]["message_latency_p99"].ratio
        own = next(one for one in results.rows("jobs") if one["job"] == row["job"])
        assert {name: row[name] for name in own} == own


def test_columns_say_what_they_are(shell):
    sweep_file(
        shell, '[grid]\njobs.noise.workload.uniform.bytes = ["4 KiB", "8 KiB"]\njobs.halo.ranks = [4, 6]\n'
    )
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    for name in ("points", "intervals"):
        found = pq.read_table(shell.folder / f"out/{name}.parquet")
        assert table.swept_keys(found) == ["jobs.noise.workload.uniform.bytes", "jobs.halo.ranks"]
        field = found.schema.field("jobs.noise.workload.uniform.bytes")
        assert field.metadata[b"unit"] == b"bytes"
        assert set(found[field.name].to_pylist()) == {4096.0, 8192.0}
        assert set(found["jobs.halo.ranks"].to_pylist()) == {4, 6}
        for field in found.schema:
            assert field.metadata[b"description"], field.name
    for column in table.job_columns():
        assert (
            points(shell.folder / "out").schema.field(column.name).metadata.get(b"unit", b"").decode()
            == column.unit
        )


def test_no_two_measures_have_one_name():
    names = table.measure_names()
    assert len({table.words(name) for name in names}) == len(names)


def test_a_second_sweep_runs_only_what_is_new(shell):
    sweep_file(
        shell, "seeds = 2\nbaselines = true\n[grid]\njobs.noise.workload.uniform.messages = [10, 20]\n"
    )
    first = shell("sweep", "sweep.toml", "-o", "out", "--json").json["runs"]
    # The stencil alone is the same beside less and more noise; the noise alone is not.
    assert first == {"executed": 4 + 4 + 2, "reused": 2}
    kept = points(shell.folder / "out")
    assert shell("sweep", "sweep.toml", "-o", "out", "--json").json["runs"] == {"executed": 0, "reused": 12}
    assert same(points(shell.folder / "out"), kept)
    sweep_file(
        shell, "seeds = 2\nbaselines = true\n[grid]\njobs.noise.workload.uniform.messages = [10, 20, 30]\n"
    )
    more = shell("sweep", "sweep.toml", "-o", "out", "--json").json["runs"]
    assert more == {"executed": 4, "reused": 14}
    # Another folder can reuse them, and settings of execution do not count.
    settings = ("--set", "run.threads=1", "--set", "name=other")
    other = shell("sweep", "sweep.toml", "-o", "more", "--reuse", "out", "--json", *settings)
    assert other.json["runs"]["executed"] == 0
    keys = [kept["key"] for kept in journal(shell.folder / "out")]
    assert len(keys) == len(set(keys)) == 14


@pytest.mark.slow
def test_shared_baselines_are_those_that_each_point_would_have(shell):
    """Also for traffic that ends with other jobs, and for a job that starts after another."""
    scenario = TINY.replace("messages = 20", "").replace('name = "noise"', 'name = "noise"\nuntil = ["halo"]')
    scenario += '\n[[jobs]]\nname = "late"\nranks = 2\nstart_after = ["halo"]\nplacement = "random"\n'
    scenario += 'workload = { stencil = { message = "4 KiB", iterations = 2, compute = "1 us" } }\n'
    grid = "jobs.halo.workload.stencil.iterations = [2, 4]\n"
    grid += 'jobs.late.workload.stencil.message = ["4 KiB", "8 KiB"]\n'
    sweep_file(shell, f"baselines = true\n[grid]\n{grid}", scenario)
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    # Alone, the stencil differs in its iterations, the late job in its messages.
    assert done.json["runs"]["reused"] >= 4
    rows = points(shell.folder / "out").to_pylist()
    for row in rows:
        if row["job"] != "halo":
            continue
        size = f"{row['jobs.late.workload.stencil.message']:.0f} B"
        settings = (
            "--set", f"jobs.0.workload.stencil.iterations={row['jobs.halo.workload.stencil.iterations']}",
            "--set", f"jobs.2.workload.stencil.message={size}",
        )  # fmt: skip
        shell("run", "scenario.toml", "--baselines", "-o", "run", "--force", "-q", *settings)
        slowdowns = odonata.load(shell.folder / "run").slowdown()
        for one in rows:
            if one["point"] == row["point"]:
                for name in ("message_latency_mean", "message_latency_p99", "mpi"):
                    assert one[f"{name}_alone_s"] == slowdowns[one["job"]][name].alone, (one["job"], name)


@pytest.mark.slow
def test_zips_points_and_samples(shell):
    sweep_file(
        shell,
        'seeds = [7, 9]\n[zip]\n"jobs.halo.ranks" = [2, 4]\njobs.noise.ranks = [4, 2]\n'
        '[[points]]\njobs.halo.start = "1 us"\n[[points]]\njobs.noise.start = "2 us"\n'
        '[sample]\nmethod = "latin-hypercube"\ncount = 2\n'
        "[sample.over]\njobs.noise.workload.uniform.messages = { low = 1, high = 20, integer = true }\n"
        'jobs.noise.workload.uniform.mean_interval = { low = "1 us", high = "10 us", scale = "log" }\n',
    )
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    assert done.json["points"] == 2 * 2 * 2
    rows = points(shell.folder / "out").to_pylist()
    assert {row["seed"] for row in rows} == {7, 9}
    assert {(row["jobs.halo.ranks"], row["jobs.noise.ranks"]) for row in rows} == {(2, 4), (4, 2)}
    starts = {(row["jobs.halo.start"], row["jobs.noise.start"]) for row in rows}
    assert starts == {(1e-6, None), (None, 2e-6)}
    messages = sorted({row["jobs.noise.workload.uniform.messages"] for row in rows})
    assert len(messages) == 2
    assert 1 <= messages[0] <= 10 < messages[1] <= 20
    for row in rows:
        assert row["ranks"] == row[f"jobs.{row['job']}.ranks"]
        assert row["start_s"] == (row[f"jobs.{row['job']}.start"] or 0.0)


@pytest.mark.parametrize("method", samples.METHODS)
def test_samples_fill_the_cube_and_are_the_same_for_a_seed(method):
    if method == "sobol":
        pytest.importorskip("scipy")
    one = samples.unit_cube(method, 64, 3, seed=5)
    assert one == samples.unit_cube(method, 64, 3, seed=5) != samples.unit_cube(method, 64, 3, seed=6)
    assert all(0 <= x < 1 for point in one for x in point)
    strata = [len({int(64 * x) for x in axis}) for axis in zip(*one, strict=True)]
    assert all(count == 64 for count in strata) if method != "random" else all(count > 30 for count in strata)


def test_intervals_are_those_of_student():
    """Against closed forms, a table of the distribution, and the definition."""
    for confidence in (0.5, 0.9, 0.95, 0.99):
        # One and two degrees of freedom have closed forms.
        assert statistics.quantile(confidence, 1) == pytest.approx(
            math.tan(math.pi * confidence / 2), rel=1e-9
        )
        two = confidence * math.sqrt(2 / (1 - confidence**2))
        assert statistics.quantile(confidence, 2) == pytest.approx(two, rel=1e-9)
    known = {
        (0.95, 3): 3.182446,
        (0.95, 9): 2.262157,
        (0.99, 5): 4.032143,
        (0.9, 24): 1.710882,
        (0.95, 119): 1.980100,
    }
    for (confidence, freedom), value in known.items():
        assert statistics.quantile(confidence, freedom) == pytest.approx(value, abs=2e-6)
    values = [4.0, 7.0, 7.0, 10.0]
    found = statistics.interval(values, 0.95)
    assert (found.mean, found.deviation) == (7.0, pytest.approx(math.sqrt(6)))
    assert found.half_width == pytest.approx(3.182446 * math.sqrt(6) / 2, rel=1e-6)
    assert statistics.interval([5.0]).mean == 5.0
    assert math.isnan(statistics.interval([5.0]).half_width)
    assert statistics.interval([5.0, 5.0, 5.0]).relative == 0.0


@pytest.mark.slow
def test_the_table_of_intervals_is_that_of_the_points(shell):
    sweep_file(shell, "seeds = 4\nconfidence = 0.9\nbaselines = true\n[grid]\njobs.halo.ranks = [2, 4]\n")
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    found = odonata.Sweep.load(shell.folder / "out")
    for row in found.intervals("elapsed_ratio", "elapsed_s", "message_latency_p99_s").to_pylist():
        values = [
            one[row["measure"]]
            for one in found.table.to_pylist()
            if (one["point"], one["job"]) == (row["point"], row["job"])
        ]
        assert row["seeds"] == len(values) == 4
        expected = statistics.interval(values, 0.9)
        assert (row["mean"], row["half_width"]) == (expected.mean, expected.half_width)
        assert (row["least"], row["largest"]) == (min(values), max(values))
    with pytest.raises(KeyError, match="elapsed_ratoi"):
        found.intervals("elapsed_ratoi")


@pytest.mark.slow
def test_seeds_are_added_until_intervals_are_narrow(shell):
    stop = '[stop]\nmetric = "elapsed_s"\nhalf_width = 0.05\nmost = 40\njobs = ["halo"]\n'
    sweep_file(shell, f'seeds = 3\n{stop}[grid]\njobs.halo.placement = ["random", "contiguous"]\n')
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    found = odonata.Sweep.load(shell.folder / "out").intervals("elapsed_s").to_pylist()
    random, contiguous = (row for row in found if row["job"] == "halo")
    # A stencil on neighboring nodes, without other traffic, takes the same time with all seeds.
    assert contiguous["seeds"] == 3
    assert 3 < random["seeds"] <= 40
    assert random["half_width"] <= 0.05 * random["mean"] or random["seeds"] == 40
    # With fewer seeds it would not be narrow.
    rows = [
        row for row in points(shell.folder / "out").to_pylist() if row["job"] == "halo" and row["point"] == 0
    ]
    fewer = statistics.interval([row["elapsed_s"] for row in rows][:3])
    assert fewer.relative > 0.05


@pytest.mark.slow
def test_tables_are_kept_on_request(shell):
    sweep_file(shell, 'keep = "tables"\nbaselines = true\n[grid]\njobs.halo.ranks = [2, 4]\n')
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    for row in points(shell.folder / "out").to_pylist():
        results = odonata.load(shell.folder / "out" / row["folder"])
        assert results.run["digest"] == row["digest"]
        assert results.table("links").num_rows
    assert len(list((shell.folder / "out/runs").iterdir())) == len(journal(shell.folder / "out"))


def test_from_python(shell):
    scenario = shell.write(TINY)
    seen = []
    found = odonata.sweep(
        scenario, over={"jobs.halo.ranks": [2, 4]}, seeds=2, baselines=True, processes=2, progress=seen.append
    )
    assert (found.outcome, found.failed, found.path) == ("completed", [], None)
    assert found.table.num_rows == 2 * 2 * 2
    assert found.swept == ["jobs.halo.ranks"]
    assert found.intervals("elapsed_ratio").num_rows == 4
    assert set(found.to_pandas()["jobs.halo.ranks"]) == {2, 4}
    assert seen
    assert seen[-1].done == seen[-1].planned == 4
    scenario = tomllib.loads(TINY)
    again = odonata.sweep(scenario, over={"jobs.halo.ranks": [2, 4]}, seeds=2, baselines=True)
    assert same(again.table, found.table)
    with pytest.raises(InputError, match="did you mean"):
        odonata.sweep(scenario, over={"jobs.halo.rankz": [2, 4]})
    assert shell.files() == ["scenario.toml"]


def test_the_page_and_the_picture(shell):
    shell.write(TINY)
    done = shell(
        "sweep", "scenario.toml", "--over", "jobs.halo.placement=random,contiguous", "--seeds", "3",
        "--baselines", "-o", "out", "--plot", "slowdown.svg",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "tiny" not in done.out.splitlines()[0]
    assert "2 points with 3 seeds each" in done.out
    assert re.search(r"random +halo +[\d.]+ us ±[\d.]+ us +1\.\d+x ±0\.\d+", done.out)
    assert "slowdown, message p99: together / alone." in " ".join(done.out.split())
    assert (shell.folder / "slowdown.svg").read_text().startswith("<?xml")
    again = shell("sweep", "scenario.toml", "--plot", "slowdown.svg", "-o", "out")
    assert again.code == 2


@pytest.mark.slow
def test_keys_that_change_together_are_one_axis_of_pictures_and_pages(shell):
    """Otherwise a page would fix the second key of a `zip` at its first value, which leaves a single
    point.
    """
    import matplotlib.figure as figures

    placements = 'jobs.halo.placement = ["random", "contiguous"]\n'
    sweep_file(shell, f"seeds = 2\n[zip]\n{placements}jobs.noise.workload.uniform.messages = [10, 20]\n")
    done = shell("sweep", "sweep.toml", "-o", "out", "-q", "--plot", "elapsed.pdf", "--measure", "elapsed_s")
    assert (done.code, done.err) == (0, "")
    wrong = shell("sweep", "sweep.toml", "-o", "out", "--plot", "x.png", "--measure", "slowdown")
    assert 'did you mean "elapsed_ratio"?' in wrong.err
    assert (shell.folder / "elapsed.pdf").read_bytes().startswith(b"%PDF")
    found = odonata.Sweep.load(shell.folder / "out")
    for key in found.swept:
        drawn = found.plot("elapsed_s", x=key)
        assert isinstance(drawn, figures.Figure)
        # A series per job, not one per job and value of the other key.
        assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["halo", "noise"]
        (other,) = set(found.swept) - {key}
        assert other in drawn.axes[0].get_xlabel()
    assert shell("report", "out", "-o", "page.html").code == 0
    text = (shell.folder / "page.html").read_text()
    assert "With jobs.halo.placement change: jobs.noise.workload.uniform.messages." in text
    assert "only:jobs.halo.placement" in text
    assert "only:jobs.noise.workload.uniform.messages" not in text


def test_a_sweep_of_examples_is_short(shell):
    """Three jobs, two placements, five seeds, slowdowns with intervals: one file, two commands."""
    file = ROOT / "examples/sweeps/placement.toml"
    assert len(file.read_text().splitlines()) <= 25
    found = spec.load(file)
    assert found.seeds == 5
    done = shell("sweep", str(file), "--set", "jobs.stencil.ranks=100000", "-o", "out")
    # Every point is resolved before any runs.
    assert done.code == 2
    assert "at point 0 of the sweep" in done.err


def test_a_sweep_can_be_reported(shell):
    sweep_file(shell, 'seeds = 2\nbaselines = true\n[grid]\njobs.halo.placement = ["random", "contiguous"]\n')
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    done = shell("report", "out", "-o", "page.html")
    assert done.code == 0, done.err
    text = (shell.folder / "page.html").read_text()
    assert "a sweep over jobs.halo.placement" in text
    roles = {field.name: field.metadata[b"role"] for field in points(shell.folder / "out").schema}
    assert [name for name, role in roles.items() if role == b"axis"] == ["jobs.halo.placement"]
    assert [name for name, role in roles.items() if role == b"replication"] == ["seed"]
    assert [name for name, role in roles.items() if role == b"metric"] == table.measure_names()


def test_the_guide_shows_the_example_and_names_every_key_and_column(shell):
    guide = (ROOT / "docs/sweeps.md").read_text()
    shown = tomllib.loads(re.search(r"```toml\n(.*?)```", guide, re.S)[1])
    assert shown == tomllib.loads((ROOT / "examples/sweeps/placement.toml").read_text())
    named = set(re.findall(r"`\[*([a-z]+)\]*`", guide))
    assert set(spec.KEYS) <= named
    sweep_file(shell, "[grid]\njobs.halo.ranks = [2, 4]\n")
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    known = {column.name for column in table.job_columns()} | {"jobs.halo.ranks"}
    for name in ("points", "intervals"):
        columns = pq.read_schema(shell.folder / f"out/{name}.parquet").names
        assert [column for column in columns if column not in known and f"`{column}`" not in guide] == []
