from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.data.rows import RowQueue


@given(st.lists(st.integers(0, 20), max_size=20), st.integers(1, 15))
def test_rows_leave_in_the_order_they_came(chunks, step) -> None:
    total, queue, out = 0, RowQueue(), []
    for rows in chunks:
        ids = np.arange(total, total + rows)
        queue.push({"id": ids, "pair": np.stack([ids, -ids], axis=1)})
        total += rows
        while len(queue) >= step:
            out.append(queue.take(step))
    if len(queue):
        out.append(queue.take(len(queue)))
    seen = [part["id"] for part in out]
    assert np.array_equal(np.concatenate([*seen, []]), np.arange(total))
    assert all(np.array_equal(part["pair"], np.stack([part["id"], -part["id"]], axis=1)) for part in out)
    assert all(len(part["id"]) == step for part in out[:-1])


def test_what_is_taken_is_owned_and_writable() -> None:
    source = np.arange(6)
    source.flags.writeable = False
    queue = RowQueue()
    queue.push({"id": source})
    taken = queue.take(6)["id"]
    assert taken.flags.writeable
    assert taken.flags.c_contiguous
    assert not np.shares_memory(taken, source)
