"""The page: sections, template, styles and scripts in one HTML text.

The page fetches nothing. A content security policy admits only its own scripts, by their hashes. Text of
users could do no harm even if a browser took it for HTML.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base.wording import with_units
from odonata.report.blocks import Chart, Drawing, Section, plain

FOLDER = Path(__file__).parent
PLOTLY = FOLDER / "vendor/plotly-cartesian.min.js"
SCRIPTS = ("report.js", "machine.js", "sweep.js")

#: Keys of a trace with names as text, which plotly.js must not take for HTML.
NAMES = ("name", "x", "y", "text", "customdata")


def page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Renders the whole page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["with_units"] = with_units
    drawings = [
        block for section in sections for block in section.blocks if isinstance(block, Chart | Drawing)
    ]
    used = {block.script for block in drawings if isinstance(block, Drawing)}
    names = [name for name in SCRIPTS if name == "report.js" or name.removesuffix(".js") in used]
    scripts = [(FOLDER / "templates" / name).read_text(encoding="utf-8") for name in names]
    if drawings:
        scripts.insert(0, PLOTLY.read_text(encoding="utf-8"))
    return environment.get_template("page.html").render(
        title=title,
        subtitle=subtitle,
        sections=sections,
        version=_core.__version__,
        style=(FOLDER / "templates/report.css").read_text(encoding="utf-8"),
        # In order of execution: earlier scripts define the data of later ones.
        scripts=scripts,
        hashes=[_hash(text) for text in scripts],
        data=script_json({block.id: _described(block) for block in drawings}),
    )


def _hash(script: str) -> str:
    """The hash of a script in a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def script_json(value: Any) -> str:
    r"""JSON for a script element: no text in it ends the element, and NaN becomes null.

    >>> script_json({"job": "</script>", "ratio": float("nan")})
    '{"job":"\\u003c/script>","ratio":null}'
    """
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _finite(value: Any) -> Any:
    """The value with None for numbers that JSON lacks, and floats of nine digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return value


def _described(block: Chart | Drawing) -> dict[str, Any]:
    """The description of a chart for the script of the page."""
    if isinstance(block, Drawing):
        return {"kind": block.script, "height": block.height, "data": block.data, "title": block.title}
    made = asdict(block)
    made["traces"] = [_trace(trace) for trace in block.traces]
    return {key: made[key] for key in ("kind", "title", "traces", "layout", "height", "time")}


def _trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A trace with escaped names and without None."""
    made = {key: value for key, value in trace.items() if value is not None}
    return made | {key: _plain(made[key]) for key in NAMES if key in made}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
