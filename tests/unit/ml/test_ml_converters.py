"""What users pass (NumPy scalars, arrays, tuples) becomes plain JSON, or is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.ml import converters as to


@pytest.mark.parametrize(
    ("converter", "value", "expected"),
    [
        (to.to_count, np.int64(8), 8),
        (to.to_count, np.float32(8.0), 8),
        (to.to_int, np.int8(-3), -3),
        (to.to_rate, np.float32(0.1), 0.1),
        (to.to_float, np.int32(2), 2.0),
        (to.to_bool, np.bool_(True), True),
        (to.to_names, "x", ["x"]),
        (to.to_names, np.array(["a", "b.c"]), ["a", "b.c"]),
        (to.to_floats, (np.float64(1.5), 2), [1.5, 2.0]),
        (to.to_validation, np.float64(0.25), 0.25),
        (to.to_validation, "held", "held"),
        (to.to_settings, {"comm.timeout_s": np.float64(5)}, {"comm.timeout_s": 5.0}),
    ],
)
def test_values_become_plain(converter: to.Converter, value: object, expected: object) -> None:
    converted = converter(value)
    assert converted == expected
    assert json.loads(json.dumps(converted)) == expected


@pytest.mark.parametrize(
    ("converter", "value"),
    [
        (to.to_count, 0),
        (to.to_count, 1.5),
        (to.to_count, True),
        (to.to_count, "8"),
        (to.to_rate, 0.0),
        (to.to_rate, float("nan")),
        (to.to_bool, 1),
        (to.to_text, ""),
        (to.to_names, []),
        (to.to_names, ["a", "a"]),
        (to.to_names, [1]),
        (to.to_floats, "1"),
        (to.to_validation, 1.0),
        (to.to_validation, 0),
        (to.one_of("a", "b"), "c"),
        (to.to_settings, ["comm.timeout_s"]),
    ],
)
def test_wrong_values_are_refused(converter: to.Converter, value: object) -> None:
    with pytest.raises(TypeError):
        converter(value)


@pytest.mark.parametrize("settings", [{"comm.nothing": 1}, {"comm.timeout_s": "soon"}])
def test_unknown_or_wrong_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="comm"):
        to.to_settings(settings)
