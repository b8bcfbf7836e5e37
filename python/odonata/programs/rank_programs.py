"""Rank programs as generator functions, as the core calls them.

The core pulls the operations of a rank one by one. After a rollback or a resumption it starts the generator
anew. A program must therefore yield the same operations for the same rank and arguments; random numbers need
a seed of their own.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from odonata.base.nearest import did_you_mean, nearest
from odonata.programs import user_code
from odonata.programs.user_code import Interrupted as Interrupted

#: The largest number of a communicator.
LARGEST_COMM = (1 << 23) - 1

RankFunction = Callable[..., Iterable["Operation"]]
Groups = Mapping[int, Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a rank; the functions of `odonata.operations` make them.

    >>> from odonata.operations import compute
    >>> operation = compute(1e-6).on_stream(1, after=[0, 2])
    >>> operation.kind, operation.numbers, operation.stream, operation.after
    ('compute', {'duration_ps': 1000000}, 1, (0, 2))
    """

    #: Its kind, from the column `kind` of a program in files.
    kind: str
    #: Its other columns, by name.
    numbers: dict[str, int] = field(default_factory=dict)
    #: Operations of one stream run in order; those of different streams overlap.
    stream: int = 0
    #: Earlier operations of the rank, at most four, that must complete first: their numbers from 0, or
    #: negative numbers that count back from this operation.
    after: tuple[int, ...] = ()
    #: Sizes of a v-collective, by sender.
    by_giver: list[int] | None = None
    #: Sizes of a v-collective, by receiver.
    by_taker: list[int] | None = None

    def on_stream(self, stream: int, after: Sequence[int] = ()) -> Operation:
        """The same operation on another stream, or after other operations."""
        return replace(self, stream=stream, after=tuple(after))

    def with_lists(
        self, *, by_giver: Sequence[int] | None = None, by_taker: Sequence[int] | None = None
    ) -> Operation:
        """The same operation with sizes."""
        return replace(
            self,
            by_giver=None if by_giver is None else list(by_giver),
            by_taker=None if by_taker is None else list(by_taker),
        )


class ProgramError(Exception):
    """A program that cannot be started; its text is the reason."""


@dataclass(frozen=True)
class RankProgram:
    """A program that is ready to start."""

    function: RankFunction
    ranks: int
    args: dict[str, Any]
    #: Number of each communicator, and its members.
    groups: list[tuple[int, list[int]]]

    def start(self, rank: int) -> Iterator[Operation]:
        """The operations of a rank, from the first."""
        return user_code.call(self._start, rank)

    def _start(self, rank: int) -> Iterator[Operation]:
        operations = self.function(rank, self.ranks, **self.args)
        if not isinstance(operations, Iterable):
            raise TypeError(f"it returned {operations!r:.60}; a program yields its operations")
        return iter(operations)

    #: Takes the next operations of such an iterator.
    take = staticmethod(user_code.take)


def communicators(make: Callable[..., Groups]) -> Callable[[RankFunction], RankFunction]:
    """Decorator that declares the members of a program's communicators.

    `make` is called with the number of ranks and the program's arguments. For each communicator number, it
    returns the groups of ranks that form a communicator of that number; a rank is in at most one of them.

    >>> from odonata.operations import barrier
    >>> @communicators(lambda ranks: {1: [range(0, ranks, 2), range(1, ranks, 2)]})
    ... def program(rank, ranks):
    ...     yield barrier(comm=1)
    """

    def with_groups(function: RankFunction) -> RankFunction:
        function.communicators = make  # type: ignore[attr-defined]
        return function

    return with_groups


_registered: dict[str, RankFunction] = {}


def register(function: RankFunction) -> str:
    """A name by which the core can find `function`.

    The name consists of file and name. A function outside of files gets a name that is valid in this process.
    """
    if not callable(function):
        raise TypeError(f"{function!r} is no generator function")
    name = getattr(function, "__qualname__", "")
    try:
        file = inspect.getsourcefile(function)
    except TypeError:
        file = None
    if name.isidentifier() and file is not None and Path(file).is_file():
        key = f"{Path(file).resolve()}:{name}"
    else:
        key = next((key for key, other in _registered.items() if other is function), "")
        key = key or f"<function {len(_registered)}>:{name.rpartition('.')[2].strip('<>') or 'program'}"
    _registered[key] = function
    return key


def load(path: str, name: str, args: str, ranks: int) -> RankProgram:
    """Loads the program `name` of the file `path`, with `args` in JSON; raises `ProgramError` on failure."""
    function = _registered.get(f"{path}:{name}")
    if function is None:
        if path.startswith("<"):
            raise ProgramError(
                f"the function {name} is known to the process that made the scenario only: "
                "put it at the top of a file"
            )
        module = _module(Path(path))
        function = getattr(module, name, None)
        if function is None:
            known = [key for key, value in vars(module).items() if inspect.isfunction(value)]
            hint = did_you_mean(nearest(name, known))
            raise ProgramError("; ".join(filter(None, (f"{path} has no function {name}", hint))))
    if not callable(function):
        raise ProgramError(f"{name} in {path} is a {type(function).__name__}, not a function")
    given: dict[str, Any] = json.loads(args)
    try:
        inspect.signature(function).bind(0, ranks, **given)
    except TypeError as error:
        raise ProgramError(f"{name}(rank, ranks, **args) of {path} cannot be called: {error}") from None
    return RankProgram(function, ranks, given, user_code.call(_groups, function, ranks, given))


def _module(path: Path) -> ModuleType:
    """Imports the file as a module; always anew, since it may have changed."""
    spec = importlib.util.spec_from_file_location(f"odonata_rank_program_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ProgramError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    # Files beside it can be imported, as in a script.
    sys.path.insert(0, folder)
    # Dataclasses and other code look up their module.
    sys.modules[module.__name__] = module
    try:
        user_code.call(spec.loader.exec_module, module)
    finally:
        sys.path.remove(folder)
    return module


def _groups(function: RankFunction, ranks: int, args: dict[str, Any]) -> list[tuple[int, list[int]]]:
    make = getattr(function, "communicators", None)
    if make is None:
        return []
    found: list[tuple[int, list[int]]] = []
    for comm, groups in make(ranks, **args).items():
        if not 1 <= comm <= LARGEST_COMM:
            raise ProgramError(f"communicator {comm}: expected 1 to {LARGEST_COMM}; 0 is the world")
        seen: set[int] = set()
        for group in groups:
            members = [int(rank) for rank in group]
            outside = next((rank for rank in members if not 0 <= rank < ranks), None)
            if outside is not None:
                raise ProgramError(f"communicator {comm} has rank {outside}: expected 0 to {ranks - 1}")
            if len(seen) + len(members) != len(seen.union(members)):
                raise ProgramError(f"communicator {comm} has a rank twice")
            seen.update(members)
            if members:
                found.append((comm, members))
    return found


def explain(error: BaseException) -> str:
    """An exception in words: the message, then the call chain, the innermost call last."""
    what = "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename not in (__file__, user_code.__file__)]
    where = "".join(traceback.format_list(own)).rstrip()
    return f"{what}\n{where}" if where else what
