"""Jobs run traces that Python packages read: they are converted once, and the programs are kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import chakra_writer as chakra
import pytest
from chakra_writer import COLL, COMP, node

import odonata
from odonata.errors import InputError, in_terminal
from odonata.traces import program_cache

MACHINE = "[machine.torus]\ndims = [4, 2]\n[[jobs]]\ntrace = 'NAME'\n"


def ranks(us=100):
    """Two ranks that compute and reduce; the first has a node without a duration, which is left out."""
    reduce = node(2, COLL, "ncclAllReduce", (1,), us=50, comm_type=0, comm_size=1 << 20)
    both = [[node(1, COMP, "layer", us=us), reduce] for _ in range(2)]
    both[0].append(node(3, COMP, "flops", (2,), num_ops=10**9))
    return both


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setattr(program_cache, "user_cache", lambda: folder)
    return folder / "programs"


@pytest.fixture
def trace(tmp_path):
    return chakra.write(tmp_path / "step", ranks())


def scenario(tmp_path, name="step", more=""):
    path = tmp_path / f"{name}.toml"
    path.write_text(MACHINE.replace("NAME", name) + more)
    return path


def digest(path):
    return odonata.run(path).run["digest"]


def test_a_trace_runs_as_the_program_that_is_converted_from_it(cache, trace, tmp_path):
    odonata.trace_convert(trace, tmp_path / "x.program")
    converted = digest(scenario(tmp_path, "x.program"))
    assert digest(scenario(tmp_path)) == converted
    scaled = "compute_scale = 0.5\n"
    assert (
        digest(scenario(tmp_path, more=scaled))
        == digest(scenario(tmp_path, "x.program", scaled))
        != converted
    )
    assert len(list(cache.iterdir())) == 1


def test_a_trace_is_converted_once(cache, trace, tmp_path, monkeypatch):
    first = digest(scenario(tmp_path))

    def twice(*arguments, **options):
        raise AssertionError("it was converted before")

    monkeypatch.setattr(program_cache, "write_program", twice)
    assert digest(scenario(tmp_path)) == first
    # A copy has the same content, and so the same program.
    chakra.write(tmp_path / "copy", ranks())
    assert digest(scenario(tmp_path, "copy")) == first


def test_another_content_or_option_is_another_program(cache, trace, tmp_path):
    first = digest(scenario(tmp_path))
    chakra.write(trace, ranks(us=999))
    assert digest(scenario(tmp_path)) != first
    assert len(list(cache.iterdir())) == 2
    odonata.check(scenario(tmp_path, more="incomplete_trace = true\n"))
    assert len(list(cache.iterdir())) == 3


@pytest.mark.parametrize("file", ["operations.parquet", "program.json", program_cache.NOTES])
def test_a_damaged_program_is_made_again(cache, trace, tmp_path, file):
    first = digest(scenario(tmp_path))
    [entry] = cache.iterdir()
    for content in (b"", b"damaged", None):
        (entry / file).unlink()
        if content is not None:
            (entry / file).write_bytes(content)
        assert digest(scenario(tmp_path)) == first
        assert [one.name for one in cache.iterdir()] == [entry.name]


def test_parts_that_are_left_out_are_warnings(cache, trace, tmp_path):
    for _ in range(2):
        warnings = odonata.check(scenario(tmp_path))["warnings"]
        assert [warning["key"] for warning in warnings] == ["jobs.0.trace"] * len(warnings)
        assert any("num_ops" in warning["message"] for warning in warnings), warnings


def test_faults_are_those_of_the_reader_at_the_key(cache, trace, tmp_path):
    (trace / "job.1.et").write_bytes(b"\xff" * 9)
    with pytest.raises(InputError, match=r"job\.1\.et") as caught:
        odonata.check(scenario(tmp_path))
    assert caught.value.key == "jobs.0.trace"
    assert not cache.exists() or not list(cache.iterdir())
    (tmp_path / "none.xyz").write_text("")
    with pytest.raises(InputError, match="not in a known format") as caught:
        odonata.check(scenario(tmp_path, "none.xyz"))
    for format in ("DUMPI", "Chakra", "OTF2", "Nsight", "Darshan"):
        assert format in caught.value.expected


def test_a_truncated_log_names_the_key_that_reads_it(cache, tmp_path):
    (tmp_path / "a.darshan").write_bytes(b"3.41\0\0\0\0" + (6567223).to_bytes(8, "little") + b"\0" * 99)
    with pytest.raises(InputError, match="the file ends") as caught:
        odonata.check(scenario(tmp_path, "a.darshan"))
    assert caught.value.key == "jobs.0.trace"


def test_the_programs_unused_for_the_longest_time_are_removed(cache, tmp_path, monkeypatch):
    names = []
    for number in range(3):
        chakra.write(tmp_path / f"t{number}", ranks(us=10 + number))
        odonata.check(scenario(tmp_path, f"t{number}"))
        [new] = {one.name for one in cache.iterdir()} - set(names)
        names.append(new)
        os.utime(cache / new, (number, number))
    sizes = [sum(file.stat().st_size for file in (cache / name).iterdir()) for name in names]
    # There is room for the new one and one more; the first was used last.
    os.utime(cache / names[0], (9, 9))
    monkeypatch.setattr(program_cache, "MOST_BYTES", 2 * max(sizes) + 8)
    chakra.write(tmp_path / "t3", ranks(us=13))
    odonata.check(scenario(tmp_path, "t3"))
    left = {one.name for one in cache.iterdir()}
    assert len(left) == 2
    assert names[0] in left
    # A program that alone exceeds the room is kept as long as it is the newest.
    monkeypatch.setattr(program_cache, "MOST_BYTES", 0)
    chakra.write(tmp_path / "t4", ranks(us=14))
    digest(scenario(tmp_path, "t4"))
    assert len(list(cache.iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_named_with_the_way_out(cache, trace, tmp_path):
    cache.parent.write_text("a file")
    with pytest.raises(InputError, match="cannot be kept") as caught:
        odonata.check(scenario(tmp_path))
    assert "odonata.trace_convert" in caught.value.hint
    assert "odonata trace convert" in in_terminal(caught.value).hint


def test_processes_that_need_the_same_program_make_it_once(trace, tmp_path):
    path = scenario(tmp_path)
    told = (
        "import sys, odonata\n"
        "from odonata.traces import program_cache as cache\n"
        "make, made = cache._make, []\n"
        "cache._make = lambda *given: (made.append(1), make(*given))[1]\n"
        "print(odonata.run(sys.argv[1]).run['digest'], len(made))\n"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "shared"), "HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", told, str(path)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)
    ]
    answers = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len({digest for digest, _ in answers}) == 1
    assert sorted(made for _, made in answers) == ["0", "0", "1"]


def test_the_answer_to_the_core_is_data(cache, trace, tmp_path):
    answer = json.loads(program_cache.program_of(trace, False, False))
    assert set(answer) == {"program"}
    assert json.loads((cache / os.path.basename(answer["program"]["folder"]) / "program.json").read_text())
    assert program_cache.program_of(tmp_path, False, False) is None
    refused = json.loads(program_cache.program_of(tmp_path / "none.0.et", False, False))["refused"]
    assert "No such file" in refused["message"]
    assert refused["incomplete"] is False
