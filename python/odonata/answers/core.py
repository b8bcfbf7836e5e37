"""What the core answers, by the schemas that it gives of itself."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from odonata import _core


@functools.cache
def _core_schemas() -> dict[str, dict[str, Any]]:
    schemas: dict[str, dict[str, Any]] = json.loads(_core.answer_schemas())
    return schemas


@dataclass(frozen=True)
class Core:
    """Marks an object as the core's answer to this command."""

    command: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """The core's own schema."""
        return {key: value for key, value in _core_schemas()[self.command].items() if key != "$schema"}


class WithRouting(Core):
    """Marks an answer that contains the description of the routing on request, as that of `check`."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """The core's own schema, with that of the routing."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        routing = _core_schemas()["check"]["properties"]["routing"]
        text = f"With --routing: {routing['description'][0].lower()}{routing['description'][1:]}"
        return schema | {"properties": schema["properties"] | {"routing": routing | {"description": text}}}
