"""Packages of `odonata` import those below them, and modules have no import cycles."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "python/odonata"

#: Members of the largest allowed import cycle.
LARGEST_CIRCLE = 4

#: Packages and public modules, from low to high: each imports itself and those before it.
LAYERS = (
    "_core",
    "errors",
    "base",
    "tool_answers",
    "answers",
    "programs",
    "scenario",
    "analysis",
    "timeline",
    "report",
    "results",
    "running",
    "operations",
    "collective_io",
    "nccl",
    "traces",
    "sweeps",
    "calibration",
    "machines",
    "benchmarks",
    "batch_queue",
    "advice",
    "load_curves",
    "imports",
    "plot",
    "commands",
    "cli",
    "__main__",
)

#: `python -m odonata.timeline.totals` opens a result folder; nothing else in that package does.
UPWARD = {("odonata.timeline.totals", "odonata.results.results")}

Graph = dict[str, set[str]]


def modules(root: Path) -> dict[str, Path]:
    """Every module of a package, by its dotted name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module and of its functions, but not those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from imports(ast.Module([other], []))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        else:
            yield from imports(node)


def import_graph(root: Path) -> Graph:
    """The modules of a package that each of its modules imports."""
    there = modules(root)
    graph: Graph = {name: set() for name in there}
    for name, path in there.items():
        for node in imports(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            else:
                assert node.level == 0, f"{path}:{node.lineno}: a relative import"
                # `from package import name`: a module of the package, or a name in it.
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                wanted = [
                    one if one in there or one == f"{root.name}._core" else str(node.module) for one in full
                ]
            graph[name] |= {one for one in wanted if one.partition(".")[0] == root.name and one != name}
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """The strongly connected components with more than one module, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            place = stack.index(name)
            if len(members := stack[place:]) > 1:
                found.append(sorted(members))
            del stack[place:]

    for name in graph:
        if name not in number:
            visit(name)
    return found


def layer(name: str) -> int:
    """The place of a module's package in `LAYERS`."""
    parts = name.split(".")
    # The package itself imports everything on demand.
    return len(LAYERS) if len(parts) == 1 else LAYERS.index(parts[1])


def test_no_large_circle_of_modules():
    large = [members for members in circles(import_graph(ROOT)) if len(members) > LARGEST_CIRCLE]
    message = "\n".join(
        f"{len(members)} modules import each other: {', '.join(members)}" for members in large
    )
    assert not large, message


def test_packages_import_only_what_is_below_them():
    graph = import_graph(ROOT)
    upward = {(name, other) for name in graph for other in graph[name] if layer(other) > layer(name)}
    assert upward - UPWARD == set()
    assert upward >= UPWARD, "it imports it no longer: shorten UPWARD"


def test_every_package_says_what_it_holds():
    for path in sorted(ROOT.glob("*/__init__.py")):
        lines = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
        assert 3 <= len(lines) <= 20, path


@pytest.mark.parametrize(
    ("files", "members"),
    [
        ({"a": "from p import b", "b": "import p.c", "c": ""}, []),
        ({"a": "from p import b", "b": "def f():\n    from p.a import x"}, [["p.a", "p.b"]]),
        ({"a": "from p.b import x", "b": "if TYPE_CHECKING:\n    from p.a import y"}, []),
        (
            {"a": "import p.b", "b": "try:\n    import p.c\nfinally:\n    pass", "c": "import p.a"},
            [["p.a", "p.b", "p.c"]],
        ),
    ],
)
def test_circles_are_found(tmp_path, files, members):
    (tmp_path / "p").mkdir()
    for name, text in {"__init__": "", **files}.items():
        (tmp_path / "p" / f"{name}.py").write_text(text)
    assert circles(import_graph(tmp_path / "p")) == members
