"""What one materialising task tells the driver, and what the driver concludes from all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from sparkdl_ring.data.encode import Measure
from sparkdl_ring.data.manifest import DataFile, parse_file
from sparkdl_ring.data.schema import ColumnSpec


@dataclass
class Report:
    """What a task found and wrote.

    Args:
        partition: Number of the partition.
        measures: One a column.
        split_nulls: Rows whose validation column is null.
        rows: Rows of the partition.
        train: The file of training rows, where there are any.
        validation: The file of validation rows, where there are any.
        error: Why the store could not be written; empty when it could.
    """

    partition: int
    measures: list[Measure] = field(default_factory=list)
    split_nulls: int = 0
    rows: int = 0
    train: DataFile | None = None
    validation: DataFile | None = None
    error: str = ""

    def to_json(self) -> str:
        """One line of text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The inverse of :meth:`to_json`."""
        data = json.loads(text)
        data["measures"] = [Measure(**item) for item in data["measures"]]
        for side in ("train", "validation"):
            data[side] = data[side] and parse_file(data[side])
        return cls(**data)


def merge_measures(reports: Sequence[Report], columns: Sequence[ColumnSpec]) -> list[Measure]:
    """What all partitions together showed of each column."""
    merged = [Measure() for _ in columns]
    for report in reports:
        for total, part in zip(merged, report.measures, strict=True):
            total.merge(part)
    return merged


def faults(
    columns: Sequence[ColumnSpec], measures: Sequence[Measure], split: str | None, nulls: int
) -> list[str]:
    """Every reason why the data cannot be used, in words; empty when it can.

    Args:
        columns: The wanted columns.
        measures: What the data showed of each.
        split: Name of the validation column, if one decides.
        nulls: Its nulls.
    """
    found = [fault for spec, seen in zip(columns, measures, strict=True) for fault in _column(spec, seen)]
    if nulls:
        found.append(f"validation column {split!r} has {nulls} null(s): fill or drop them first")
    return found


def _column(spec: ColumnSpec, seen: Measure) -> list[str]:
    found = []
    name = f"column {spec.name!r}"
    if seen.nulls:
        found.append(f"{name} has {seen.nulls} null(s): fill or drop them first, for example with df.na.fill")
    if seen.null_elements:
        found.append(f"{name} has {seen.null_elements} null(s) inside its arrays: fill them first")
    if seen.shortest != seen.longest:
        what = "vectors" if spec.kind == "vector" else "arrays"
        sizes = f"from {seen.shortest} to {seen.longest}"
        found.append(f"{name} holds {what} of different sizes, {sizes}: pad or cut them to one size first")
    elif seen.longest == 0:
        found.append(f"{name} holds empty {spec.kind}s only")
    return found


def with_shapes(columns: Sequence[ColumnSpec], measures: Sequence[Measure]) -> tuple[ColumnSpec, ...]:
    """The columns with row lengths as the data showed them."""
    return tuple(
        spec if seen.longest is None else spec.sized(seen.longest)
        for spec, seen in zip(columns, measures, strict=True)
    )
