"""A rank's collectives as a Chrome trace: open it in ``chrome://tracing`` or Perfetto."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparkdl_ring.errors import ConfigError

CAPACITY = 200_000
"""Most operations that are kept; later ones are left out."""


def events(rows: Sequence[Mapping[str, Any]], rank: int, host: str) -> list[dict[str, Any]]:
    """Chrome's events of native records; times become wall-clock microseconds, so that hosts line up."""
    offset_ns = time.time_ns() - time.monotonic_ns()
    found: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank} on {host}"}}
    ]
    for row in rows:
        end_ns = row["end_ns"] or time.monotonic_ns()
        details = {key: row[key] for key in ("sequence", "bytes", "dtype", "wait_s", "reduce_s", "state")}
        found.append(
            {
                "ph": "X",
                "name": f"{row['kind']} {row['label']}".rstrip(),
                "cat": row["kind"],
                "pid": rank,
                "tid": "called" if row["inline"] else "queued",
                "ts": (row["start_ns"] + offset_ns) / 1e3,
                "dur": (end_ns - row["start_ns"]) / 1e3,
                "args": {**details, "group": row["group"]},
            }
        )
    return found


def make_folder(folder: str) -> None:
    """Makes the folder of the traces; raises :class:`ConfigError` where that cannot be."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"comm.timeline: {folder} cannot be made a folder: {error}") from error


def write(path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]], rank: int, host: str) -> None:
    """Writes one rank's trace whole or not at all; its folder is made where it lacks."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    part.write_text(json.dumps({"traceEvents": events(rows, rank, host), "displayTimeUnit": "ms"}))
    part.replace(target)
