"""Programs made from traces that Python packages read, kept for later runs.

The core calls `program_of` for a job whose trace has none of its own formats. An entry is a program folder
in the user's cache folder. Its name is a hash over the contents of the trace, the sources of the converters
and the options: a change of any of these makes another entry. Entries appear whole or not at all
(`base.folder`). Beyond `MOST_BYTES`, the entries that were not used for the longest time are removed. A run
keeps the files of its program open.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
from pathlib import Path

from odonata import _core, operations, programs, traces
from odonata.base import foreign, lock
from odonata.base.folder import ResultFolder
from odonata.base.user_cache import user_cache
from odonata.errors import InputError, call, terminal
from odonata.operations import PROGRAM_FILE
from odonata.traces import formats
from odonata.traces.converted import ConvertedFormat, ConvertOptions, write_program
from odonata.traces.reader_process import NotWhole

#: Bytes of all entries.
MOST_BYTES = 16 << 30
#: File of an entry: the unknown and omitted parts of the trace, in sentences.
NOTES = "notes.json"


def program_of(path: Path, incomplete: bool, renew: bool) -> str | None:
    """Returns the program of the trace at `path`, converted now or earlier, as JSON for the core.

    Args:
        path: A trace; None is returned if its format is unknown here too.
        incomplete: Read a damaged trace as far as possible.
        renew: Replace the entry, because it cannot be read.
    """
    try:
        found = formats.at(path)
        if found is None:
            return None
        folder, notes = _entry(found, path, ConvertOptions(incomplete=incomplete), renew=renew)
        return json.dumps({"program": {"folder": os.fspath(folder), "notes": notes}})
    except (InputError, OSError) as error:
        return json.dumps({"refused": _refusal(error)})


def _refusal(error: InputError | OSError) -> dict[str, object]:
    """The parts of an error that the core shows, in the words of the command, as its own errors are."""
    if isinstance(error, OSError) and not isinstance(error, InputError):
        return {"file": error.filename, "message": error.strerror or str(error), "incomplete": False}
    return {
        "file": error.file,
        **{name: terminal(getattr(error, name) or "") or None for name in ("expected", "hint")},
        "message": terminal(error.message),
        "incomplete": isinstance(error, NotWhole),
    }


def _entry(
    format: ConvertedFormat, path: Path, options: ConvertOptions, *, renew: bool
) -> tuple[Path, list[str]]:
    """The entry of a trace, and the notes of its conversion."""
    files = format.inputs(path)
    place = user_cache() / "programs"
    entry = place / _name(format.name, files, options)
    # Of several processes that need the same entry, one makes it.
    held = _making(entry)
    try:
        notes = None if renew else _notes(entry)
        if notes is None:
            notes = _make(entry, format, path, files, options)
            _evict(place, entry)
        os.utime(entry)
        return entry, notes
    finally:
        if held is not None:
            entry.with_suffix(".lock").unlink(missing_ok=True)
            os.close(held)


def _making(entry: Path) -> int | None:
    try:
        return lock.hold(entry.with_suffix(".lock"), wait=True)
    except OSError as error:
        raise InputError(
            f"the program that is made from the trace cannot be kept: {error.strerror}",
            file=str(entry.parent),
            expected="a folder that can be written",
            hint=call("trace convert") + " writes it elsewhere, and the environment variable XDG_CACHE_HOME "
            "names another cache folder",
        ) from None


def _notes(entry: Path) -> list[str] | None:
    """The notes of an entry; None if there is no entry, or it is damaged."""
    try:
        return [str(note) for note in json.loads((entry / NOTES).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return None


def _make(
    entry: Path, format: ConvertedFormat, path: Path, files: list[Path], options: ConvertOptions
) -> list[str]:
    """Converts the trace; returns the notes."""
    shutil.rmtree(entry, ignore_errors=True)
    with ResultFolder(entry, marker=PROGRAM_FILE, kind="program") as folder:
        done = write_program(format, path, folder.path, options, lambda done, ranks, operations: None)
        if _name(format.name, files, options) != entry.name:
            raise InputError("the trace changed while it was converted", file=str(path), expected="no change")
        (folder.path / NOTES).write_text(json.dumps(done.notes), encoding="utf-8")
        folder.publish()
    return done.notes


def _name(format: str, files: list[Path], options: ConvertOptions) -> str:
    """The name of the entry for these files and options."""
    names = [os.path.relpath(file, files[0].parent) for file in files]
    digests = [_digest(os.fspath(file), *_state(file)) for file in files]
    parts = (_core.__version__, _core.SOURCES, _sources(), format, options.incomplete, names, digests)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _state(file: Path) -> tuple[int, ...]:
    """Numbers that differ if a file has changed."""
    foreign.check(file)
    state = file.stat()
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


@functools.lru_cache(maxsize=1 << 16)
def _digest(file: str, *state: int) -> str:
    """The hash of the content of a file that has this state."""
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@functools.cache
def _sources() -> str:
    """The hash of the sources of all converters."""
    found = hashlib.sha256()
    folders = [Path(module.__path__[0]) for module in (traces, programs)]
    for file in [Path(str(operations.__file__)), *(file for folder in folders for file in _python(folder))]:
        found.update(file.read_bytes())
    return found.hexdigest()


def _python(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _evict(place: Path, made: Path) -> None:
    """Removes the entries that were not used for the longest time, but not the one just `made`."""
    entries = []
    for entry in place.iterdir():
        with contextlib.suppress(OSError):
            if not entry.name.startswith(".") and entry.is_dir() and entry != made:
                size = sum(file.stat().st_size for file in entry.iterdir())
                entries.append((entry.stat().st_mtime_ns, size, entry))
    left = MOST_BYTES - sum(file.stat().st_size for file in made.iterdir())
    for _, size, entry in sorted(entries, reverse=True):
        left -= size
        if left < 0:
            shutil.rmtree(entry, ignore_errors=True)
