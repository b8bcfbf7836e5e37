"""`odonata sweep`: files and arguments in error."""

from __future__ import annotations

import pytest
from sweep_cases import TINY, sweep_file


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--over", "jobs.hallo.ranks=2,4"), 'did you mean "halo"'),
        (("--over", "jobs.halo.rankz=2,4"), 'did you mean "ranks"'),
        (("--over", "jobs.halo.ranks=2,400"), "at point 1 of the sweep: jobs.halo.ranks = 400"),
        (("--over", "jobs.halo.ranks"), "KEY=A,B,C"),
        (("--over", "jobs.halo.ranks=2,2"), "a repeated value"),
        (("--over", "jobs.halo.ranks=2", "--over", "jobs.halo.ranks=4"), "a repeated key"),
        (("--seeds", "many"), "a number of seeds"),
        (("--reuse", "nothing"), "not a sweep"),
        (("--reuse", "a" * 300), "not a sweep"),
        pytest.param(("--dask", "tcp://127.0.0.1:9"), "no Dask scheduler", marks=pytest.mark.slow),
        (("--slurm-time", "1:00:00"), "--slurm PARTITION"),
    ],
)
def test_what_is_wrong_is_reported_and_nothing_is_run(shell, arguments, text):
    if arguments[0] == "--dask":
        pytest.importorskip("distributed")
    shell.write(TINY)
    done = shell("sweep", "scenario.toml", *arguments, "-o", "out")
    assert (done.code, done.out) == (2, "")
    assert text in done.err
    assert shell.files() == ["scenario.toml"]


def test_an_option_stands_where_else_a_file_does(shell):
    shell.write(TINY)
    for text, key in (("jobs.halo.rankz=2,4", "jobs.halo.rankz"), ("jobs.halo.ranks=2,2", "jobs.halo.ranks")):
        done = shell("sweep", "scenario.toml", "--over", text, "-o", "out")
        assert done.code == 2
        lines = [line.split() for line in done.err.splitlines()]
        assert ["-->", "--over", text] in lines
        assert ["key", key] in lines
    assert "  --> --over foo\n" in shell("sweep", "scenario.toml", "--over", "foo", "-o", "out").err


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("sedes = 5\n", 2, 'did you mean "seeds"'),
        ("seeds = 0\n", 2, "1 to 10000"),
        ("[grid]\njobs.halo.ranks = 4\n", 3, "a list such as"),
        ("[grid]\njobs.halo.rank = [4]\n", 3, 'did you mean "ranks"'),
        ("[zip]\njobs.halo.ranks = [2, 4]\njobs.noise.ranks = [1]\n", 4, "different lengths"),
        ("[[points]]\nseed = 1\n[[points]]\njobs.halo.ranks = 99\n", 5, "at most 12"),
        (
            "[sample]\ncount = 3\n[sample.over]\njobs.halo.ranks = { low = 4, high = 2 }\n",
            5,
            "an empty range",
        ),
        ('[sample]\nmethod = "sobel"\ncount = 3\n[sample.over]\nseed = [1, 2]\n', 3, 'did you mean "sobol"'),
        ('baselines = true\n[stop]\nmetric = "elapsed_ration"\n', 4, 'did you mean "elapsed_ratio"'),
        ('baselines = false\n[stop]\nmetric = "elapsed_ratio"\n', 4, "no baselines"),
        ("[grid\n", 2, "not TOML"),
    ],
)
def test_a_wrong_file_is_reported_with_its_line(shell, text, line, message):
    sweep_file(shell, text)
    done = shell("sweep", "sweep.toml", "-o", "out")
    assert (done.code, done.out) == (2, "")
    assert f"sweep.toml:{line}" in done.err
    assert message in done.err
    assert shell.files() == ["scenario.toml", "sweep.toml"]


def test_a_folder_of_something_else_is_not_touched(shell):
    shell.write(TINY)
    shell.write("mine", "thesis.txt")
    done = shell("sweep", "scenario.toml", "-o", ".")
    assert done.code == 2
    assert "not a sweep" in done.err
    assert shell.files() == ["scenario.toml", "thesis.txt"]
