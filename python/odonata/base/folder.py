"""Folders that commands write appear whole or not at all.

Everything is written to a hidden sibling (`partial.py`), which is renamed when it is complete. A process that
is killed leaves at most such a sibling behind, which nothing takes for a result, and which the next one that
writes there removes (a run that is to outlive its process has another, see `unfinished.py`). An existing
folder is replaced only when told so, only if it is of the same kind (or empty), and never if something that
is read lies in it: a mistyped `-o` must not cost anybody their home directory, nor their scenario.
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
        target: What it will be called.
        replace: Replace one of its kind that is there.
        marker: The file by which a folder of its kind is known; None: it is never replaced.
        kind: What that is called.
        key: The option or argument that has named it.
        inputs: Files and folders that are read, and must not be replaced.
    """

    #: The snapshots of the run whose results it will hold, if there are any.
    checkpoints: Checkpoints | None = None
    #: The one that the run goes on from.
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
        #: What killed processes had left beside it, and was removed when it was opened.
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
        """Where to write."""
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
                except FileExistsError:  # perhaps made by another run at this very moment
                    continue
                self._made.append(folder)
            # Before anything is computed for it, for only now is there a folder to look into.
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

        If somebody else took the name while the run went on, the first free `NAME-2`, `NAME-3` … is used.
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
        """Lets an error about a file in the making call it by the name that it was to have."""
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
            except OSError:  # somebody else uses it by now
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
        """Whether what is there is a folder of the same kind, or an empty one: nothing else is replaced."""
        target = self.target
        if self._marker is None or target.is_symlink() or not target.is_dir():
            return False
        try:
            return (target / self._marker).is_file() or not any(target.iterdir())
        except OSError:  # nobody may look into it
            return False

    def _error(self, problem: str, expected: str, hint: str | None = None) -> InputError:
        return InputError(problem, key=self._key, value=str(self.target), expected=expected, hint=hint)


def _rename_to_new(folder: Path, target: Path) -> bool:
    """Renames `folder`, unless there is something at `target`."""
    if os.path.lexists(target):
        return False
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):  # at this very moment
            return False
        raise
    return True
