"""What the project promises of its speed, looked up in the rows of one run. Printed, never a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sparkdl_ring.bench.api import KB, MB, Row
from sparkdl_ring.bench.report import MPIS, ratio, size_text

_GLOO = ("gloo",)
_PRIVATE_OVER_GLOO = {4: 100.0, 64 * KB: 15.0, MB: 6.0, 64 * MB: 4.0}
_REGISTERED_OVER_GLOO = {64 * MB: 7.0}
_LARGE_FROM = MB
_LATENCY_S = 2e-6
_HALF_PER_BYTE = 1.2


@dataclass(frozen=True)
class Verdict:
    """One promise in one run.

    Args:
        what: The row and the promise, in words.
        wanted: The least factor.
        found: The factor of this run.
    """

    what: str
    wanted: float
    found: float

    @property
    def holds(self) -> bool:
        """Whether it was kept."""
        return self.found >= self.wanted


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Every promise that the rows can tell of."""
    ours = [row for row in rows if row.method.library == "ring" and row.method.transport == "shm"]
    native = [row for row in ours if row.method.call == "native"]
    found = [*_never_slower(rows), *_over_gloo(native, rows), *_over_mpi(native, rows)]
    return [*found, *_latency(native), *_half_types(native)]


def table(verdicts: Iterable[Verdict]) -> str:
    """One line for each promise."""
    lines = [
        f"{'holds' if v.holds else 'FAILS'}  {v.found:8.2f}x of {v.wanted:g}x  {v.what}" for v in verdicts
    ]
    return "\n".join(lines)


def _never_slower(rows: Sequence[Row]) -> Iterator[Verdict]:
    """Under load, at any size, over any transport, through Python as well."""
    for row in rows:
        if row.condition == "loaded" and row.method.library == "ring":
            yield from _against(row, rows, _GLOO, 1.0, "gloo under load")


def _over_gloo(native: Sequence[Row], rows: Sequence[Row]) -> Iterator[Verdict]:
    for row in native:
        size = row.cell.num_bytes
        if row.condition == "loaded" or row.cell.dtype != "float32":
            continue
        if row.num_ranks == 2:
            wishes = _PRIVATE_OVER_GLOO if row.method.memory == "private" else _REGISTERED_OVER_GLOO
            if size in wishes:
                yield from _against(row, rows, _GLOO, wishes[size], "gloo")
        elif size == 64 * MB and row.method.memory == "private":
            yield from _against(row, rows, _GLOO, 4.0, "gloo")


def _over_mpi(native: Sequence[Row], rows: Sequence[Row]) -> Iterator[Verdict]:
    for row in native:
        if row.condition == "loaded" or row.num_ranks != 2:
            continue
        large = 1.8 if row.method.memory == "private" else 3.0
        wanted = large if row.cell.num_bytes >= _LARGE_FROM else 1.0
        yield from _against(row, rows, MPIS, wanted, "the best MPI")


def _latency(native: Sequence[Row]) -> Iterator[Verdict]:
    for row in native:
        small = row.cell.num_bytes == 4 and row.cell.dtype == "float32" and row.num_ranks == 2
        if small and row.condition == "coscheduled":
            yield Verdict(f"{_name(row)} within 2 us", 1.0, _LATENCY_S / row.median_s)


def _half_types(native: Sequence[Row]) -> Iterator[Verdict]:
    """Half types take at most 1.2 times as long as float32 of as many bytes."""
    full = {
        (row.num_ranks, row.method, row.cell.num_bytes): row.median_s
        for row in native
        if row.cell.dtype == "float32"
    }
    for row in native:
        key = (row.num_ranks, row.method, row.cell.num_bytes)
        if row.cell.dtype != "float32" and key in full and row.condition != "loaded":
            wanted = round(1 / _HALF_PER_BYTE, 3)
            yield Verdict(f"{_name(row)} against float32 by the byte", wanted, full[key] / row.median_s)


def _against(
    row: Row, rows: Sequence[Row], libraries: Sequence[str], wanted: float, whom: str
) -> Iterator[Verdict]:
    found = ratio(row, rows, libraries)
    if found is not None:
        yield Verdict(f"{_name(row)} against {whom}", wanted, found)


def _name(row: Row) -> str:
    place = f"{row.num_ranks} ranks, {row.cell.dtype}, {size_text(row.cell.num_bytes)}"
    return f"{row.method.name} ({place})"
