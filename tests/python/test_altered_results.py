"""Changes in a result or an unfinished run are named, with the file; no command ends in a traceback."""

import contextlib
import copy
import io
import json
import random
import shutil
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import SMALL, Shell, StartedShell
from launcher import PATIENCE_S
from long_runs import LONG, await_snapshot, newest_snapshot, place
from pydantic import TypeAdapter, ValidationError
from test_resume import start

import odonata
from odonata import InputError
from odonata.analysis import comparison, comparison_page, run_record, summary, summary_page
from odonata.base import json_types

#: The commands that read results.
READING = (["summary", "altered"], ["compare", "out", "altered"], ["compare", "altered", "out"])

#: Possible new values.
OTHERS = (None, True, -1.5, 7, 10**400, "x", "\ud800", [], {}, [None], {"x": {}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the result `out`, with baselines, and a copy of it, `altered`."""
    shell = StartedShell(tmp_path_factory.mktemp("altered"))
    shell.write(SMALL)
    done = shell("run", "scenario.toml", "-o", "out", "-q", "--baselines")
    assert (done.code, done.err) == (0, "")
    shutil.copytree(shell.folder / "out", shell.folder / "altered")
    return shell.folder


@pytest.fixture
def commands(server, folder):
    """Any command in that folder."""
    return Shell(folder, server)


@pytest.fixture
def altered(folder):
    """The copy, which is restored after the test."""
    yield folder / "altered"
    shutil.rmtree(folder / "altered")
    shutil.copytree(folder / "out", folder / "altered")


def keys(value, before=()):
    """The path of every key and item below `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*before, key)
        yield from keys(item, (*before, key))


def deleted(content, way):
    content = copy.deepcopy(content)
    inner = content
    for key in way[:-1]:
        inner = inner[key]
    del inner[way[-1]]
    return content


def replaced(content, way, value):
    content = copy.deepcopy(content)
    inner = content
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    return content


def of_another_type(content, way):
    """Values of other types for the one at `way`."""
    for key in way:
        content = content[key]
    same = (int, float) if type(content) in (int, float) else (type(content),)
    return [other for other in OTHERS if type(other) not in same or other == 10**400]


def assert_named(done, file, *, key=None):
    """Checks that a command has reported an error in `file`, with the exit code for invalid input."""
    assert done.code in (0, 2), done
    assert "Traceback" not in done.err, done.err
    assert "itself failed" not in done.err, done.err
    assert "nothing was written" not in done.err
    if done.code == 2:
        assert done.out == ""
        assert f"--> {file}" in done.err, done.err
    if key is not None:
        assert done.code == 2, key
        assert f"key       {key}\n" in done.err, (key, done.err)


def is_declared(way):
    """Whether run.json is invalid without the value at `way`."""
    if json_types.part(json_types.schema_of(run_record.Run), way) is None:
        return False
    return not isinstance(way[-1], int) and "JOB" not in way


def is_free(way):
    """Whether the key is free: the name of a job in `baselines`."""
    return len(way) == 2 and way[0] == "baselines"


def test_the_quick_check_and_pydantic_accept_the_same(folder):
    """`matches` decides without pydantic, which reads the same declarations."""
    content = json.loads((folder / "out/run.json").read_text())
    adapter = TypeAdapter(run_record.Run)
    accepted = 0
    for way in keys(content):
        changed = [deleted(content, way), *(replaced(content, way, other) for other in OTHERS)]
        for one in changed:
            try:
                adapter.validate_python(one, strict=True)
                is_right = True
            except ValidationError:
                is_right = False
            assert json_types.matches(one, run_record.Run) == is_right, way
            accepted += is_right
    assert accepted


def show(folder, content, name="run.json"):
    (folder / name).write_text(json.dumps(content))


def error_of(folder):
    """The error about a result, from the functions that `summary` and `compare` call; or None."""
    try:
        whole, results = odonata.load(folder.parent / "out"), odonata.load(folder)
        with io.StringIO() as page:
            summary_page.show(summary.collect(results), page)
            for pair in ((whole, results), (results, whole)):
                comparison_page.show(comparison.collect(*pair, 0.0), 0.0, page)
    except InputError as error:
        return error
    return None


def dotted(way):
    return ".".join(map(str, way))


@pytest.mark.slow
def test_what_is_missing_in_run_json_or_of_another_type_is_named(altered, commands):
    run = json.loads((altered / "run.json").read_text())
    ways = [way for way in keys(run) if is_declared(way)]
    assert len(ways) == 67
    for number, way in enumerate(ways):
        show(altered, deleted(run, way))
        key = None if is_free(way) else dotted(way)
        error = error_of(altered)
        assert (error and error.key) == key
        assert error is None or error.file == str(altered / "run.json")
        if number % 7 == 0:
            for arguments in READING:
                assert_named(commands(*arguments), "altered/run.json", key=key)
        for value in of_another_type(run, way):
            show(altered, replaced(run, way, value))
            error = error_of(altered)
            assert error is None or error.file == str(altered / "run.json")


@pytest.mark.slow
def test_any_key_of_run_json_may_be_deleted_or_of_another_type(altered, commands):
    run = json.loads((altered / "run.json").read_text())
    ways = list(keys(run))
    assert len(ways) > 200
    for number, way in enumerate(ways):
        others = random.Random(dotted(way)).sample(of_another_type(run, way), 3)
        for content in [deleted(run, way), *(replaced(run, way, value) for value in others)]:
            show(altered, content)
            error = error_of(altered)
            assert error is None or error.file == str(altered / "run.json")
        if number % 4 == 0:
            for arguments in READING:
                assert_named(commands(*arguments), "altered/run.json")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"outcome": ' + b"9" * 5_000 + b"}", b"NaN"],
)
def test_what_is_no_record_of_a_run_is_named(altered, commands, content):
    (altered / "run.json").write_bytes(content)
    for arguments in READING:
        done = commands(*arguments)
        assert_named(done, "altered/run.json")
        assert done.code == 2
    with pytest.raises(InputError, match=r"run\.json"):
        odonata.load(altered)


def test_the_command_as_a_user_calls_it_says_the_same(altered):
    (altered / "run.json").write_text('{"outcome": "completed"}')
    done = StartedShell(altered.parent)("summary", "altered")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "error: the result is damaged: the key is missing",
        "  --> altered/run.json",
        "  key       detail",
        "  expected  a text, or null",
    ]


def test_a_baseline_is_looked_for_in_the_folder_only(altered):
    run = json.loads((altered / "run.json").read_text())
    for elsewhere in ("../out/baselines/halo", "/etc", ""):
        show(altered, replaced(run, ("baselines", "halo", "folder"), elsewhere))
        with pytest.raises(InputError) as caught:
            odonata.load(altered)
        assert caught.value.key == "baselines.halo.folder"


TABLES = ("jobs", "links", "servers", "io", "blame", "slowdown", "messages")


@pytest.mark.parametrize("most", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_a_table_that_is_missing_or_no_parquet_is_named(altered, commands, most):
    for name in TABLES:
        file = altered / f"{name}.parquet"
        whole = file.read_bytes()
        contents = (None, b"", b"PAR1", b"hello, world", whole[: len(whole) // 2], whole[:-4])
        for content in random.Random(name).sample(contents, most):
            file.unlink(missing_ok=True)
            if content is not None:
                file.write_bytes(content)
                with pytest.raises(InputError, match=rf"{name}\.parquet"):
                    odonata.load(altered).table(name)
            error = error_of(altered)
            # The summary does not show `messages`.
            assert (error and error.file) == (None if name == "messages" else str(file))
        done = commands("summary", "altered")
        assert_named(done, f"altered/{name}.parquet")
        file.write_bytes(whole)


@pytest.mark.parametrize("most", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_a_column_that_is_missing_or_of_another_type_is_named(altered, most):
    named = tried = 0
    for name in TABLES:
        file = altered / f"{name}.parquet"
        table = pq.read_table(file)
        columns = range(table.num_columns)
        for number in random.Random(name).sample(columns, min(most, len(columns))):
            field = table.schema.field(number)
            other = pa.array([["x"]] * table.num_rows, pa.list_(pa.string()))
            empty = pa.nulls(table.num_rows, field.type)
            texts = pc.cast(table.column(number), pa.string()) if number % 2 else other
            for changed in (
                table.remove_column(number),
                table.set_column(number, field.name, texts if field.type != pa.string() else other),
                table.set_column(number, field.name, empty),
            ):
                pq.write_table(changed, file)
                error = error_of(altered)
                assert error is None or (error.file, error.key) == (str(file), field.name)
                tried += 1
                named += error is not None
        pq.write_table(table, file)
    # The others are columns that the summary does not read.
    assert named > tried / 4


def test_numbers_and_texts_of_other_sizes_are_read_all_the_same(altered):
    """Programs that copy a table may write such types."""
    before = odonata.load(altered).table("jobs")
    wider = pa.schema(
        pa.field(
            field.name, {"string": pa.large_string(), "uint32": pa.int64()}.get(str(field.type), field.type)
        )
        for field in before.schema
    )
    pq.write_table(before.cast(wider), altered / "jobs.parquet")
    after = odonata.load(altered).table("jobs")
    assert (after.schema.types, after.to_pydict()) == (before.schema.types, before.to_pydict())
    assert odonata.compare(altered, altered.parent / "out")["jobs"] == []


@pytest.mark.slow
def test_altered_bytes_of_a_table_are_noticed(altered, commands):
    """Pages have checksums; other changed bytes are harmless, or refused with the name of the file."""
    lot = random.Random(5)
    noticed = 0
    for turn in range(60):
        name = lot.choice(TABLES)
        file = altered / f"{name}.parquet"
        whole = file.read_bytes()
        content = bytearray(whole)
        for _ in range(lot.choice((1, 1, 8))):
            content[lot.randrange(len(content))] ^= 1 << lot.randrange(8)
        file.write_bytes(content)
        error = error_of(altered)
        assert error is None or error.file == str(file)
        noticed += error is not None
        if turn % 20 == 0:
            assert_named(commands("summary", "altered"), f"altered/{name}.parquet")
        file.write_bytes(whole)
    assert noticed >= 20


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory):
    """A folder with a scenario whose run was killed after a snapshot, and a copy of its files."""
    shell = StartedShell(tmp_path_factory.mktemp("unfinished"))
    shell.write(LONG)
    with start(shell, "--baselines") as process:
        await_snapshot(shell, process)
        halo = place(shell) / "results/baselines/halo/run.json"
        while not halo.exists():
            assert process.poll() is None
        process.kill()
    copy_when_still(place(shell), shell.folder / "copy")
    return shell


def copy_when_still(folder, target):
    """Copies a folder once baseline processes, which notice the end of their run late, have ended."""
    until = time.monotonic() + PATIENCE_S
    while True:
        with contextlib.suppress(shutil.Error, FileNotFoundError):
            before = sorted(folder.rglob("*"))
            shutil.copytree(folder, target)
            if len(before) == len(list(target.rglob("*"))) and before == sorted(folder.rglob("*")):
                return
        assert time.monotonic() < until
        shutil.rmtree(target, ignore_errors=True)
        time.sleep(0.05)


@pytest.fixture
def killed(unfinished):
    """The same, as when it was killed."""
    shutil.rmtree(place(unfinished), ignore_errors=True)
    shutil.rmtree(unfinished.folder / "out", ignore_errors=True)
    shutil.copytree(unfinished.folder / "copy", place(unfinished))
    return unfinished


@pytest.mark.slow
def test_whatever_progress_json_has_become_the_run_can_be_resumed(killed, server):
    file = newest_snapshot(killed) / "progress.json"
    progress = json.loads(file.read_text())
    assert set(progress) == {"simulated_s", "fraction"}
    contents = [b"", b"{}", b"[]", b"\xff", b"null", b"[" * 100_000]
    for key in progress:
        contents.append(json.dumps(deleted(progress, (key,))).encode())
        contents += [json.dumps(replaced(progress, (key,), value)).encode() for value in OTHERS]
    for content in contents:
        file.write_bytes(content)
        refused = Shell(killed.folder, server)("run", "scenario.toml", "-o", "out")
        assert refused.code == 2, refused
        assert "an unfinished run has this name" in refused.err
        assert "it is saved at" in refused.err
    file.write_bytes(b"{}")
    done = killed("run", "scenario.toml", "-o", "out", "--baselines", "--resume")
    assert done.code == 0, done
    assert done.err.startswith("resumes: saved at 0 s")


@pytest.mark.slow
def test_whatever_about_json_has_become_another_scenario_is_refused(killed, server):
    file = place(killed) / "about.json"
    about = json.loads(file.read_text())
    contents = [b"", b"{}", b"[]", b"\xff"]
    for way in (("version",), ("scenario",), ("scenario", "jobs"), ("scenario", "jobs", 0, "name")):
        contents.append(json.dumps(deleted(about, way)).encode())
        contents += [json.dumps(replaced(about, way, value)).encode() for value in OTHERS]
    for content in contents:
        file.write_bytes(content)
        refused = Shell(killed.folder, server)(
            "run", "scenario.toml", "-o", "out", "--baselines", "--resume", "--seed", "4"
        )
        assert refused.code == 2, refused
        assert "the scenario differs from the saved one" in refused.err


@pytest.mark.slow
def test_a_complete_baseline_that_was_altered_is_run_again(killed):
    file = place(killed) / "results/baselines/halo/run.json"
    digest = json.loads(file.read_text())["digest"]
    file.write_text("{}")
    done = killed("run", "scenario.toml", "-o", "out", "--baselines", "--resume", "-q")
    assert (done.code, done.err) == (0, "")
    assert odonata.load(killed.folder / "out").baselines["halo"].run["digest"] == digest
