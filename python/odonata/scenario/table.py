"""Common operations of all tables of a scenario: validation and conversion to TOML (`objects.py` has the
tables).

Only keys that were set are written; the core adds the preset and the defaults. The core also checks rules
between keys: `odonata.check(scenario)`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, model_validator

from odonata.base import toml_text
from odonata.base.html_page import scenario_html
from odonata.base.output_file import OutputFile
from odonata.errors import InputError
from odonata.scenario.reading import read_scenario
from odonata.scenario.table_errors import input_error


class Table(BaseModel):
    """A table of a scenario; its fields are its keys.

    >>> from odonata.scenario import Stencil
    >>> Stencil(mesage="64 KiB")
    Traceback (most recent call last):
    ...
    odonata.errors.InputError: unknown key "mesage"
      key       mesage
      expected  allreduce, compute, dimensions, dims, iterations, message or wrap
      hint      did you mean message?
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        validate_assignment=True,
        validate_by_alias=True,
        validate_by_name=True,
        protected_namespaces=(),
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise input_error(error, type(self), values) from None

    # Nested tables are made without it, so that an error has the whole path of its key.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, values: Any) -> Any:
        """Converts numbers of numpy, tuples and paths to TOML types."""
        if isinstance(values, Mapping):
            return {key: _plain(value) for key, value in values.items()}
        return values

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
            return
        try:
            super().__setattr__(name, _plain(value))
        except ValidationError as error:
            raise input_error(error, type(self), {name: value}) from None
        except ValueError as error:
            if name in type(self).model_fields:
                raise
            raise input_error(error, type(self), {name: value}) from None

    def to_dict(self) -> dict[str, Any]:
        """The keys that were set, as plain dictionaries and lists, with the names of the file.

        >>> from odonata.scenario import Links, Link
        >>> Links(global_=Link(latency="300 ns")).to_dict()
        {'global': {'latency': '300 ns'}}
        """
        return dict(self._set())

    def _set(self) -> Iterator[tuple[str, Any]]:
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            key = field.serialization_alias or name
            if isinstance(value, Table):
                # A table with default values may have been changed inside.
                inner = value.to_dict()
                if inner or name in self.model_fields_set:
                    yield key, inner
            elif name in self.model_fields_set and value is not None:
                yield key, _dumped(value)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name in self.model_fields_set or (isinstance(value, Table) and value.to_dict()):
                yield name, value


class Choice(Table):
    """A table with exactly one key.

    >>> from odonata.scenario import Milc, Stencil, Workload
    >>> Workload(milc=Milc(), stencil=Stencil())
    Traceback (most recent call last):
    ...
    odonata.errors.InputError: exactly one key
      found     milc, stencil
      expected  one of them
    """

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            names = [name for name in type(self).model_fields if getattr(self, name) is not None]
            raise InputError("exactly one key", value=", ".join(names) or "none", expected="one of them")
        return self


class ScenarioTable(Table):
    """The additional operations of a whole scenario."""

    #: Relative file names in the scenario start from this folder; None: the current folder.
    _folder: Path | None = PrivateAttr(default=None)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Makes a scenario from plain dictionaries and lists, as `odonata.run` accepts them.

        Raises:
            InputError: A key or value is invalid.

        >>> from odonata import Scenario
        >>> Scenario.from_dict({"machine": {"torus": {"dims": [4, 4]}}}).machine.torus.dims
        [4, 4]
        """
        return cls(**values)

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Makes a scenario from TOML; absent keys stay absent.

        Raises:
            InputError: The text is not TOML, or a key or value is invalid.

        >>> from odonata import Scenario
        >>> Scenario.from_toml('preset = "theta"').preset
        'theta'
        """
        try:
            values = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError(f"not TOML: {error}", expected="a scenario in TOML") from None
        return cls(**values)

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Reads a scenario from a file; relative file names in it start from its folder.

        Raises:
            InputError: The file cannot be read, or a key or value in it is invalid.

        >>> from odonata import Scenario
        >>> Scenario.load("examples/uniform.toml").jobs[0].ranks
        72
        """
        path = Path(file)
        try:
            made = cls.from_toml(read_scenario(path))
        except InputError as error:
            error.file = error.file or str(path)
            raise
        made._folder = path.parent
        return made

    def to_toml(self) -> str:
        """The scenario as TOML, with only the keys that were set.

        Raises:
            InputError: A job's `python` is a function, which has no name in a file.
        """
        values = self.to_dict()
        for number, job in enumerate(values.get("jobs", [])):
            if callable(job.get("python")):
                raise InputError(
                    "a function has no name in a file",
                    key=f"jobs.{number}.python",
                    value=getattr(job["python"], "__name__", repr(job["python"])),
                    expected='a text, "FILE.py:FUNCTION"',
                )
        return toml_text.pages(values)

    def save(self, file: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the scenario to a file, whole or not at all.

        Args:
            file: The file to write.
            force: Replace an existing file.

        Raises:
            InputError: The file cannot be written, or exists.
        """
        OutputFile(file, key="file", replace=force).write(self.to_toml())

    def _repr_html_(self) -> str:
        return scenario_html(self)


def _plain(value: Any) -> Any:
    """A value as a TOML type.

    >>> _plain((4, 4)), _plain(Path("a/b")), _plain(range(3))
    ([4, 4], 'a/b', [0, 1, 2])
    """
    if isinstance(value, Table | str | bool | int | float) or value is None:
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, tuple | range):
        return [_plain(item) for item in value]
    # Numbers of numpy and others.
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    return value


def _dumped(value: Any) -> Any:
    if isinstance(value, Table):
        return value.to_dict()
    if isinstance(value, list):
        return [_dumped(item) for item in value]
    return value
