"""Every row is in exactly one shard, shards differ by at most one row, the order depends on its arguments."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.data.shards import RowRange, batch_bounds, num_steps, plan, shard_bounds
from sparkdl_ring.errors import ConfigError

layouts = st.lists(st.lists(st.integers(0, 40), max_size=6), max_size=6)
sizes = st.integers(1, 9)
seeds = st.integers(-(2**70), 2**70)


def _rows(ranges: list[RowRange]) -> list[tuple[int, int, int]]:
    return [(r.file, r.row_group, row) for r in ranges for row in range(r.start, r.stop)]


def _all(groups) -> list[tuple[int, int, int]]:
    return [(f, g, r) for f, file in enumerate(groups) for g, rows in enumerate(file) for r in range(rows)]


@given(layouts, sizes, seeds, st.integers(0, 5), st.booleans())
def test_shards_are_a_partition_of_all_rows(groups, size, seed, epoch, shuffle) -> None:
    shards = [plan(groups, size, rank, seed, epoch, shuffle) for rank in range(size)]
    assert sorted(row for shard in shards for row in _rows(shard)) == _all(groups)
    counts = [len(_rows(shard)) for shard in shards]
    assert max(counts) - min(counts) <= 1
    assert counts == sorted(counts, reverse=True)
    assert all(r.rows >= 1 for shard in shards for r in shard)


@given(layouts, sizes)
def test_without_shuffle_shards_follow_the_files(groups, size) -> None:
    shards = [plan(groups, size, rank, 0, 0, False) for rank in range(size)]
    assert [row for shard in shards for row in _rows(shard)] == _all(groups)


@given(layouts, sizes, seeds, st.integers(0, 5))
def test_the_order_of_groups_does_not_depend_on_the_number_of_ranks(groups, size, seed, epoch) -> None:
    one = _rows(plan(groups, 1, 0, seed, epoch, True))
    assert [row for rank in range(size) for row in _rows(plan(groups, size, rank, seed, epoch, True))] == one


def test_each_epoch_and_seed_has_its_own_order() -> None:
    groups = [[10] * 8] * 4
    orders = {tuple(plan(groups, 1, 0, seed, epoch, True)) for seed in (7, 8) for epoch in range(4)}
    assert len(orders) == 8
    assert plan(groups, 1, 0, 7, 0, True) == plan(groups, 1, 0, 7, 0, True)


@given(st.integers(0, 10**12), sizes)
def test_bounds_meet_without_gap(rows, size) -> None:
    bounds = [shard_bounds(rows, size, rank) for rank in range(size)]
    assert bounds[0][0] == 0
    assert bounds[-1][1] == rows
    assert all(left[1] == right[0] for left, right in pairwise(bounds))


@pytest.mark.parametrize(("rows", "size", "rank"), [(-1, 1, 0), (5, 2, 2), (5, 2, -1), (5, 0, 0)])
def test_a_shard_that_is_not_there_is_refused(rows: int, size: int, rank: int) -> None:
    with pytest.raises(ConfigError, match="no shard"):
        shard_bounds(rows, size, rank)


@given(st.integers(0, 500), st.integers(1, 70), st.booleans())
def test_batches_cover_a_shard(rows, batch_size, spread) -> None:
    bounds = batch_bounds(rows, batch_size, spread)
    assert [row for start, stop in bounds for row in range(start, stop)] == list(range(rows))
    sizes_of = [stop - start for start, stop in bounds]
    assert all(size == batch_size for size in sizes_of[:-1])
    assert all(1 <= size <= batch_size + spread for size in sizes_of)


@pytest.mark.parametrize(
    ("rows", "batch_size", "spread", "sizes_of"),
    [
        (9, 8, False, [8, 1]),
        (9, 8, True, [9]),
        (17, 8, True, [8, 9]),
        (10, 8, True, [8, 2]),
        (16, 8, True, [8, 8]),
        (1, 8, True, [1]),
        (3, 1, True, [1, 1, 1]),
        (3, 2, True, [3]),
        (0, 8, True, []),
    ],
)
def test_a_tail_of_one_row_joins_the_batch_before(rows, batch_size, spread, sizes_of) -> None:
    assert [stop - start for start, stop in batch_bounds(rows, batch_size, spread)] == sizes_of


@given(st.integers(0, 500), sizes, st.integers(1, 70), st.booleans())
def test_steps_are_the_most_batches_of_any_rank(rows, size, batch_size, spread) -> None:
    shards = [stop - start for start, stop in (shard_bounds(rows, size, rank) for rank in range(size))]
    most = max(len(batch_bounds(shard, batch_size, spread)) for shard in shards)
    assert num_steps(rows, size, batch_size, spread) == most


def test_a_batch_has_rows() -> None:
    with pytest.raises(ConfigError, match="batch_size is 0"):
        batch_bounds(5, 0)
