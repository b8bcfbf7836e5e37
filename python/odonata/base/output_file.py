"""Output files appear whole or not at all, and never destroy an existing file by accident.

Every file goes through `whole_file`: to a hidden sibling (`partial.py`), then to the disk, then under its
name. A file that the user names is an `OutputFile`. It is refused before any work if it exists and replacing
it was not requested, and always if it is an input of the command. `folder.py` applies the same rules to
result folders.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from odonata.base import interrupts
from odonata.base.partial import clear, make_file
from odonata.errors import InputError, check_text, given, is_mistake

#: Keys of a scenario whose values are files or folders.
FILE_KEYS = ("cables", "file", "global_cables", "program", "python", "routes", "trace")

#: Files that are brought to the disk at a time.
_SYNCS = 8


@contextlib.contextmanager
def whole_file(place: Path, *, replace: bool = True, synced: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, which appears at `place`, and on the disk, when the block ends without an error.

    Without `synced`, `sync_files` brings it to the disk. Without `replace`, raises `FileExistsError` if the
    path exists by then. A replaced file hands on its permissions.
    """
    partial = make_file(place)
    try:
        with os.fdopen(partial.lock, "wb", closefd=False) as file:
            yield file
        if replace:
            # The file may not exist, and not every file system has permissions.
            with contextlib.suppress(OSError):
                os.fchmod(partial.lock, stat.S_IMODE(os.stat(place).st_mode))
        if synced:
            _sync(partial.lock)
        _name(partial.path, place, replace=replace)
    except BaseException as error:
        partial.remove()
        if isinstance(error, OSError):
            error.filename = str(place)
        raise
    partial.release()


def sync_files(files: Iterable[Path]) -> None:
    """Brings files to the disk, several at a time: the file system then commits them together."""
    with ThreadPoolExecutor(_SYNCS) as pool:
        for _ in pool.map(_sync_file, files):
            pass


def _sync_file(path: Path) -> None:
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            _sync(file)
        finally:
            os.close(file)
    except OSError as error:
        error.filename = str(path)
        raise


def sync_folder(folder: Path) -> None:
    """Flushes the names in `folder` to the disk, where the system supports that."""
    with contextlib.suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            _sync(file)
        finally:
            os.close(file)


def _sync(file: int) -> None:
    """Flushes an open file to the disk: some file systems report only now that they are full."""
    try:
        os.fsync(file)
    except OSError as error:
        # Not a file on a disk.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


class OutputFile:
    """An output file at `target`, named by the option or argument `key`.

    Raises `InputError` before any work if the path is not allowed. A device or a pipe (`/dev/stdout`) is
    written to directly.
    """

    def __init__(
        self, target: str | os.PathLike[str], *, key: str, replace: bool = False, inputs: Iterable[Path] = ()
    ) -> None:
        check_text(target, key)
        self.target = Path(target)
        self._key = key
        self._replace = replace
        self._stream = False
        self._refuse()
        self.refuse_inputs(inputs)

    def refuse_inputs(self, inputs: Iterable[Path]) -> None:
        """Raises `InputError` if the file is one of `inputs`, or lies in one."""
        for path in inputs:
            if _same(self.target, path):
                raise self._error(
                    "the path is an input, and is not replaced", "a file that the command does not read"
                )

    @property
    def is_stream(self) -> bool:
        """Whether it is a device or a pipe, which cannot be read back."""
        return self._stream

    def write(self, content: bytes | str) -> None:
        """Writes the file, whole or not at all."""
        with self.opened() as file:
            file.write(content.encode() if isinstance(content, str) else content)

    @contextlib.contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """A stream for writing in parts; the file appears when the block ends without an error."""
        try:
            if self._stream:
                with open(self.target, "wb") as file:
                    yield file
                return
            # The target of a link, so that the link stays a link.
            place = Path(os.path.realpath(self.target))
            clear(place.parent)
            with interrupts.raised(), whole_file(place, replace=self._replace) as file:
                yield file
            interrupts.wrote()
            sync_folder(place.parent)
        except OSError as error:
            error.filename = str(self.target)
            if is_mistake(error):
                raise self._error(f"cannot be written: {error.strerror}") from None
            raise

    def _refuse(self) -> None:
        try:
            kind = os.stat(self.target).st_mode
        except FileNotFoundError:
            kind = None
        except OSError as error:
            if is_mistake(error):
                raise self._error(f"cannot be written: {error.strerror}") from None
            raise
        if kind is not None and (stat.S_ISCHR(kind) or stat.S_ISFIFO(kind)):
            self._stream = True
            return
        if kind is not None and not stat.S_ISREG(kind):
            raise self._error("the path is not a file")
        if os.path.lexists(self.target):
            if not self._replace:
                raise self._error("the file exists", "an unused name", "replace it with " + given("force"))
            if kind is not None and not os.access(self.target, os.W_OK):
                raise self._error("the file may not be written")
        folder = Path(os.path.realpath(self.target)).parent
        if not folder.is_dir():
            raise self._error(f"no folder {self.target.parent}", "a file in a folder that exists")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise self._error(f"no file can be made in the folder {self.target.parent}")

    def _error(
        self, problem: str, expected: str = "a file that can be written", hint: str | None = None
    ) -> InputError:
        return InputError(problem, key=self._key, value=str(self.target), expected=expected, hint=hint)


def inputs_of(text: str, path: Path, settings: Iterable[str] = ()) -> list[Path]:
    """The inputs of the scenario `text` from the file at `path`, with `settings` (KEY=VALUE).

    These are the file itself and the values of the keys `FILE_KEYS`.
    """
    try:
        names = set(_names(tomllib.loads(text)))
    except (ValueError, RecursionError):  # the core reports the error
        names = set()
    for setting in settings:
        key, _, value = (part.strip() for part in setting.partition("="))
        key = key.rpartition(".")[2]
        try:
            given = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):  # text without quotation marks
            given = value
        names |= set(_names({key: given}))
    # A function is FILE:FUNCTION.
    names |= {name.rpartition(":")[0] for name in names}
    return [path, *(path.parent / name for name in sorted(names) if name and "\0" not in name)]


def _names(value: Any) -> Iterator[str]:
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in items:
        if isinstance(item, str) and key in FILE_KEYS:
            yield item
        elif isinstance(item, dict | list):
            yield from _names(item)


def _same(target: Path, path: Path) -> bool:
    """Whether `target` is `path`, or a file in the folder `path`, also through links."""
    with contextlib.suppress(OSError):
        there = os.stat(target)
        if os.path.samestat(there, os.stat(path)):
            return True
        if path.is_dir():
            return any(os.path.samestat(there, entry.stat()) for entry in os.scandir(path))
    return False


def _name(partial: Path, place: Path, *, replace: bool) -> None:
    """Gives the file at `partial` its name; a file that was created meanwhile is kept."""
    if not replace:
        try:
            os.link(partial, place)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if os.path.lexists(place):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        else:
            partial.unlink()
            return
    os.replace(partial, place)
