from __future__ import annotations

import json
import pickle

import pytest

from sparkdl_ring.data import ColumnSpec, DataFile, Dataset
from sparkdl_ring.data.encode import Measure
from sparkdl_ring.data.manifest import digest_of
from sparkdl_ring.data.report import Report, faults, merge_measures, with_shapes
from sparkdl_ring.data.schema import row_bytes, select, stored_name
from sparkdl_ring.errors import DataError, SchemaError, StoreError
from sparkdl_ring.store import open_store

COLUMNS = (
    ColumnSpec("a.b", "int64"),
    ColumnSpec("\u00fc %", "float32", (3,), "array"),
    ColumnSpec("v", "float64", (2,), "vector"),
)
FILES = (DataFile("datasets/d/p0", ((10, 360), (5, 180)), "aa"), DataFile("datasets/d/p1", ((1, 36),), "bb"))
DATASET = Dataset("d", COLUMNS, FILES, "cc")


def test_a_dataset_comes_back(tmp_path) -> None:
    store = open_store(str(tmp_path))
    assert Dataset.load(store, DATASET.save(store)) == DATASET
    assert pickle.loads(pickle.dumps(DATASET)) == DATASET


def test_sums() -> None:
    assert (DATASET.rows, DATASET.bytes, DATASET.row_bytes) == (16, 576, 8 + 12 + 16)
    assert DATASET.row_groups == ((10, 5), (1,))
    assert DATASET.manifest == "datasets/d/manifest.json"


def test_a_dataset_that_was_never_finished_is_missing(tmp_path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        Dataset.load(open_store(str(tmp_path)), DATASET.manifest)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1, "columns": 3}', "\u00ff"])
def test_what_is_no_manifest_is_refused(tmp_path, text: str) -> None:
    store = open_store(str(tmp_path))
    store.write("m", text.encode("latin-1"))
    with pytest.raises(DataError, match="not the manifest of a dataset"):
        Dataset.load(store, "m")


def test_the_digest_is_of_values_not_of_names() -> None:
    renamed = [DataFile(f"other{i}", file.row_groups, file.digest) for i, file in enumerate(FILES)]
    assert digest_of(COLUMNS, FILES) == digest_of(COLUMNS, renamed)
    assert digest_of(COLUMNS, FILES) != digest_of(COLUMNS, FILES[::-1])
    assert digest_of(COLUMNS, FILES) != digest_of(COLUMNS[:2], FILES)


def test_columns_are_selected_in_the_wanted_order() -> None:
    chosen = select(COLUMNS, ["v", "a.b", "v"])
    assert list(chosen) == [stored_name(2), stored_name(0)]
    with pytest.raises(SchemaError, match=r"no column\(s\) \['a', 'zzz'\]"):
        select(COLUMNS, ["a", "zzz", "v"])
    with pytest.raises(SchemaError):
        select(COLUMNS, [])


def test_bytes_of_a_row() -> None:
    assert row_bytes(COLUMNS) == 36
    assert row_bytes([ColumnSpec("b", "bool")]) == 1
    assert row_bytes([]) == 1


def test_a_report_crosses_as_text() -> None:
    report = Report(3, [Measure(1, 0, 2, 2), Measure()], 1, 9, FILES[0], None, "")
    assert Report.from_json(report.to_json()) == report
    assert Report.from_json(Report(0, error="full").to_json()).error == "full"


def test_reports_add_up_to_shapes_and_faults() -> None:
    good = [Report(0, [Measure(), Measure(0, 0, 3, 3), Measure(0, 0, 2, 2)]), Report(1, [Measure()] * 3)]
    total = merge_measures(good, COLUMNS)
    assert faults(COLUMNS, total, None, 0) == []
    unknown = [ColumnSpec(c.name, c.dtype, (-1,) if c.shape else (), c.kind) for c in COLUMNS]
    assert with_shapes(unknown, total) == COLUMNS


def test_every_fault_is_told() -> None:
    measures = [Measure(nulls=2), Measure(0, 4, 1, 2), Measure(0, 0, 3, 4)]
    text = "\n".join(faults(COLUMNS, measures, "split", 5))
    for part in (
        "'a.b' has 2 null(s)",
        "'\u00fc %' has 4 null(s) inside",
        "arrays of different sizes, from 1 to 2",
        "'v' holds vectors of different sizes, from 3 to 4",
        "'split' has 5 null(s)",
    ):
        assert part in text
    assert "empty arrays" in "".join(faults(COLUMNS[1:2], [Measure(0, 0, 0, 0)], None, 0))


def test_the_manifest_is_plain_json(tmp_path) -> None:
    store = open_store(str(tmp_path))
    document = json.loads(store.read(DATASET.save(store)))
    assert document["rows"] == 16
    assert document["columns"][1] == {"name": "\u00fc %", "dtype": "float32", "shape": [3], "kind": "array"}
