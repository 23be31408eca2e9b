"""DataFrames of all kinds become datasets, or one error that names all that is wrong; nothing is left."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data import Dataset, ReadOptions, Split, materialize, open_batches
from sparkdl_ring.errors import ConfigError, EmptyDataError, RingError, SchemaError, StoreError
from sparkdl_ring.store import Store, open_store

pytestmark = pytest.mark.spark

ODD_NAMES = ["a.b", "a b", "x-y", "1st", "class", "_x", "click rate (%)", "g+h", "b`q", "\u00fc", "y.z", "A"]


@pytest.fixture
def store(tmp_path) -> Store:
    return open_store(str(tmp_path / "s #1 50%"))


def read(store: Store, dataset: Dataset, *names: str) -> dict[str, np.ndarray]:
    """All rows in file order."""
    options = ReadOptions(names, 1000, shuffle=False)
    with open_batches(store, dataset, options) as batches:
        parts = [batch.columns for batch in batches]
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def test_every_type_comes_back_bit_for_bit(spark, store) -> None:
    numbers = {
        "y": "tinyint",
        "h": "smallint",
        "i": "int",
        "l": "bigint",
        "f": "float",
        "d": "double",
        "b": "boolean",
    }
    scalars = [f"CAST(id % 2 AS {kind}) AS {name}" for name, kind in numbers.items()]
    arrays = [
        f"array(CAST(id % 2 AS {kind}), CAST(1 AS {kind})) AS a{name}" for name, kind in numbers.items()
    ]
    df = spark.range(0, 50, 1, 3).selectExpr("id", "9007199254740993 + id AS big", *scalars, *arrays)
    done = materialize(df, store, columns=df.columns)
    rows = read(store, done.train, *df.columns)
    ids = np.arange(50)
    assert np.array_equal(rows["id"], ids)
    assert np.array_equal(rows["big"], 2**53 + 1 + ids)
    dtypes = dict(
        zip(numbers, ["int8", "int16", "int32", "int64", "float32", "float64", "bool"], strict=True)
    )
    for name, dtype in dtypes.items():
        assert rows[name].dtype == rows["a" + name].dtype == dtype
        assert np.array_equal(rows[name], (ids % 2).astype(dtype))
        assert np.array_equal(rows["a" + name], np.stack([ids % 2, ids * 0 + 1], axis=1).astype(dtype))
    assert done.validation is None
    assert Dataset.load(store, done.train.manifest) == done.train


def test_vectors_dense_and_sparse(spark, store) -> None:
    rows = [
        (i, Vectors.sparse(5, {i % 5: i + 1.0}) if i % 3 else Vectors.dense([float(i)] * 5))
        for i in range(40)
    ]
    df = spark.createDataFrame(rows, ["id", "v"]).repartition(3, "id")
    done = materialize(df, store, columns=["v", "id"])
    assert done.train.columns[0].shape == (5,)
    got = read(store, done.train, "id", "v")
    expected = {i: vector.toArray() for i, vector in rows}
    assert all(np.array_equal(v, expected[int(i)]) for i, v in zip(got["id"], got["v"], strict=True))
    assert sorted(got["id"]) == list(range(40))


def test_names_of_any_spelling_work(spark, store) -> None:
    df = (
        spark.range(0, 9, 1, 2)
        .toDF("k")
        .select("k", *[(F.col("k") + i).alias(n) for i, n in enumerate(ODD_NAMES)])
    )
    done = materialize(df, store, columns=ODD_NAMES[::-1])
    rows = read(store, done.train, *ODD_NAMES)
    for index, name in enumerate(ODD_NAMES):
        assert np.array_equal(rows[name], np.arange(9) + index)


def test_special_floats_survive(spark, store) -> None:
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324]
    df = spark.createDataFrame([(v,) for v in values], "x double").coalesce(1)
    got = read(store, materialize(df, store, columns=["x"]).train, "x")["x"]
    assert got.tobytes() == np.array(values).tobytes()


def test_constant_columns_are_no_corruption(spark, store) -> None:
    df = spark.range(0, 200_000, 1, 1).selectExpr("0 AS f", "1 AS y")
    done = materialize(df, store, columns=["f", "y"])
    assert done.train.rows == 200_000
    assert done.train.bytes == 200_000 * 8


def test_row_groups_have_the_wanted_bytes(spark, store) -> None:
    df = spark.range(0, 64, 1, 2).selectExpr("array_repeat(CAST(id AS double), 10000) AS x")
    config = DataConfig(row_group_bytes=400_000)
    done = materialize(df, store, columns=["x"], config=config)
    assert {size for file in done.train.files for _, size in file.row_groups} <= {400_000, 160_000}


def test_repartitioning_on_request(spark, store) -> None:
    done = materialize(spark.range(0, 40, 1, 1), store, columns=["id"], num_partitions=4)
    assert len(done.train.files) == 4
    assert sorted(read(store, done.train, "id")["id"]) == list(range(40))


def test_empty_partitions_write_no_files(spark, store) -> None:
    df = spark.range(0, 8, 1, 4).where("id >= 4")
    done = materialize(df, store, columns=["id"])
    assert [file.rows for file in done.train.files] == [2, 2]


@pytest.mark.parametrize("split", [None, Split(0.3), Split("late")])
def test_no_rows_are_refused(spark, store, split) -> None:
    schema = "x float, late boolean"
    for df in (
        spark.createDataFrame([], schema),
        spark.range(5).where("id > 9").selectExpr("id x", "true late"),
    ):
        with pytest.raises(EmptyDataError, match="no rows"):
            materialize(df, store, columns=["x"], split=split)
    assert store.list() == []


def _refuse(df, store: Store, columns, error: type[RingError] = SchemaError, **options) -> str:
    with pytest.raises(error) as caught:
        materialize(df, store, columns=columns, **options)
    assert store.list() == []
    return str(caught.value)


def test_every_fault_in_the_data_is_told_at_once(spark, store) -> None:
    rows = [
        (1, [1.0, 2.0], Vectors.dense([1, 2, 3]), [1.0], True),
        (None, [1.0], Vectors.sparse(4, {}), [None], None),
        (3, [3.0, 4.0], None, [2.0], False),
    ]
    kinds = spark.createDataFrame([(Vectors.dense([1.0]),)], ["v"]).schema["v"].dataType
    schema = T.StructType(
        [
            T.StructField("n", T.LongType()),
            T.StructField("ragged", T.ArrayType(T.DoubleType())),
            T.StructField("v", kinds),
            T.StructField("holes", T.ArrayType(T.DoubleType())),
            T.StructField("late", T.BooleanType()),
        ]
    )
    df = spark.createDataFrame(rows, schema).repartition(3)
    message = _refuse(df, store, ["n", "ragged", "v", "holes"], split=Split("late"))
    for part in (
        "'n' has 1 null(s)",
        "'ragged' holds arrays of different sizes, from 1 to 2",
        "'v' has 1 null(s)",
        "'v' holds vectors of different sizes, from 3 to 4",
        "'holes' has 1 null(s) inside its arrays",
        "validation column 'late' has 1 null(s)",
    ):
        assert part in message


def test_ragged_arrays_are_refused_however_they_lie(spark, store) -> None:
    for partitions in (1, 2):
        df = spark.range(0, 4, 1, partitions).selectExpr("array_repeat(1.0F, IF(id < 2, 3, 4)) AS x")
        assert "from 3 to 4" in _refuse(df, store, ["x"])
    assert "empty arrays" in _refuse(
        spark.range(2).selectExpr("CAST(array() AS array<int>) AS x"), store, ["x"]
    )


def test_nulls_that_spark_says_cannot_be_are_no_fault_of_the_schema(spark, store) -> None:
    df = spark.range(0, 6, 1, 3).selectExpr("IF(id % 2 = 0, id, NULL) AS x")
    assert "'x' has 3 null(s)" in _refuse(df, store, ["x"])


def test_faults_of_the_schema_start_no_job(spark, store) -> None:
    tracker = spark.sparkContext.statusTracker()
    jobs = set(tracker.getJobIdsForGroup(None))
    df = spark.range(3).selectExpr("id", "CAST(id AS string) AS name")
    message = _refuse(df, store, ["name", "idd"])
    assert "'name' is of type string" in message
    assert "did you mean 'id'" in message
    assert set(tracker.getJobIdsForGroup(None)) == jobs


def test_a_drawn_share_is_kept_apart(spark, store) -> None:
    df = spark.range(0, 1000, 1, 4)
    first = materialize(df, store, columns=["id"], split=Split(0.2, 5))
    again = materialize(df, store, columns=["id"], split=Split(0.2, 5))
    other = materialize(df, store, columns=["id"], split=Split(0.2, 6))
    assert 150 < first.validation.rows < 250
    both = [read(store, part, "id")["id"] for part in (first.train, first.validation)]
    assert sorted(np.concatenate(both)) == list(range(1000))
    assert np.array_equal(both[1], read(store, again.validation, "id")["id"])
    assert not np.array_equal(both[1], read(store, other.validation, "id")["id"])
    assert first.train.digest == again.train.digest != other.train.digest


@pytest.mark.parametrize("share", [1e-9, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("rows", [1, 2, 3, 10])
def test_both_sides_of_a_share_have_rows_where_there_are_two(spark, store, rows, share) -> None:
    done = materialize(spark.range(0, rows, 1, 3), store, columns=["id"], split=Split(share, 1))
    assert done.train.rows >= 1
    kept = done.validation.rows if done.validation is not None else 0
    assert (kept >= 1) == (rows >= 2)
    assert done.train.rows + kept == rows


@pytest.mark.parametrize("kind", ["boolean", "int", "bigint"])
def test_a_column_decides_who_is_kept_apart(spark, store, kind) -> None:
    df = spark.range(0, 40, 1, 4).selectExpr("id", f"CAST(id IN (1, 4, 7) AS {kind}) AS `is val`")
    done = materialize(df, store, columns=["id"], split=Split("is val"))
    assert read(store, done.validation, "id")["id"].tolist() == [1, 4, 7]
    assert done.train.rows == 37
    assert [column.name for column in done.train.columns] == ["id"]


def test_a_column_may_keep_none_but_not_all(spark, store) -> None:
    df = spark.range(6).selectExpr("id", "id < 0 AS none", "id >= 0 AS every")
    assert "all 6 rows are kept for validation" in _refuse(
        df, store, ["id"], EmptyDataError, split=Split("every")
    )
    assert materialize(df, store, columns=["id"], split=Split("none")).validation is None


def test_a_store_nobody_can_write_is_told_before_any_task(spark) -> None:
    with pytest.raises(StoreError, match="cannot write file:///proc/nobody"):
        materialize(spark.range(3), open_store("/proc/nobody"), columns=["id"])


def test_a_store_that_fills_up_is_told_as_what_it_is(spark, store, monkeypatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "no space is left" in _refuse(spark.range(3), store, ["id"], StoreError)


def test_a_failure_of_the_users_own_code_leaves_nothing(spark, store) -> None:
    df = (
        spark.range(0, 9, 1, 3)
        .selectExpr("raise_error('of the user') AS x")
        .selectExpr("CAST(x AS int) AS x")
    )
    with pytest.raises(Exception, match="of the user"):
        materialize(df, store, columns=["x"])
    assert store.list() == []


def test_a_dataset_is_not_overwritten(spark, store) -> None:
    first = materialize(spark.range(3), store, columns=["id"], dataset_id="d")
    with pytest.raises(ConfigError, match="already in"):
        materialize(spark.range(5), store, columns=["id"], dataset_id="d")
    assert read(store, first.train, "id")["id"].tolist() == [0, 1, 2]


CONNECT = """
import sys
from sparkdl_ring.launch.java import spark_java_home
from sparkdl_ring.config import scoped_environment
from sparkdl_ring.data import materialize, open_batches, ReadOptions, Split
from sparkdl_ring.store import open_store
with scoped_environment({"JAVA_HOME": str(spark_java_home()), "PYSPARK_PYTHON": sys.executable,
                         "SPARK_LOCAL_IP": "127.0.0.1"}):
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    assert "connect" in type(spark).__module__
    from pyspark.ml.linalg import Vectors
    rows = [(i, Vectors.dense([float(i), 1.0]), i % 4 == 0) for i in range(20)]
    df = spark.createDataFrame(rows, ["a.b", "v", "late"])
    store = open_store(sys.argv[1])
    done = materialize(df, store, columns=["a.b", "v"], split=Split("late"))
    with open_batches(store, done.train, ReadOptions(["a.b", "v"], 100)) as batches:
        (batch,) = batches
    assert sorted(batch.columns["a.b"]) == [i for i in range(20) if i % 4]
    assert (batch.columns["v"][:, 0] == batch.columns["a.b"]).all()
    assert done.validation.rows == 5
    print("done over connect")
    spark.stop()
"""


@pytest.mark.slow
def test_spark_connect_is_no_different(tmp_path) -> None:
    root = Path(__file__).resolve().parents[2]
    result = subprocess.run(
        [sys.executable, "-c", CONNECT, str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert "done over connect" in result.stdout, result.stderr[-3000:]
