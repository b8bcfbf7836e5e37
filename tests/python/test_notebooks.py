"""The notebooks of the examples run with the shown output, and an interrupted kernel ends its run."""

import time

import pytest
from conftest import ENDLESS, ROOT

nbformat = pytest.importorskip("nbformat", reason="no nbformat (the extra dev has it)")
nbclient = pytest.importorskip("nbclient", reason="no nbclient (the extra dev has it)")
pytest.importorskip("ipykernel", reason="no ipykernel (the extra dev has it)")

NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))

#: Seconds after which a cell counts as hung.
PATIENCE_S = 300


def kinds(cell):
    """The outputs of a cell, by type."""
    return [kind for output in cell.outputs for kind in output.get("data", {})]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path, tmp_path):
    notebook = nbformat.read(path, 4)
    client = nbclient.NotebookClient(
        notebook, timeout=PATIENCE_S, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    cells = {
        cell.source.strip().splitlines()[-1]: cell for cell in notebook.cells if cell.cell_type == "code"
    }
    for last, cell in cells.items():
        assert cell.outputs, last
        if ".plot" in last or "plt." in last:
            assert "image/png" in kinds(cell), last
        if last in ("scenario", "results", "sweep", "uniform") or last.startswith(
            ("odonata.check", "odonata.desc")
        ):
            assert "text/html" in kinds(cell), last
    # A figure is shown once, and the progress is removed.
    for cell in cells.values():
        assert kinds(cell).count("image/png") <= 1
    assert list(tmp_path.iterdir()) == []


def test_notebooks_are_stored_without_outputs_and_are_valid():
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, 4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None)


@pytest.fixture
def kernel(tmp_path):
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def executed(client, code, on_message=lambda message: None):
    """The messages of running `code`, until it has ended."""
    asked = client.execute(code)
    output = []
    deadline = time.monotonic() + PATIENCE_S
    while True:
        message = client.get_iopub_msg(timeout=max(0.1, deadline - time.monotonic()))
        if message["parent_header"].get("msg_id") != asked:
            continue
        output.append((message["msg_type"], message["content"]))
        on_message(message)
        if output[-1] == ("status", {"execution_state": "idle"}):
            return output


@pytest.mark.slow
def test_a_run_in_a_kernel_shows_its_progress_and_is_interrupted(kernel):
    """The measurements up to then are kept, and the kernel continues."""
    manager, client = kernel
    code = f"import odonata, tomllib\nscenario = tomllib.loads({ENDLESS!r})"
    executed(client, code)
    interrupted = []

    def interrupt(message):
        # The second display of the line of progress.
        if message["msg_type"] == "update_display_data" and not interrupted:
            interrupted.append(True)
            manager.interrupt_kernel()

    output = executed(
        client,
        "try:\n    odonata.run(scenario)\n"
        "except odonata.RunFailed as error:\n    results = error.results\n    raise",
        interrupt,
    )
    shown = [content["data"]["text/html"] for kind, content in output if kind == "display_data"]
    assert len(shown) == 1
    assert "<progress" in shown[0]
    assert "events/s" in shown[0]
    # It is removed when the run has ended.
    last = [content["data"]["text/html"] for kind, content in output if kind == "update_display_data"][-1]
    assert last == ""
    [error] = [content for kind, content in output if kind == "error"]
    assert (error["ename"], error["evalue"].split(":")[0]) == ("RunFailed", "interrupted")
    output = executed(client, "print(results.outcome, results.run['packets'] > 0)")
    assert [content["text"] for kind, content in output if kind == "stream"] == ["interrupted True\n"]
    # Another one, and a sweep.
    output = executed(
        client, "scenario['run']['time_limit'] = '20 us'\nodonata.run(scenario, progress=False)"
    )
    assert any(
        "time-limit" in content["data"]["text/html"] for kind, content in output if kind == "execute_result"
    )
    interrupted.clear()
    output = executed(
        client,
        "scenario['run'].pop('time_limit')\nfound = odonata.sweep(scenario, seeds=2)\nfound.outcome",
        interrupt,
    )
    assert [content["data"]["text/plain"] for kind, content in output if kind == "execute_result"] == [
        "'interrupted'"
    ]
