"""Files of a Rust crate depend on few of those that depend on them, and its types have few methods."""

import re
from pathlib import Path

import pytest
import rust_files
from test_packages import circles

CRATES = Path(__file__).parents[2] / "crates"

#: Members of the largest allowed circle of files.
LARGEST_CIRCLE = 8


def crates() -> list[Path]:
    return sorted(path.parents[1] for path in CRATES.glob("*/*/src/lib.rs"))


@pytest.mark.parametrize("crate", crates(), ids=lambda crate: crate.name)
def test_no_large_circle_of_files(crate):
    graph = rust_files.graph(crate / "src")
    large = [circle for circle in circles(graph) if len(circle) > LARGEST_CIRCLE]
    edges = [f"{one}: {', '.join(sorted(graph[one] & set(circle)))}" for circle in large for one in circle]
    assert not large, "\n".join(edges)


#: Methods of the largest allowed type.
MOST_METHODS = 60


@pytest.mark.parametrize("crate", crates(), ids=lambda crate: crate.name)
def test_no_type_has_too_many_methods(crate):
    counted = rust_files.methods(crate / "src")
    assert counted
    assert not {name: count for name, count in counted.items() if count > MOST_METHODS}


#: Files of the longest allowed walk.
LONGEST_WALK = 15


def walks() -> list[list[tuple[Path, str]]]:
    """The lists of files and functions in the section "Two walks" of ARCHITECTURE.md."""
    text = (
        (CRATES.parent / "ARCHITECTURE.md").read_text().partition("\n## Two walks\n")[2].partition("\n## ")[0]
    )
    found: list[list[tuple[Path, str]]] = [[], []]
    for line in text.split("```")[1].splitlines():
        for walk, step in zip(found, batched(line.split(), 3), strict=False):
            if len(step) == 3 and step[1].endswith(".rs"):
                (crate,) = CRATES.glob(f"*/odonata-{step[0]}/src")
                walk.append((crate / step[1], step[2]))
    return found


def batched(words: list[str], size: int) -> list[list[str]]:
    return [words[at : at + size] for at in range(0, len(words), size)]


@pytest.mark.parametrize("walk", walks(), ids=["message", "write"])
def test_walks_are_short_and_each_step_is_called_by_an_earlier_one(walk):
    assert 10 <= len(walk) <= LONGEST_WALK
    assert len({path for path, _ in walk}) == len(walk)
    before = ""
    for path, function in walk:
        code = rust_files.TEXT.sub(" ", path.read_text())
        assert re.search(rf"\bfn {function}\b", code), (path, function)
        called = re.search(rf"\.{function}(?:::<[^()]*>)?\(", before)
        # Of a machine, the engine calls `handle`, with the event that the step before has sent.
        assert not before or called or path.name == "machine.rs", (path, function)
        before += code


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # A module that is only declared, an item, a path without an import.
        ({"lib": "mod a; mod b;", "a": "use crate::b::B; struct A(B);", "b": "pub struct B;"}, {"a": {"b"}}),
        ({"lib": "mod a; mod b;", "a": "fn f() { crate::b::g() }", "b": "pub fn g() {}"}, {"a": {"b"}}),
        # The file that defines an item, behind any number of exports; a name given by `as`; a glob.
        (
            {"lib": "mod a; mod b;", "a": "use crate::b::C as D; type A = D;", "b": "mod c; pub use c::*;"}
            | {"b/c": "pub struct C;"},
            {"a": {"b/c"}},
        ),
        # A method, comments, strings and tests do not count.
        (
            {"lib": "mod a; mod b;", "b": "pub struct B;"}
            | {"a": '// crate::b::B\nconst A: &str = "crate::b::B";\n#[cfg(test)]\nfn f(_: crate::b::B) {}'},
            {},
        ),
        # Nested imports, and a module imported as such.
        (
            {"lib": "mod a; mod b; mod c;", "a": "use crate::{b, c::{self, C}}; fn f() -> C { b::g() }"}
            | {"b": "pub fn g() {}", "c": "pub struct C;"},
            {"a": {"b", "c"}},
        ),
        # A parent's item, and an associated constant of it.
        (
            {"lib": "mod a;", "a": "mod b; enum A { X }", "a/b": "use super::A; const B: A = A::X;"},
            {"a/b": {"a"}},
        ),
    ],
)
def test_dependencies_are_found(tmp_path, files, expected):
    for name, text in files.items():
        path = tmp_path / f"{name}.rs"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    graph = rust_files.graph(tmp_path)
    found = {
        name.removesuffix(".rs"): {one.removesuffix(".rs") for one in to} for name, to in graph.items() if to
    }
    assert found == expected


def test_methods_are_counted(tmp_path):
    files = {
        "lib": "mod a; mod b; pub struct A; impl A { fn f() { fn inner() {} } fn g() {} } enum A2 {}",
        # Of the same name, and a type of the parent in another file.
        "a": "use crate::A as B; struct A<T>(T); impl<T: Fn() -> u8> A<T> { fn f() {} } impl B { fn h() {} }",
        # Methods of a trait, of a type of another crate, of tests.
        "b": "impl Clone for crate::A where A2: Copy { fn clone() {} } impl Drop for Box<u8> { fn f() {} }\n"
        "#[cfg(test)]\nimpl crate::A { fn t() {} }",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.rs").write_text(text.replace("} impl", "}\nimpl").replace("; impl", ";\nimpl"))
    assert rust_files.methods(tmp_path) == {((), "A"): 4, (("a",), "A"): 1, (None, "Box"): 1}
