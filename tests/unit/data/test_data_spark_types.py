"""Everything wrong with a schema is told at once, by name, before any job."""

from __future__ import annotations

import pytest
from pyspark.ml.linalg import MatrixUDT, VectorUDT
from pyspark.sql import types as T

from sparkdl_ring.data import Split, check_columns
from sparkdl_ring.data.schema import UNKNOWN
from sparkdl_ring.data.spark_types import position
from sparkdl_ring.errors import SchemaError


def _schema(**columns: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in columns.items()])


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (T.BooleanType(), "bool"),
        (T.ByteType(), "int8"),
        (T.ShortType(), "int16"),
        (T.IntegerType(), "int32"),
        (T.LongType(), "int64"),
        (T.FloatType(), "float32"),
        (T.DoubleType(), "float64"),
    ],
)
def test_numbers_are_taken_as_they_are(kind: T.DataType, dtype: str) -> None:
    scalar, array = check_columns(_schema(s=kind, a=T.ArrayType(kind)), ["s", "a"])
    assert (scalar.dtype, scalar.shape, scalar.kind) == (dtype, (), "scalar")
    assert (array.dtype, array.shape, array.kind) == (dtype, UNKNOWN, "array")


def test_vectors_are_double() -> None:
    (spec,) = check_columns(_schema(v=VectorUDT()), ["v"])
    assert (spec.dtype, spec.shape, spec.kind) == ("float64", UNKNOWN, "vector")


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        (T.StringType(), "StringIndexer"),
        (T.VarcharType(9), "StringIndexer"),
        (T.ArrayType(T.StringType()), "StringIndexer"),
        (T.DecimalType(38, 18), r"decimal\(38,18\).*cast it to double"),
        (T.TimestampType(), "unix_timestamp"),
        (T.TimestampNTZType(), "unix_timestamp"),
        (T.DateType(), "datediff"),
        (T.BinaryType(), "decode"),
        (T.ArrayType(T.ArrayType(T.FloatType())), "flatten"),
        (T.StructType([T.StructField("a", T.IntegerType())]), "select its fields"),
        (T.MapType(T.StringType(), T.IntegerType()), "select its values"),
        (T.NullType(), "numbers"),
        (T.DayTimeIntervalType(), "numbers"),
        (MatrixUDT(), "numbers"),
    ],
)
def test_other_types_are_refused_with_a_hint(kind: T.DataType, hint: str) -> None:
    with pytest.raises(SchemaError, match=f"column 'x' is of type .*{hint}"):
        check_columns(_schema(x=kind, y=T.FloatType()), ["x", "y"])


def test_a_typo_gets_a_suggestion() -> None:
    with pytest.raises(SchemaError, match="column 'labl' is missing: did you mean 'label'"):
        check_columns(_schema(label=T.FloatType()), ["labl"])
    with pytest.raises(SchemaError, match=r"column 'zzz' is missing: there are \['label'\]"):
        check_columns(_schema(label=T.FloatType()), ["zzz"])


def test_names_are_literal() -> None:
    schema = _schema(f1=T.FloatType(), f10=T.FloatType(), xf1=T.FloatType(), **{"f.*": T.LongType()})
    assert [spec.dtype for spec in check_columns(schema, ["f.*", "f1"])] == ["int64", "float32"]
    with pytest.raises(SchemaError, match="column 'F1' is missing: did you mean"):
        check_columns(schema, ["F1"])
    assert position(schema, "f.*") == 3


def test_a_name_that_is_there_twice_is_refused() -> None:
    schema = T.StructType([T.StructField("x", T.FloatType()), T.StructField("x", T.LongType())])
    with pytest.raises(SchemaError, match="column 'x' is there 2 times"):
        check_columns(schema, ["x"])


def test_a_column_asked_for_twice_counts_once() -> None:
    assert len(check_columns(_schema(x=T.FloatType()), ["x", "x"])) == 1


def test_no_columns_are_refused() -> None:
    with pytest.raises(SchemaError, match="no columns"):
        check_columns(_schema(x=T.FloatType()), [])


def test_the_split_column_is_boolean_or_integer() -> None:
    schema = _schema(x=T.FloatType(), v=T.BooleanType(), n=T.IntegerType())
    for name in ("v", "n"):
        check_columns(schema, ["x"], Split(name))
    with pytest.raises(SchemaError, match="validation column 'x' is of type float"):
        check_columns(schema, ["x"], Split("x"))
    with pytest.raises(SchemaError, match="column 'w' is missing"):
        check_columns(schema, ["x"], Split("w"))


def test_all_faults_come_together() -> None:
    schema = _schema(text=T.StringType(), price=T.DecimalType(10, 2), ok=T.FloatType())
    with pytest.raises(SchemaError) as caught:
        check_columns(schema, ["text", "price", "gone", "ok"], Split("flag"))
    message = str(caught.value)
    assert all(f"'{name}'" in message for name in ("text", "price", "gone", "flag"))
    assert "'ok' is" not in message
    assert isinstance(caught.value, ValueError)
