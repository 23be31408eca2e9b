from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.data import Split
from sparkdl_ring.data.split import Pin, Splitter, pin_for, take


def _mask(split: Split, partition: int, steps: list[int], pin: Pin | None = None) -> np.ndarray:
    splitter = Splitter(split, partition, pin)
    return np.concatenate([np.zeros(0, bool), *(splitter.mask(rows, None) for rows in steps)])


@given(st.lists(st.integers(0, 30), max_size=10), st.integers(0, 99))
def test_the_draw_does_not_depend_on_how_rows_are_batched(steps, seed) -> None:
    split = Split(0.3, seed)
    assert np.array_equal(_mask(split, 2, steps), _mask(split, 2, [sum(steps)]))


def test_the_draw_depends_on_seed_and_partition() -> None:
    masks = {tuple(_mask(Split(0.5, seed), partition, [64])) for seed in (1, 2) for partition in (0, 1)}
    assert len(masks) == 4


def test_a_share_is_about_that_share() -> None:
    assert abs(_mask(Split(0.2, 3), 0, [100_000]).mean() - 0.2) < 0.01


def test_no_split_keeps_nothing() -> None:
    assert not _mask(Split(), 0, [100]).any()


def test_a_column_decides() -> None:
    splitter = Splitter(Split("v"), 0)
    assert splitter.mask(3, pa.array([True, False, True])).tolist() == [True, False, True]
    assert splitter.mask(3, pa.array([0, 1, -2], pa.int32())).tolist() == [False, True, True]


def test_a_pin_fixes_one_row_of_one_partition() -> None:
    split = Split(0.5, 1)
    free = _mask(split, 1, [4, 6])
    for side in (False, True):
        pinned = _mask(split, 1, [4, 6], Pin(1, 7, side))
        assert pinned[7] == side
        assert np.array_equal(np.delete(pinned, 7), np.delete(free, 7))
    assert np.array_equal(_mask(split, 1, [4, 6], Pin(0, 7, not free[7])), free)


@given(st.dictionaries(st.integers(0, 9), st.integers(0, 5)), st.data())
def test_after_pinning_both_sides_have_rows(rows, data) -> None:
    total = sum(rows.values())
    kept = data.draw(st.sampled_from([0, total]))
    pin = pin_for(Split(0.4, 9), rows, kept)
    if total == 0 or (total == 1 and kept == 0):
        assert pin is None
        return
    assert pin is not None
    assert 0 <= pin.row < rows[pin.partition]
    assert pin.validation == (kept == 0)


def test_nothing_is_pinned_when_the_draw_may_stand() -> None:
    assert pin_for(Split(0.4), {0: 3}, 1) is None
    assert pin_for(Split("v"), {0: 3}, 0) is None
    assert pin_for(Split(), {0: 3}, 0) is None


def test_taking_all_copies_nothing() -> None:
    columns = {"x": np.arange(3)}
    assert take(columns, np.ones(3, bool)) is columns
    assert take(columns, np.array([False, True, False]))["x"].tolist() == [1]
