"""Result folders appear whole or not at all.

Everything is written to a hidden sibling `.NAME.*.partial`, which is renamed when it is complete. A run that
is killed leaves at most such a sibling behind, which nothing takes for a result (one that is to outlive its
process has another, see `unfinished.py`). An existing folder is
replaced only when told so, and only if it is a result (or empty): a mistyped `-o` must not cost anybody their
home directory.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from odonata.errors import InputError

if TYPE_CHECKING:
    from odonata.checkpoint import Checkpoints, Saved

#: The file that makes a folder a result.
RUN_FILE = "run.json"


class ResultFolder:
    """A folder in the making. Leaving the context without `publish` removes every trace of it."""

    #: The snapshots of the run whose results it will hold, if there are any.
    checkpoints: Checkpoints | None = None
    #: The one that the run goes on from.
    resumes: Saved | None = None

    def __init__(
        self, target: str | os.PathLike[str], *, replace: bool = False, marker: str = RUN_FILE
    ) -> None:
        #: The file by which a result of this kind is known.
        self.marker = marker
        self.target = Path(target)
        if self.target.name in ("", ".."):
            self.target = self.target.resolve()
        self.replace = replace
        self._partial: Path | None = None
        self._made: list[Path] = []
        self._refuse_existing()

    @property
    def path(self) -> Path:
        """Where to write."""
        if self._partial is None:
            raise RuntimeError("the folder is not open")
        return self._partial

    def __enter__(self) -> Self:
        parent = self.target.parent
        try:
            for folder in reversed([parent, *parent.parents]):
                try:
                    folder.mkdir()
                except FileExistsError:  # perhaps made by another run at this very moment
                    continue
                self._made.append(folder)
            self._partial = self._make(parent)
        except OSError as error:
            self._discard()
            raise InputError(
                f"the result folder cannot be created: {error.strerror}",
                key="--out",
                value=str(self.target),
                expected="a folder that can be created and written",
            ) from None
        return self

    def publish(self) -> Path:
        """Gives the complete folder its name, and returns it.

        If somebody else took the name while the run went on, the first free `NAME-2`, `NAME-3` … is used.
        """
        target = self.target
        if target.exists() and self.replace:
            retired = self._hidden(target.parent, "replaced")
            target.rename(retired / "old")
            try:
                self.path.rename(target)
            except BaseException:
                (retired / "old").rename(target)
                raise
            shutil.rmtree(retired, ignore_errors=True)
        else:
            number = 2
            while target.exists():
                target = self.target.with_name(f"{self.target.name}-{number}")
                number += 1
            self.path.rename(target)
        self._partial = None
        self._made.clear()
        return target

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    def _make(self, parent: Path) -> Path:
        """Makes the folder to write to."""
        made = self._hidden(parent, "partial")
        # mkdtemp makes private folders; a result has the permissions of any other new folder.
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o777 & ~mask)
        return made

    def _hidden(self, parent: Path, purpose: str) -> Path:
        """Makes a private folder `.NAME.*.PURPOSE` in `parent`."""
        # Imported late, as wherever odonata uses it: commands that make no folder answer sooner.
        import tempfile

        return Path(tempfile.mkdtemp(prefix=f".{self.target.name}.", suffix=f".{purpose}", dir=parent))

    def _discard(self) -> None:
        if self._partial is not None:
            shutil.rmtree(self._partial, ignore_errors=True)
            self._partial = None
        for folder in reversed(self._made):
            try:
                folder.rmdir()
            except OSError:  # somebody else uses it by now
                break
        self._made.clear()

    def _refuse_existing(self) -> None:
        target = self.target
        if not os.path.lexists(target):
            return
        if not self.replace:
            raise InputError(
                "the result folder exists",
                key="--out",
                value=str(target),
                expected="a name that is not taken",
                hint="choose another with -o, or replace it with --force",
            )
        is_result = target.is_dir() and ((target / self.marker).is_file() or not any(target.iterdir()))
        if target.is_symlink() or not is_result:
            raise InputError(
                "what is there is not a result, and will not be replaced",
                key="--out",
                value=str(target),
                expected=f"a folder that holds {self.marker}, or none",
                hint="choose another name with -o",
            )
