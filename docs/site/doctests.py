"""Extension of griffe: examples in docstrings (`>>> ...`) are shown as code."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object


def fenced(text: str) -> str:
    r"""`text` with its doctests as blocks of code.

    >>> print(fenced("One.\n\n>>> 1 + 1\n2\n\nTwo."))
    One.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    Two.
    """
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.startswith(">>> "):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        # What an example tells doctest concerns no reader.
        lines.append(line.partition("  # doctest:")[0])
    return "\n".join(lines).rstrip("\n")


class Doctests(Extension):
    """Applies `fenced` to every docstring."""

    def on_package(self, *, pkg: Object, **_: Any) -> None:
        """Called by griffe for the package itself, whose own docstring is read when all else is."""
        if pkg.docstring is not None and "```pycon" not in pkg.docstring.value:
            pkg.docstring.value = fenced(pkg.docstring.value)

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
