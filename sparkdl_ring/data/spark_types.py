"""Spark schema to column specs: every fault that needs no data is found here, before any job."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from sparkdl_ring.data.options import Split
from sparkdl_ring.data.schema import UNKNOWN, ColumnSpec
from sparkdl_ring.errors import SchemaError

_NUMBERS = {
    "boolean": "bool",
    "byte": "int8",
    "short": "int16",
    "integer": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
}
_SPLIT_TYPES = {"boolean", "byte", "short", "integer", "long"}
_HINTS = {
    "string": "index it first, for example with pyspark.ml.feature.StringIndexer",
    "varchar": "index it first, for example with pyspark.ml.feature.StringIndexer",
    "char": "index it first, for example with pyspark.ml.feature.StringIndexer",
    "decimal": "cast it to double first, which keeps about 15 digits",
    "timestamp": "turn it into a number first, for example with unix_timestamp",
    "timestamp_ntz": "turn it into a number first, for example with unix_timestamp",
    "date": "turn it into a number first, for example with datediff",
    "binary": "decode it into an array of numbers first",
    "struct": "select its fields as columns of their own",
    "map": "select its values as columns of their own",
}


def check_columns(schema: Any, columns: Sequence[str], split: Split | None = None) -> tuple[ColumnSpec, ...]:
    """Checks wanted columns against a Spark schema; starts no job.

    Args:
        schema: ``df.schema``.
        columns: Names of the wanted columns, matched literally; repeated ones count once.
        split: How rows are kept apart for validation.

    Returns:
        One spec a column; rows of arrays and vectors get their length later, from the data.

    Raises:
        SchemaError: Columns are missing or of a type that cannot be used; all faults are listed.
    """
    wanted = tuple(dict.fromkeys(columns))
    faults: list[str] = [] if wanted else ["no columns are asked for"]
    specs = []
    for name in wanted:
        spec = _find(schema, name, faults)
        if spec is not None:
            specs.append(spec)
    if split is not None and split.column is not None:
        _check_split(schema, split.column, faults)
    if faults:
        raise refusal(faults)
    return tuple(specs)


def position(schema: Any, name: str) -> int:
    """Where a column is in the schema, by its literal name."""
    return [field.name for field in schema.fields].index(name)


def refusal(faults: Sequence[str]) -> SchemaError:
    """One error that lists every fault."""
    return SchemaError("the DataFrame cannot be used:\n" + "\n".join(f"  - {fault}" for fault in faults))


def _fields(schema: Any, name: str, faults: list[str]) -> Any:
    found = [field for field in schema.fields if field.name == name]
    if len(found) == 1:
        return found[0].dataType
    if found:
        faults.append(f"column {name!r} is there {len(found)} times: rename all but one")
        return None
    names = [field.name for field in schema.fields]
    folded = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), list(folded), 1, 0.6)
    hint = f"did you mean {folded[close[0]]!r}?" if close else f"there are {names}"
    faults.append(f"column {name!r} is missing: {hint}")
    return None


def _find(schema: Any, name: str, faults: list[str]) -> ColumnSpec | None:
    data_type = _fields(schema, name, faults)
    if data_type is None:
        return None
    spec = _spec(name, data_type)
    if spec is None:
        hint = _hint(data_type)
        faults.append(f"column {name!r} is of type {data_type.simpleString()}, which cannot be used: {hint}")
    return spec


def _spec(name: str, data_type: Any) -> ColumnSpec | None:
    kind = data_type.typeName()
    if kind in _NUMBERS:
        return ColumnSpec(name, _NUMBERS[kind])
    if type(data_type).__name__ == "VectorUDT":
        return ColumnSpec(name, "float64", UNKNOWN, "vector")
    if kind == "array" and data_type.elementType.typeName() in _NUMBERS:
        return ColumnSpec(name, _NUMBERS[data_type.elementType.typeName()], UNKNOWN, "array")
    return None


def _hint(data_type: Any) -> str:
    kind = data_type.typeName()
    if kind == "array":
        element = data_type.elementType.typeName()
        if element == "array":
            return "flatten it into one array of numbers first"
        return f"its elements must be numbers; {_HINTS.get(element, 'convert them first')}"
    if kind in _HINTS:
        return _HINTS[kind]
    return "use numbers, booleans, arrays of them, or ML vectors"


def _check_split(schema: Any, name: str, faults: list[str]) -> None:
    data_type = _fields(schema, name, faults)
    if data_type is not None and data_type.typeName() not in _SPLIT_TYPES:
        faults.append(
            f"validation column {name!r} is of type {data_type.simpleString()}: it must be boolean or integer"
        )
