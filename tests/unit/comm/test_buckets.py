"""Bucket plans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.comm import plan_buckets
from sparkdl_ring.errors import ConfigError

ITEMS = st.lists(st.tuples(st.integers(0, 50), st.sampled_from(["float32", "bfloat16"])))


@given(ITEMS, st.integers(1, 60))
def test_every_item_once_one_dtype_a_bucket_and_within_the_limit(items, limit):
    sizes, dtypes = [s for s, _ in items], [d for _, d in items]
    buckets = plan_buckets(sizes, dtypes, limit)
    assert sorted(i for bucket in buckets for i in bucket) == list(range(len(items)))
    assert [b[-1] for b in buckets] == sorted(b[-1] for b in buckets)
    for bucket in buckets:
        assert bucket == sorted(bucket)
        assert len({dtypes[i] for i in bucket}) == 1
        assert len(bucket) == 1 or sum(sizes[i] for i in bucket) <= limit


def test_neighbours_are_filled_greedily():
    assert plan_buckets([4, 4, 4, 20, 1], ["f"] * 5, 8) == [[0, 1], [2], [3], [4]]
    assert plan_buckets([4, 4, 4, 4], ["f", "h", "f", "h"], 8) == [[0, 2], [1, 3]]
    assert plan_buckets([], [], 8) == []


def test_wrong_arguments_are_refused():
    with pytest.raises(ConfigError):
        plan_buckets([1], ["f"], 0)
    with pytest.raises(ConfigError):
        plan_buckets([1], [], 8)
