"""Result folders appear whole or not at all.

A command writes to a hidden sibling (`partial.py`) and renames it when it is complete. A killed process
leaves at most such a sibling. No command takes it for a result, and the next one that writes there removes
it. A run that must outlive its process has a sibling of another kind (`unfinished.py`).

An existing folder is replaced only on request, only if it is of the same kind or empty, and never if an input
lies in it. A mistyped `-o` therefore costs neither a home directory nor a scenario.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from odonata.base import interrupts
from odonata.base.output_file import sync_folder
from odonata.base.partial import LOCK, Partial, clear, cut, make_folder
from odonata.errors import InputError, check_text, given, is_mistake, option, terminal

if TYPE_CHECKING:
    from odonata.running.checkpoint import Checkpoints, Saved

#: The file that makes a folder a result.
RUN_FILE = "run.json"


class ResultFolder:
    """A folder in the making. Leaving the context without `publish` removes every trace of it.

    Args:
        target: The final path.
        replace: Replace an existing folder of the same kind.
        marker: The file that identifies a folder of this kind; None: never replace one.
        kind: The name of this kind in messages.
        key: The option or argument that names the folder.
        inputs: Files and folders that are read, and must not be replaced.
    """

    #: The snapshots of the run whose results the folder will hold, if there are any.
    checkpoints: Checkpoints | None = None
    #: The snapshot that the run continues from.
    resumes: Saved | None = None

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        marker: str | None = RUN_FILE,
        kind: str = "result",
        key: str = option("out"),
        inputs: Iterable[Path] = (),
    ) -> None:
        check_text(target, key)
        self.target = Path(target)
        if self.target.name in ("", ".."):
            self.target = self.target.resolve()
        self.replace = replace
        #: Remains of killed processes that were removed on opening.
        self.cleared: list[str] = []
        self._marker = marker
        self._kind = kind
        self._key = key
        self._partial: Partial | None = None
        self._writing: Path | None = None
        self._made: list[Path] = []
        self._open = contextlib.ExitStack()
        self._refuse_existing(list(inputs))

    @property
    def path(self) -> Path:
        """The path to write to."""
        if self._writing is None:
            raise RuntimeError("the folder is not open")
        return self._writing

    def __enter__(self) -> Self:
        self._open.enter_context(interrupts.raised())
        parent = self.target.parent
        try:
            for folder in reversed([parent, *parent.parents]):
                try:
                    folder.mkdir()
                except FileExistsError:  # another run may just have made it
                    continue
                self._made.append(folder)
            # Reports problems before the run computes anything: the folder can be inspected only now.
            with contextlib.suppress(FileNotFoundError):
                os.lstat(self.target)
            self.cleared = clear(parent)
            self._writing = self._make()
        except BaseException as error:
            self._discard()
            self._open.close()
            if isinstance(error, OSError) and is_mistake(error):
                raise self._error(
                    f"the {self._kind} folder cannot be created: {error.strerror}",
                    "a folder that can be created and written",
                ) from None
            raise
        return self

    def publish(self) -> Path:
        """Gives the complete folder its name, and returns it.

        If another process took the name during the run, the folder gets the first free `NAME-2`, `NAME-3` ….
        """
        target = self.target
        partial = self.path
        sync_folder(partial)
        if target.exists() and self.replace:
            retired = make_folder(target, "replaced")
            target.rename(retired.path / "old")
            try:
                partial.rename(target)
            except BaseException:
                (retired.path / "old").rename(target)
                retired.remove()
                raise
            retired.remove()
        else:
            number = 2
            while not _rename_to_new(partial, target):
                ending = f"-{number}"
                target = self.target.with_name(cut(self.target.name, len(ending)) + ending)
                number += 1
        (target / LOCK).unlink(missing_ok=True)
        sync_folder(target.parent)
        interrupts.wrote()
        self._writing = None
        if self._partial is not None:
            self._partial.release()
            self._partial = None
        self._made.clear()
        return target

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writing is not None:
            self._rename(error)
        try:
            self._discard()
        finally:
            self._open.close()

    def _rename(self, error: BaseException | None) -> None:
        """Makes an error about a file in the unfinished folder name the final path."""
        here, there = str(self.path), str(self.target)
        if isinstance(error, InputError) and error.file is not None:
            error.file = error.file.replace(here, there)
            error.message = error.message.replace(here, there)
        elif isinstance(error, OSError) and error.filename is not None:
            error.filename = os.fspath(error.filename).replace(here, there)

    def _make(self) -> Path:
        """Makes the folder to write to."""
        self._partial = make_folder(self.target)
        return self._partial.path

    def _discard(self) -> None:
        if self._partial is not None:
            self._partial.remove()
            self._partial = None
        self._writing = None
        for folder in reversed(self._made):
            try:
                folder.rmdir()
            except OSError:  # another process uses it by now
                break
        self._made.clear()

    def _refuse_existing(self, inputs: list[Path]) -> None:
        target = self.target
        try:
            os.lstat(target)
        except FileNotFoundError:
            return
        except OSError as error:
            if not is_mistake(error):
                raise
            raise self._error(
                f"the {self._kind} folder cannot be created: {error.strerror}",
                "a folder that can be created and written",
            ) from None
        if not self.replace:
            hint = "choose another"
            if terminal(self._key) == "--out":
                hint += " with " + option("out", "-o")
            if self._marker is not None and self._replaceable():
                hint += ", or replace it with " + given("force")
            raise self._error(f"the {self._kind} folder exists", "an unused name", hint)
        assert self._marker is not None
        if not self._replaceable():
            raise self._error(
                f"the existing folder is not a {self._kind}, and is not replaced",
                f"a folder that holds {self._marker}, or none",
                "choose another name",
            )
        there = target.resolve()
        for path in inputs:
            if there in (place := path.resolve(), *place.parents):
                raise self._error(
                    f"{path} is an input, and lies in the folder to replace", "a folder without it"
                )

    def _replaceable(self) -> bool:
        """Whether the existing folder is empty or of the same kind; nothing else is replaced."""
        target = self.target
        if self._marker is None or target.is_symlink() or not target.is_dir():
            return False
        try:
            return (target / self._marker).is_file() or not any(target.iterdir())
        except OSError:  # not readable by this user
            return False

    def _error(self, problem: str, expected: str, hint: str | None = None) -> InputError:
        return InputError(problem, key=self._key, value=str(self.target), expected=expected, hint=hint)


def _rename_to_new(folder: Path, target: Path) -> bool:
    """Renames `folder`, unless `target` exists."""
    if os.path.lexists(target):
        return False
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):  # created meanwhile
            return False
        raise
    return True
