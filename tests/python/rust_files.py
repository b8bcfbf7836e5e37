"""Which files of a crate name items of which others, found in their text.

A file depends on the file that defines an item, wherever a module between them exports it again. A module
that only exports an item does not depend on it. Tests (`#[cfg(test)]`) do not count. A method is not an item:
a file that calls one depends on the file that defines its type.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Comments, character literals, raw strings, strings.
TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""",
    re.DOTALL,
)
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
TEST = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]")
MODULE = re.compile(r"\bmod\s+(\w+)\s*;")
KEYWORD = "struct|enum|trait|type|union|fn|const|static|macro_rules!"
ITEM = re.compile(rf"\b(?:{KEYWORD})\s+(?:mut\s+)?([A-Za-z_]\w*)")
PATH = re.compile(r"(?<![\w:.$])[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*")

IMPL = re.compile(r"^\s*(?:unsafe\s+)?impl\b([^;{]*)\{", re.MULTILINE)
BRACE_OR_FN = re.compile(r"[{}]|\bfn\s+\w+")

Name = tuple[str, ...]


@dataclass
class File:
    """A module of a crate that has a file of its own."""

    module: Name
    path: Path
    #: Code without comments, strings, tests and imports.
    body: str
    items: set[str]
    #: Name here, its full path, and whether other modules may take it from here.
    imports: list[tuple[str, Name, bool]] = field(default_factory=list)


def without_tests(code: str) -> str:
    """`code` without the items behind `#[cfg(test)]`."""
    while found := TEST.search(code):
        depth, end = 0, found.end()
        while end < len(code):
            letter = code[end]
            depth += letter in "{(["
            depth -= letter in "})]"
            end += 1
            if depth == 0 and letter in ";}":
                break
        code = code[: found.start()] + code[end:]
    return code


def branches(tree: str) -> Iterator[tuple[Name, str]]:
    """The paths of a `use`, each with the name that it gets."""
    tree = tree.strip()
    if "{" not in tree:
        path, _, name = tree.partition(" as ")
        parts = tuple(part.strip() for part in path.split("::") if part.strip())
        yield parts, name.strip() or parts[-1]
        return
    head, _, rest = tree.partition("{")
    start = tuple(part.strip() for part in head.split("::") if part.strip())
    depth, piece = 0, ""
    for letter in rest[: rest.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            for path, name in branches(piece) if piece.strip() else ():
                whole = (*start, *path)
                if whole[-1] == "self":
                    whole, name = whole[:-1], (whole[-2] if name == "self" else name)
                yield whole, name
            piece = ""
        else:
            piece += letter


def files(source: Path) -> dict[Name, File]:
    """Every file of the crate whose sources are in `source`, from `lib.rs` on."""
    found: dict[Name, File] = {}

    def read(module: Name, path: Path, folder: Path) -> None:
        code = without_tests(TEXT.sub(" ", path.read_text()))
        uses = [(bool(use[1]), use[2]) for use in USE.finditer(code)]
        body = USE.sub("", code)
        this = File(module, path, body, set(ITEM.findall(body)))
        found[module] = this
        for name in MODULE.findall(body):
            below = folder / name
            read(
                (*module, name),
                next(p for p in (below.with_suffix(".rs"), below / "mod.rs") if p.exists()),
                below,
            )
        for public, tree in uses:
            for written, name in branches(tree):
                if (full := absolute(found, module, written)) is not None:
                    this.imports.append((name, full, public))

    read((), source / "lib.rs", source)
    return found


def absolute(known: dict[Name, File], module: Name, path: Name) -> Name | None:
    """`path`, as written in `module`, from the root of the crate; none for another crate."""
    first, rest = path[0], path[1:]
    if first == "crate":
        return rest
    if first == "self":
        return (*module, *rest)
    if first == "super":
        while path and path[0] == "super":
            module, path = module[:-1], path[1:]
        return (*module, *path)
    return (*module, *path) if (*module, first) in known else None


def home(known: dict[Name, File], path: Name, seen: frozenset[Name] = frozenset()) -> Name | None:
    """The module that defines the item at `path`."""
    if path in seen:
        return None
    seen |= {path}
    module: Name = ()
    for place, name in enumerate(path):
        if (*module, name) in known:
            module = (*module, name)
            continue
        this = known[module]
        if name == "*" or name in this.items:
            return module
        for taken, full, _ in this.imports:
            if taken == name:
                return home(known, (*full, *path[place + 1 :]), seen)
        for taken, full, _ in this.imports:
            if taken == "*" and (at := home(known, (*full[:-1], *path[place:]), seen)) is not None:
                return at
        return module if place + 1 == len(path) and place else None
    return module


def graph(source: Path) -> dict[str, set[str]]:
    """Files of a crate, and of each those that define what it names."""
    known = files(source)
    edges: dict[str, set[str]] = {}
    for module, this in known.items():
        wanted: set[Name] = set()
        taken = {name: full for name, full, _ in this.imports}
        for word in PATH.finditer(this.body):
            path = tuple(part.strip() for part in word[0].split("::"))
            if path[0] in taken:
                wanted.add((*taken[path[0]], *path[1:]))
            elif len(path) > 1 and (full := absolute(known, module, path)) is not None:
                wanted.add(full)
        # A trait is imported for its methods.
        wanted |= {full for name, full, public in this.imports if not public}
        homes = set()
        for path in wanted:
            if path[-1:] == ("*",):
                continue
            at = None
            # `Type::method`: the longest beginning that is an item.
            for end in range(len(path), 0, -1):
                if path[:end] in known:
                    break
                if (at := home(known, path[:end])) is not None and (end == len(path) or at != ()):
                    break
            if at is not None:
                homes.add(at)
        edges[str(this.path.relative_to(source))] = {
            str(known[at].path.relative_to(source)) for at in homes if at != module
        }
    return edges


def without_generics(head: str) -> str:
    """The head of an `impl` without what is in angle brackets."""
    depth, kept = 0, ""
    for before, letter in zip(" " + head, head, strict=False):
        depth += letter == "<"
        kept += letter if depth == 0 else ""
        depth -= letter == ">" and before != "-"
    return kept


def methods(source: Path) -> dict[tuple[Name | None, str], int]:
    """The types that the crate implements methods for: the module that defines each (none: another crate),
    its name, and the number of its methods, those of traits included.
    """
    known = files(source)
    found: dict[tuple[Name | None, str], int] = {}
    for module, this in known.items():
        for implementation in IMPL.finditer(this.body):
            target = re.split(r"\bwhere\b", without_generics(implementation[1]))[0].split(" for ")[-1]
            path = tuple(part.strip() for part in re.sub(r"&|'\w+|\bmut\b|\bdyn\b", "", target).split("::"))
            if not path[-1].isidentifier():
                continue
            at: Name | None
            at, name = module, path[-1]
            if len(path) > 1 or path[0] not in this.items:
                taken = {short: full for short, full, _ in this.imports}
                full = (*taken[path[0]], *path[1:]) if path[0] in taken else absolute(known, module, path)
                at, name = (None, name) if full is None else (home(known, full), full[-1])
            depth, count = 1, 0
            for word in BRACE_OR_FN.finditer(this.body, implementation.end()):
                count += depth == 1 and word[0].startswith("fn")
                depth += (word[0] == "{") - (word[0] == "}")
                if depth == 0:
                    break
            found[at, name] = found.get((at, name), 0) + count
    return found
