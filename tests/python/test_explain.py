"""The chain that ends a job: followed backwards from a table of waits, and from a run."""

import io
import json
import math
import os

import launcher
import pyarrow as pa
import pytest
from conftest import ODONATA, SMALL

import odonata
from odonata import Results
from odonata.analysis import explain, explain_page, lost_time
from odonata.answers import ANSWERS
from odonata.base import json_types
from odonata.errors import InputError


def loss(culprit, culprit_class, kind, place, number, name, lost_s):
    link, server = (number, -1) if place == "link" else (-1, number)
    return (culprit, culprit_class, kind, place, link, name, server, lost_s)


def inherited(lost_s):
    return loss("", "", "inherited", "", -1, "", lost_s)


def own(lost_s):
    return loss("milc", "", "inherited", "", -1, "", lost_s)


#: Rank 2 ends at 100 s, 12 s late. It waited for rank 1, which had lost 20 s when it sent; slack has absorbed
#: half of it.
WAITS = [
    (
        (0, 1, "write", 3, 1.0, 9.0, 0, 0),
        [inherited(0.0), loss("dump", "io", "device", "server", 4, "", 8.0)],
    ),
    ((0, 2, "iteration", 0, 9.0, 10.0, 0, 1), [inherited(8.0)]),
    (
        (1, 1, "MPI_Recv", 7, 5.0, 40.0, 0, 2),
        [
            inherited(8.0),
            loss("halo", "mpi", "link", "link", 17, "r3 > r4", 9.0),
            loss("", "", "elsewhere", "", -1, "", 3.0),
        ],
    ),
    ((1, 2, "iteration", 0, 40.0, 41.0, 1, 1), [inherited(20.0)]),
    (
        (2, 1, "MPI_Allreduce", 9, 60.0, 98.0, 1, 2),
        [inherited(10.0), loss("milc", "mpi", "buffer", "link", 5, "r0 > r1", 2.0)],
    ),
    ((2, 2, "end", -1, 98.0, 100.0, 2, 1), [inherited(10.0), own(2.0)]),
    ((0, 3, "end", -1, 10.0, 90.0, 0, 2), [inherited(8.0)]),
    ((1, 3, "end", -1, 41.0, 95.0, 1, 2), [inherited(20.0)]),
]


def results(waits=WAITS, kept=10):
    rows = [("milc", *wait, *of) for wait, losses in waits for of in losses]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(explain.COLUMNS)})
    run = {"outcome": "completed", "scenario": {"run": {"lost_time": True, "lost_time_path": kept}}}
    return Results(run, {"jobs": pa.table({"job": ["milc"]}), "lost_time_path": table})


def test_the_chain_is_followed_backwards_and_slack_takes_the_same_share_of_all():
    (chain,) = explain.of_jobs(results())
    assert (chain.job, chain.rank, chain.lost_s, chain.earlier_s) == ("milc", 2, 12.0, 0.0)
    assert [(wait.rank, wait.wait) for wait in chain.waits] == [
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]
    # 20 s were lost when rank 1 sent, 10 s of them are left: half of each.
    assert [wait.added_s for wait in chain.waits] == [4.0, 0.0, 6.0, 0.0, 2.0, 0.0]
    assert {share.where: share.lost_s for share in chain.shares} == {
        "link r3 > r4": 4.5,
        "storage server 4": 4.0,
        "link r0 > r1": 2.0,
        "other places": 1.5,
    }
    assert sum(share.lost_s for share in chain.shares) == chain.lost_s


def test_what_slack_of_other_ranks_takes_up_is_taken_off_the_whole_chain():
    # Alone, rank 3 would have been last, at 94 s instead of rank 2's 90 s: 6 of the 10 s are lost to others.
    # It has waited for no other rank, so that nothing is lost to itself.
    other = ((3, 1, "end", -1, 0.0, 94.0, 3, 0), [inherited(0.0)])
    (chain,) = explain.of_jobs(results([*WAITS, other]))
    assert (chain.rank, chain.lost_s) == (2, 6.0)
    assert [wait.added_s for wait in chain.waits] == pytest.approx([2.4, 0.0, 3.6, 0.0, 0.0, 0.0])


def test_the_loss_to_the_own_job_is_that_of_the_rank_that_would_be_last_alone():
    # Rank 3 would have been last alone, at 94 s, 5 s of which it has waited for its own job: 91 s is when
    # rank 0 would have been there without waits.
    last_alone = ((3, 1, "end", -1, 0.0, 94.0, 3, 0), [inherited(0.0), own(5.0)])
    without_waits = ((0, 4, "end", -1, 90.0, 91.0, 0, 3), [inherited(0.0)])
    (chain,) = explain.of_jobs(results([*WAITS, last_alone, without_waits]))
    assert (chain.rank, chain.lost_s) == (2, 9.0)
    # 2 s of the 3 s are on the chain, the third is not.
    own_s = sum(share.lost_s for share in chain.shares if share.culprit == "milc")
    assert (own_s, sum(share.lost_s for share in chain.shares)) == pytest.approx((3.0, 9.0))
    assert "1 s to its own traffic (at other places)" in chain.words()[0]


