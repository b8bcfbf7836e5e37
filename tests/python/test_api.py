"""The Python package."""

import tomllib

import pyarrow as pa
import pytest
from conftest import SMALL

import odonata


def test_a_scenario_can_be_a_file_or_a_dictionary(shell):
    path = shell.write(SMALL)
    from_file = odonata.run(path)
    from_dictionary = odonata.run(tomllib.loads(SMALL))
    assert from_file.run["digest"] == from_dictionary.run["digest"]
    assert from_file.path is None
    assert shell.files() == ["scenario.toml"]


def test_results_in_memory_and_on_disk_are_the_same(shell):
    path = shell.write(SMALL)
    written = odonata.run(path, shell.folder / "out")
    held = odonata.run(path)
    assert sorted(held.tables) == written.tables
    for name in held.tables:
        assert held.table(name).equals(written.table(name)), name
        assert held.table(name).schema.equals(written.table(name).schema, check_metadata=True)
    loaded = odonata.load(shell.folder / "out")
    assert loaded.run == written.run
    assert isinstance(loaded.table("jobs"), pa.Table)


def test_overrides_are_values_by_dotted_key():
    changes = {"network.routing.algorithm": "minimal", "storage.device.capacity": "2 GB", "seed": 9}
    run = odonata.run(tomllib.loads(SMALL), overrides=changes).run
    assert run["scenario"]["network"]["routing"]["algorithm"] == "minimal"
    assert run["scenario"]["seed"] == 9


def test_progress_is_reported_and_ends_at_the_end():
    seen = []
    run = odonata.run(tomllib.loads(SMALL), progress=seen.append).run
    assert seen[-1].simulated_s == run["simulated_s"]
    assert seen[-1].packet_hops == run["packet_hops"]


def test_a_wrong_scenario_raises_with_all_parts():
    with pytest.raises(odonata.InputError) as caught:
        odonata.run({"machine": {"dragonfly": {"grups": 5}}})
    error = caught.value
    assert error.key == "machine.dragonfly.grups"
    assert "groups" in error.hint
    with pytest.raises(odonata.InputError):
        odonata.check({})


def test_a_failed_run_raises_and_still_has_its_results():
    full = {"storage.device.capacity": "5 MB"}
    with pytest.raises(odonata.RunFailed, match="storage-full") as caught:
        odonata.run(tomllib.loads(SMALL), overrides=full)
    assert caught.value.results.table("jobs").num_rows == 3
    assert odonata.run(tomllib.loads(SMALL), overrides=full, must_succeed=False).failed


def test_check_returns_the_report():
    assert odonata.check(tomllib.loads(SMALL))["machine"]["nodes"] == 40


def test_what_is_not_a_result_is_not_loaded(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"run\.json"):
        odonata.load(tmp_path)
    with pytest.raises(KeyError, match="there are jobs"):
        odonata.Results({"outcome": "completed"}, {"jobs": pa.table({"job": ["a"]})}).table("nodes")


def test_tables_go_to_pandas(small):
    jobs = odonata.load(small).frame("jobs")
    assert list(jobs["job"]) == ["halo", "training", "saver"]


def test_blame_adds_up_to_the_table(small):
    results = odonata.load(small)
    whole = sum(row["waited_s"] for row in results.rows("blame"))
    assert whole > 0
    parts = [
        sum(sum(row.values()) for row in results.blame_matrix(place=place).values())
        for place in ("nic", "terminal", "local", "global", "server")
    ]
    assert sum(parts) == pytest.approx(whole)
    assert list(results.blame_matrix()) == ["halo", "training", "saver"]


@pytest.mark.parametrize("seed", [-1, 2**63, 2**70])
def test_a_seed_that_no_scenario_can_have_is_refused(seed):
    for ask in (odonata.run, odonata.check):
        with pytest.raises(odonata.InputError, match="out of range"):
            ask(tomllib.loads(SMALL), seed=seed)


def test_no_process_to_run_in_is_refused():
    with pytest.raises(odonata.InputError, match="no process"):
        odonata.run(tomllib.loads(SMALL), processes=0)


def test_everything_public_has_an_example():
    for name in odonata.__all__:
        public = getattr(odonata, name)
        if isinstance(public, str):
            continue
        assert ">>>" in public.__doc__ or public is odonata.Progress, name
    for name, member in vars(odonata.Results).items():
        if not name.startswith("_"):
            doc = (member.__func__ if isinstance(member, classmethod) else member).__doc__
            assert ">>>" in doc or name == "load", name
