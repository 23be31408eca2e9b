"""What a model gives becomes a column of the right type, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.ml.outputs import OutputSpec, describe


@pytest.mark.parametrize(
    ("output", "sql_type"),
    [
        (np.zeros(3, np.float32), "double"),
        (np.zeros((3, 1), np.float64), "double"),
        (np.zeros((3, 2), np.float32), "array<float>"),
        (np.zeros((3, 2), np.float64), "array<double>"),
        (np.zeros(3, np.int64), "bigint"),
        (np.zeros((3, 2), np.int32), "array<bigint>"),
        (np.zeros(3, bool), "boolean"),
    ],
)
def test_types(output: np.ndarray, sql_type: str) -> None:
    (spec,) = describe([output], ["p"], 3)
    assert spec.sql_type == sql_type
    assert len(spec.to_arrow(output)) == 3


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([], "0 output"),
        ([np.zeros(3), np.zeros(3)], "2 output"),
        ([np.float32(1)], "rows must come first"),
        ([np.zeros(4)], "rows must come first"),
        ([np.zeros((3, 2, 2))], "output_transform"),
        ([np.zeros(3, complex)], "output_transform"),
    ],
)
def test_what_fits_no_column_is_refused(outputs: list[np.ndarray], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        describe(outputs, ["p"], 3)


def test_rows_of_another_shape_are_refused() -> None:
    with pytest.raises(ConfigError, match="when it was fit"):
        OutputSpec("float32", (2,)).to_arrow(np.zeros((3, 4), np.float32))


def test_values_and_nan_stay_what_they_are() -> None:
    one, two = OutputSpec("float32", ()), OutputSpec("float32", (2,))
    rows = np.array([[1, np.nan], [3, 4]], np.float32)
    assert str(one.to_arrow(rows[:, :1]).to_pylist()) == "[1.0, 3.0]"
    assert str(one.to_arrow(rows[:, 1]).to_pylist()) == "[nan, 4.0]"
    assert str(two.to_arrow(rows.T).to_pylist()) == "[[1.0, 3.0], [nan, 4.0]]"
    assert two.to_arrow(two.empty()).to_pylist() == []
