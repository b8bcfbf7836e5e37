"""The guides to networks, routers and load sweeps agree with the program."""

import json
import re

import matplotlib
import pytest
from conftest import ROOT

import odonata

GUIDES = {
    name: (ROOT / f"docs/{name}.md").read_text()
    for name in ("networks", "machines", "deadlock", "router", "load-sweep")
}


def scenarios(guide):
    """The scenarios of a guide that have a machine, and the text after each."""
    parts = re.split(r"```toml[^\n]*\n(.*?)```", GUIDES[guide], flags=re.DOTALL)
    return [
        (text, behind) for text, behind in zip(parts[1::2], parts[2::2], strict=True) if "[machine" in text
    ]


def write_files(shell):
    """The files that the machines of the guide to networks name."""
    for begin, name in (("# One item per line", "petersen.txt"), ("a,b,index,bandwidth", "map.csv")):
        block = re.search(rf"```text\n({begin}.*?)```", GUIDES["networks"], flags=re.DOTALL)
        shell.write(block[1], name)


@pytest.mark.parametrize("guide", GUIDES)
def test_every_machine_of_a_guide_is_right(shell, guide):
    write_files(shell)
    assert scenarios(guide)
    for text, _ in scenarios(guide):
        shell.write(text)
        done = shell(
            "check" if "[[jobs]]" in text else "describe", "scenario.toml", "--set", "run.time_limit=1 us"
        )
        assert done.code == 0, (text, done.err)


def test_counts_behind_a_machine_are_those_of_describe(shell):
    """Such as "72 nodes, 36 routers, 9 groups; 54 local and 36 global cables; diameter 3, bisection 20."."""
    write_files(shell)
    compared = 0
    for text, behind in scenarios("networks"):
        counts = re.search(
            r"^([\d,]+) nodes.*?(diameter \d+).*?(bisection (?:at most )?[\d,]*\d)", behind, re.M | re.S
        )
        # The list of edges stands between the graph and its counts.
        if counts is None or "```toml" in behind[: counts.start()]:
            continue
        shell.write(text)
        found = json.loads(shell("describe", "scenario.toml", "--json").out)
        cut = found["bisection"]
        expected = (
            f"{found['nodes']:,}",
            f"diameter {found['diameter']['nodes']}",
            f"bisection {'' if cut['defined'] else 'at most '}{cut['cables']:,}",
        )
        assert counts.groups()[:3] == expected, text
        compared += 1
    assert compared == 11


def test_the_histogram_of_the_tutorial_is_one_of_shares(small):
    """Counts in buckets of unequal width are meaningless."""
    matplotlib.use("Agg")
    blocks = (ROOT / "docs/tutorial.md").read_text().split("```")
    block = next(block for block in blocks if block.startswith("python") and 'frame("packets")' in block)
    code = "\n".join(line for line in block.splitlines() if line.startswith(("packets", "axes = ")))
    names = {"full": odonata.load(small)}
    exec(code, names)
    shares = list(names["axes"].get_lines()[0].get_ydata())
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
