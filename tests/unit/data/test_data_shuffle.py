from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.shards import row_generator
from sparkdl_ring.data.shuffle import pool_orders, pool_rows, pools


@given(st.integers(0, 2000), st.integers(1, 300))
def test_pools_are_even_and_bounded(rows, bound) -> None:
    cuts = pools(rows, bound)
    sizes = [stop - start for start, stop in cuts]
    assert sum(sizes) == rows
    assert all(1 <= size <= bound for size in sizes)
    assert not sizes or max(sizes) - min(sizes) <= 1


@given(st.integers(0, 500), st.integers(1, 100), st.integers(0, 9))
def test_each_pool_is_permuted(rows, bound, seed) -> None:
    orders = list(pool_orders(rows, bound, row_generator(seed, 0, 0, 1)))
    assert [len(order) for order in orders] == [stop - start for start, stop in pools(rows, bound)]
    assert all(sorted(order) == list(range(len(order))) for order in orders)


def test_the_draws_depend_on_every_argument() -> None:
    places = [(1, 0, 0, 2), (2, 0, 0, 2), (1, 1, 0, 2), (1, 0, 1, 2), (1, 0, 0, 3)]
    first = {tuple(row_generator(*place).permutation(50)) for place in places}
    assert len(first) == len(places)
    again = row_generator(*places[0]).permutation(50)
    assert np.array_equal(again, row_generator(*places[0]).permutation(50))


def test_the_pool_is_bounded_by_rows_and_by_bytes() -> None:
    config = DataConfig(shuffle_rows=1000, shuffle_bytes=64_000)
    assert pool_rows(8, config) == 1000
    assert pool_rows(640, config) == 100
    assert pool_rows(4 << 20, config) == 1
    assert pool_rows(0, config) == 1000