def test_the_sentence_adds_up_and_the_chain_names_victims_and_culprits():
    (chain,) = explain.of_jobs(results())
    assert chain.words() == [
        "milc ended at 100 s with rank 2; it lost 12 s: "
        "4.5 s to halo's messages (waiting for a link, at link r3 > r4), "
        "4 s to dump's I/O (waiting for a device, at storage server 4), "
        "1.5 s to several jobs (at other places), "
        "2 s to its own messages (waiting for buffer space, at link r0 > r1)."
    ]
    lines = chain.chain_words(10)
    assert lines[0] == "9 s: rank 0, in write (call 3); lost 4 s to dump's I/O at storage server 4"
    assert lines[4] == (
        "98 s: rank 2, in MPI_Allreduce (call 9), waited for rank 1; "
        "lost 2 s to its own messages at the buffer behind link r0 > r1"
    )
    assert lines[5] == "100 s: rank 2, at its end"
    # Beyond the limit, the longest waits are kept, in time order, and the last one.
    assert chain.chain_words(2) == [lines[0], lines[2], lines[5], "and 3 more waits, 2 s in all"]


def test_the_losses_are_a_table_with_a_row_per_culprit_and_kind_of_wait():
    page = io.StringIO()
    explain_page.show(explain.of_jobs(results()), 1, page)
    assert page.getvalue().splitlines() == [
        "milc ended at 100 s with rank 2; it lost 12 s:",
        " lost  to                waiting for   most at",
        "4.5 s  halo's messages   a link        link r3 > r4",
        "  4 s  dump's I/O        a device      storage server 4",
        "1.5 s  several jobs      -             other places",
        "  2 s  its own messages  buffer space  link r0 > r1",
        "",
        "The chain of waits that ended it",
        "- 40 s: rank 1, in MPI_Recv (call 7), waited for rank 0; "
        "lost 4.5 s to halo's messages at link r3 > r4, 1.5 s",
        "  to several jobs at other places",
        "- 100 s: rank 2, at its end",
        "- and 4 more waits, 6 s in all",
    ]


def test_waits_at_one_place_for_the_own_traffic_are_one_loss_whatever_they_are_for():
    """Packets wait at a link for the link, and behind packets that a device has delayed."""
    at_link = [loss("milc", "io", kind, "link", 3, "r1 > r2", 2.0) for kind in ("device", "link")]
    end = (
        (0, 1, "end", -1, 0.0, 20.0, 0, 0),
        [*at_link, loss("milc", "io", "link", "link", 4, "r2 > r3", 3.0)],
    )
    (chain,) = explain.of_jobs(results([end]))
    (line,) = chain.chain_words(5)
    assert line.endswith("lost 4 s to its own I/O at link r1 > r2, 3 s to its own I/O at link r2 > r3")
    rows = [(cause.lost_s, cause.to, cause.awaited, cause.most_at) for cause in chain.causes()]
    assert rows == [
        (5.0, "its own I/O", "a link", "link r2 > r3 and 1 more"),
        (2.0, "its own I/O", "a device", "link r1 > r2"),
    ]
    assert "which the device had delayed" in chain.notes()[0]


def test_places_where_hardly_anything_was_lost_are_not_named():
    """Of 10 s 0.05 s, and less than the simulator tells apart, at two links: less than 1%."""

    def lost(link, lost_s):
        return loss("milc", "mpi", "link", "link", link, f"r{link} > r9", lost_s)

    end = ((0, 1, "end", -1, 0.0, 20.0, 0, 0), [lost(1, 9.95), lost(2, 0.05), lost(3, 1e-15)])
    (chain,) = explain.of_jobs(results([end]))
    (line,) = chain.chain_words(5)
    assert "link r1 > r9" in line
    assert not any(part in line for part in ("r2", "r3", "other places", " ns"))


def test_a_rank_an_iteration_and_waits_that_were_dropped():
    (of_rank,) = explain.of_jobs(results(), rank=0)
    assert (of_rank.rank, of_rank.lost_s, of_rank.end_s) == (0, 8.0, 90.0)
    (iteration,) = explain.of_jobs(results(), job="milc", iteration=0)
    assert (iteration.rank, iteration.end_s, iteration.lost_s) == (1, 41.0, 20.0)
    # Without the waits of rank 0, its loss counts as earlier.
    (short,) = explain.of_jobs(results([wait for wait in WAITS if wait[0][0] != 0]))
    assert (short.lost_s, short.earlier_s) == (12.0, 4.0)
    assert sum(share.lost_s for share in short.shares) + short.earlier_s == short.lost_s
    assert "4 s in losses before the recorded waits" in short.words()[0]


