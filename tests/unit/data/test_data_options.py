from __future__ import annotations

import pytest

from sparkdl_ring.data import ReadOptions, Split
from sparkdl_ring.errors import ConfigError


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan"), 2, 1, True, ""])
def test_a_split_that_cannot_be_is_refused(share) -> None:
    with pytest.raises(ConfigError, match="validation is"):
        Split(share)


def test_a_split_by_column_names_it() -> None:
    assert Split("is val").column == "is val"
    assert Split(0.25).column is None
    assert Split().column is None


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"epoch": -1}, {"source": "csv"}])
def test_wrong_options_are_refused(wrong) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ReadOptions(**{"columns": ("x",), "batch_size": 1, **wrong})


def test_columns_may_come_as_any_sequence() -> None:
    assert ReadOptions(["a", "b"], 1) == ReadOptions(("a", "b"), 1)
