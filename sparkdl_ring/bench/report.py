"""Samples to rows, rows to CSV and to a table for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from statistics import median

from sparkdl_ring.bench.api import Cell, Condition, Method, Row, Sample

COLUMNS = (
    "ranks", "condition", "dtype", "bytes", "library", "transport", "memory", "call",
    "samples", "median_us", "min_us", "gb_per_s", "gloo_ratio", "best_mpi_ratio",
)  # fmt: skip
MPIS = ("openmpi", "mpich")


def rows(by_rank: Sequence[Sequence[Sample]], condition: Condition) -> list[Row]:
    """The slowest rank of each sample, then medians.

    Args:
        by_rank: Samples of each rank, in one order.
        condition: Under which they were taken.
    """
    taken: dict[tuple[Cell, Method], list[float]] = {}
    for together in zip(*by_rank, strict=True):
        key = (together[0].cell, together[0].method)
        taken.setdefault(key, []).append(max(sample.seconds for sample in together))
    return [
        Row(len(by_rank), condition, cell, method, len(seconds), median(seconds), min(seconds))
        for (cell, method), seconds in taken.items()
    ]


def ratio(row: Row, all_rows: Iterable[Row], libraries: Sequence[str]) -> float | None:
    """How many times longer the fastest of ``libraries`` took in the same run; None where it was not run."""
    others = [
        other.median_s
        for other in all_rows
        if other.method.library in libraries and (other.num_ranks, other.cell) == (row.num_ranks, row.cell)
    ]
    return min(others) / row.median_s if others else None


def to_csv(all_rows: Sequence[Row]) -> str:
    """One line for each row; times in microseconds, ratios empty where nothing was there to compare."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in all_rows:
        writer.writerow(_fields(row, all_rows))
    return text.getvalue()


def _fields(row: Row, all_rows: Sequence[Row]) -> list[object]:
    method, cell = row.method, row.cell
    ratios = [ratio(row, all_rows, libraries) for libraries in (("gloo",), MPIS)]
    return [
        row.num_ranks, row.condition, cell.dtype, cell.num_bytes,
        method.library, method.transport, method.memory, method.call, row.num_samples,
        f"{row.median_s * 1e6:.2f}", f"{row.min_s * 1e6:.2f}", f"{cell.num_bytes / row.median_s / 1e9:.3f}",
        *("" if value is None else f"{value:.3f}" for value in ratios),
    ]  # fmt: skip


def table(all_rows: Sequence[Row]) -> str:
    """A block for each number of ranks and dtype: microseconds, median and [minimum], a column a method."""
    return "\n\n".join(
        f"{title}; us: median [min], times faster than gloo\n{_block(group)}"
        for title, group in groups(all_rows).items()
    )


def groups(all_rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each launch and dtype, by what they have in common in words."""
    found: dict[str, list[Row]] = {}
    for row in all_rows:
        title = f"{row.num_ranks} ranks, {row.cell.dtype}, {row.condition}"
        found.setdefault(title, []).append(row)
    return found


def _block(group: Sequence[Row]) -> str:
    names = list(dict.fromkeys(row.method.name for row in group))
    sizes = sorted({row.cell.num_bytes for row in group})
    cells = {(row.cell.num_bytes, row.method.name): _cell(row, group) for row in group}
    lines = [["bytes", *names], *([size_text(n), *(cells.get((n, m), "-") for m in names)] for n in sizes)]
    return aligned(lines)


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Cells in columns, flush right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in lines
    )


def _cell(row: Row, group: Sequence[Row]) -> str:
    times = f"{_us(row.median_s)} [{_us(row.min_s)}]"
    faster = ratio(row, group, ("gloo",))
    return times if faster is None or row.method.library == "gloo" else f"{times} {faster:.1f}x"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.1f}" if seconds < 1e-3 else f"{seconds * 1e6:.0f}"


def size_text(num_bytes: int) -> str:
    """``64 KB``."""
    for unit, scale in (("MB", 1 << 20), ("KB", 1 << 10)):
        if num_bytes >= scale and num_bytes % scale == 0:
            return f"{num_bytes // scale} {unit}"
    return f"{num_bytes} B"
