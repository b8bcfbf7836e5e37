"""Figures of concepts are as the code draws them, and pages show each of them."""

import importlib.util
import re
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import ROOT

FIGURES = ROOT / "docs/figures"


def drawn():
    """The functions that draw them, by file name."""
    found = importlib.util.spec_from_file_location("concepts", FIGURES / "concepts.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.ALL


@pytest.mark.parametrize("name", sorted(drawn()))
def test_a_figure_is_as_the_code_draws_it(name):
    """If not: `python docs/figures/concepts.py` draws it."""
    assert (FIGURES / name).read_text(encoding="utf-8") == drawn()[name]()


@pytest.mark.parametrize("name", sorted(drawn()))
def test_a_figure_stays_inside_its_frame_and_stands_on_a_page(name):
    root = ElementTree.fromstring(drawn()[name]())
    _, _, width, height = map(float, root.get("viewBox").split())
    assert root.get("aria-label")
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        # A character of 12 px is 6.2 px wide on average.
        length = 6.2 * len("".join(element.itertext()))
        style = element.get("class", "")
        left = float(element.get("x")) - length * (0.5 if "middle" in style else 1 if "end" in style else 0)
        assert left >= 0
        assert left + length <= width - 10
        assert 0 < float(element.get("y")) < height
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "ARCHITECTURE.md"]
    assert any(
        re.search(rf"!\[[^\]]+\]\([./\w-]*{name}\)", page.read_text(encoding="utf-8")) for page in pages
    )


def test_the_latencies_of_the_cut_through_figure_are_those_of_the_formulas():
    """Three links of L / b = 100 ns and d = 30 ns, two routers of 40 ns, a flit of 10 ns."""
    cut_through = 2 * (10 + 30 + 40) + 100 + 30
    store_and_forward = 3 * (100 + 30) + 2 * 40
    shown = re.findall(r"T0 = (\d+) ns", drawn()["cut-through.svg"]())
    assert shown == [str(cut_through), str(store_and_forward)]