def test_an_iteration_counts_from_the_end_of_the_one_before():
    waits = [
        *WAITS,
        (
            (2, 3, "iteration", 1, 99.0, 99.5, 2, 1),
            [inherited(10.0), own(2.0), loss("dump", "io", "space", "server", 1, "", 0.5)],
        ),
    ]
    (second,) = explain.of_jobs(results(waits), iteration=1)
    # Iteration 0 ended at 41 s: earlier losses are not repeated.
    assert [(wait.rank, wait.wait) for wait in second.waits] == [(2, 1), (2, 3)]
    assert (second.lost_s, second.earlier_s) == (12.5, 10.0)
    assert "10 s in losses before this iteration" in second.words()[0]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"job": "nobody"}, "no such job"),
        ({"rank": 9}, "no recorded wait of that rank"),
        ({"iteration": 5}, "no recorded wait of any job at the end of that iteration"),
        ({"job": "milc", "iteration": 5}, "no recorded wait of milc at the end of that iteration"),
    ],
)
def test_what_is_not_there_is_reported(asked, problem):
    with pytest.raises(InputError, match=problem):
        explain.of_jobs(results(), **asked)


def test_a_misspelled_job_gets_the_nearest_name():
    jobs = results().table("jobs")["job"].to_pylist()
    with pytest.raises(InputError) as raised:
        explain.of_jobs(results(), job=jobs[0].upper())
    assert raised.value.hint == f'did you mean "{jobs[0]}"?'


def test_without_waits_it_is_reported_how_to_keep_them():
    with pytest.raises(InputError, match="recorded no waits"):
        explain.of_jobs(results(kept=0))


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    (folder / "scenario.toml").write_text(SMALL, encoding="utf-8")
    settings = ["run.lost_time=true", "run.lost_time_path=1000", 'run.series_interval="10 us"']
    options = [word for setting in settings for word in ("--set", setting)]
    done = launcher.run(
        [*ODONATA, "run", "scenario.toml", "-o", "out", *options],
        cwd=folder,
        env=os.environ | {"COLUMNS": "300"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_the_chain_of_a_run_adds_up_to_what_the_job_lost(together):
    loaded = odonata.load(together / "out")
    lost = {one.job: one for one in lost_time.of_jobs(loaded)}
    chains = loaded.explain()["chains"]
    assert {chain["job"] for chain in chains} <= set(lost)
    explained = 0
    for chain in chains:
        known = lost[chain["job"]]
        # Shares are rounded to picoseconds at every step.
        close = {"rel_tol": 1e-6, "abs_tol": 1e-9}
        assert math.isclose(chain["lost_s"], known.lost_s, **close)
        added = sum(share["lost_s"] for share in chain["shares"]) + chain["earlier_s"]
        assert math.isclose(added, chain["lost_s"], **close)
        by_culprit = {}
        for share in chain["shares"]:
            by_culprit[share["culprit"]] = by_culprit.get(share["culprit"], 0.0) + share["lost_s"]
        if "" not in by_culprit and chain["earlier_s"] == 0:
            for culprit, lost_s in by_culprit.items():
                expected = sum(part.lost_s for part in known.parts if part.culprit == culprit)
                assert math.isclose(lost_s, expected, rel_tol=1e-3, abs_tol=1e-9)
                explained += 1
        ends = [wait["end_s"] for wait in chain["waits"]]
        assert ends == sorted(ends)
    assert explained > 0


def test_the_series_adds_up_to_the_means(together):
    loaded = odonata.load(together / "out")
    sums = {}
    for row in loaded.rows("lost_time_series"):
        name = (row["victim"], row["culprit"], row["culprit_class"], row["kind"])
        sums[name] = sums.get(name, 0.0) + row["mean_lost_s"]
    means = {
        (row["victim"], row["culprit"], row["culprit_class"], row["kind"]): row["mean_lost_s"]
        for row in loaded.rows("lost_time")
    }
    assert any(means.values())
    for name in sums.keys() | means.keys():
        assert math.isclose(sums.get(name, 0.0), means.get(name, 0.0), rel_tol=1e-9, abs_tol=1e-12), name


@pytest.mark.slow
def test_the_command_prints_the_chains(together):
    def explain_command(*options):
        return launcher.run(
            [*ODONATA, "explain", "out", *options], cwd=together, env=os.environ | {"COLUMNS": "1000"}
        )

    answer = json.loads(explain_command("--json").stdout)
    json_types.check(answer, ANSWERS["explain"])
    page = explain_command("--waits", "3").stdout
    for chain in explain.of_jobs(odonata.load(together / "out")):
        assert chain.heading() in page
    for named in (["--job", answer["chains"][0]["job"]], [answer["chains"][0]["job"]]):
        one = json.loads(explain_command("--json", *named).stdout)
        assert one["chains"] == answer["chains"][:1]
    twice = explain_command("a", "--job", "b")
    assert (twice.returncode, "two jobs" in twice.stderr) == (2, True)
    wrong = explain_command("--job", "nobody")
    assert (wrong.returncode, "--job" in wrong.stderr) == (2, True)
