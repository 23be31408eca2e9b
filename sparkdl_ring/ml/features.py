"""Feature columns of a frame as one struct column, in the order and types that the model was trained with.

Nulls and rows of another length are refused by Spark itself while it reads them, by the column's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from sparkdl_ring.data import ColumnSpec, check_columns
from sparkdl_ring.errors import SchemaError

_SQL = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
}


def feature_struct(schema: Any, specs: Sequence[ColumnSpec]) -> Any:
    """A struct column with one field ``f<n>`` for each feature.

    Args:
        schema: Schema of the frame.
        specs: Features as the model was trained with them.

    Raises:
        SchemaError: A column is missing, or its type cannot become the trained one; all faults are listed.
    """
    found = check_columns(schema, [spec.name for spec in specs])
    faults = [fault for spec, now in zip(specs, found, strict=True) if (fault := _fault(spec, now))]
    if faults:
        raise SchemaError(
            "the frame does not fit the model:\n" + "\n".join(f"  - {fault}" for fault in faults)
        )
    fields = [
        _field(spec, now).alias(f"f{i}") for i, (spec, now) in enumerate(zip(specs, found, strict=True))
    ]
    return F.struct(*fields)


def _fault(spec: ColumnSpec, now: ColumnSpec) -> str:
    if (spec.kind == "scalar") != (now.kind == "scalar"):
        return f"column {spec.name!r} is a {now.kind}, the model was trained on a {spec.kind}"
    if not np.can_cast(np.dtype(now.dtype), np.dtype(spec.dtype), "same_kind"):
        return f"column {spec.name!r} holds {now.dtype}, the model was trained on {spec.dtype}: cast it"
    return ""


def _field(spec: ColumnSpec, now: ColumnSpec) -> Any:
    column = F.col(f"`{spec.name.replace('`', '``')}`")
    refused = F.when(column.isNull(), _refuse(spec, "a null"))
    if spec.kind == "scalar":
        return refused.otherwise(column.cast(_SQL[spec.dtype]))
    items = vector_to_array(column) if now.kind == "vector" else column
    length = spec.shape[0]
    if now.kind == "array":
        refused = refused.when(F.exists(items, F.isnull), _refuse(spec, "a null inside an array"))
    wrong = F.concat(F.lit("a row of "), F.size(items).cast("string"), F.lit(f" values instead of {length}"))
    refused = refused.when(F.size(items) != length, _refuse(spec, wrong))
    return refused.otherwise(items.cast(f"array<{_SQL[spec.dtype]}>"))


def _refuse(spec: ColumnSpec, what: Any) -> Any:
    told = F.lit(what) if isinstance(what, str) else what
    return F.raise_error(
        F.concat(F.lit(f"feature column '{spec.name}' has "), told, F.lit(": fill or drop it"))
    )
