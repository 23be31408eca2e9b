"""All settings as one table, from the fields of ``config``: what ``doctor --settings`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from sparkdl_ring import config

_UNITS = {"_s": "seconds", "_bytes": "bytes", "_rows": "rows", "_threads": "threads"}
_HEAD = ("Setting", "Environment", "Unit", "Default", "What it does")


def table() -> str:
    """A Markdown table, one line for each setting, in the order of ``config``; of defaults alone."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD))]
    for item in config.explain(environ={}):
        variable = config.env_name(item.name)
        lines.append(_line([f"`{item.name}`", f"`{variable}`", _unit(item), _shown(item.value), item.doc]))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _unit(item: config.Setting) -> str:
    if isinstance(item.value, bool):
        return "true, false"
    return next((unit for ending, unit in _UNITS.items() if item.name.endswith(ending)), "")


def _shown(value: object) -> str:
    if value == "":
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
