"""Each study shows a figure, which is what its stored data draw."""

import importlib
import importlib.util
import re

import matplotlib
import pytest
from conftest import ROOT

STUDIES = ROOT / "studies"
READMES = sorted(path.parent.name for path in STUDIES.glob("*/README.md"))

#: Study -> the file that draws its figure, and the command that renews it.
DRAWN = {
    "advice": ("held_out.py", "held_out.py --stored"),
    "all_reduce": ("study.py", "study.py page"),
    "amg": ("routings.py", "routings.py --stored"),
    "batch": ("accuracy.py", "accuracy.py"),
    "fidelity": ("study.py", "study.py page"),
    "htsim": ("study.py", "study.py page"),
    "lost_time": ("lost_time_study/figure.py", "study.py page"),
    "real_machines": ("real_machines_study/figure.py", "study.py page"),
    "mfnetsim": ("mfnetsim_study/times.py", "compare.py --figure"),
}


@pytest.fixture
def module(monkeypatch):
    """Imports the file that draws the figure of a study."""
    monkeypatch.syspath_prepend(STUDIES)

    def load(study):
        folder = STUDIES / study
        monkeypatch.syspath_prepend(folder)
        name = DRAWN[study][0].removesuffix(".py")
        if "/" in name:
            return importlib.import_module(name.replace("/", "."))
        # Several studies have a file of this name.
        spec = importlib.util.spec_from_file_location(f"{study}_{name}", folder / f"{name}.py")
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
        return found

    return load


def readme(study):
    return (STUDIES / study / "README.md").read_text(encoding="utf-8")


def embedded(study):
    """The figures that the page of a study shows."""
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", readme(study))
    return [(STUDIES / study / target).resolve() for target in shown]


@pytest.mark.parametrize("study", READMES)
def test_a_study_shows_a_figure(study):
    shown = embedded(study)
    assert shown
    assert all(path.is_file() for path in shown)


@pytest.mark.parametrize("study", sorted(DRAWN))
def test_a_figure_is_what_its_data_draw(study, module):
    """If not: the command in `DRAWN` draws it."""
    figure = module(study).FIGURE
    assert figure.file in embedded(study)
    stored, drawn = figure.file.read_text(encoding="utf-8"), figure.svg()
    if f"Matplotlib v{matplotlib.__version__}," in stored:
        assert drawn == stored, DRAWN[study][1]
    else:
        # Other versions place things differently, but write the same.
        texts = re.compile(r"<!-- (.*?) -->")
        assert texts.findall(drawn) == texts.findall(stored), DRAWN[study][1]


def test_contrary_data_change_a_figure(module, monkeypatch, tmp_path):
    amg = module("amg")
    contrary = tmp_path / "routings.csv"
    contrary.write_text(amg.DATA.read_text(encoding="utf-8").replace("0.0457", "0.0557"), encoding="utf-8")
    monkeypatch.setattr(amg, "DATA", contrary)
    drawn = amg.FIGURE.svg()
    assert "<!-- 55.7 ms -->" in drawn
    assert drawn != amg.FIGURE.file.read_text(encoding="utf-8")


def test_the_table_of_amg_is_what_its_data_say(module, monkeypatch, tmp_path):
    """If not: `routings.py --stored` prints it."""
    amg = module("amg")
    rows = amg.stored()
    assert "\n".join([amg.HEAD, *map(amg.line, rows)]) in readme("amg")
    monkeypatch.setattr(amg, "DATA", tmp_path / "routings.csv")
    amg.store(rows)
    assert amg.stored() == rows


def test_the_table_of_the_mfnetsim_study_is_what_its_data_say(module):
    found = [one for one in module("mfnetsim").differences() if one.column == "non_compute_ms"]
    assert len(found) == 20
    for one in found:
        if one.run.startswith("rand"):
            times = f"{one.ours_ms:,.2f} | {one.stored_ms:,.2f} | {one.percent:+.2f}%"
            assert f"| `{one.run}` | {one.application} | {times} |" in readme("mfnetsim")
