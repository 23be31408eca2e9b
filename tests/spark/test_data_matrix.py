"""Every row exactly once per epoch, for every mix of rows, partitions, row groups, ranks and batch sizes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data import Dataset, ReadOptions, global_batches, materialize, open_batches
from sparkdl_ring.store import Store, open_store

pytestmark = pytest.mark.spark

ROWS = (1, 2, 7, 1000)
PARTITIONS = (1, 3, 8)
GROUP_ROWS = (1, 10, 0)  # 0: as large as may be, which is all rows of a partition
RANKS = (1, 2, 3)
BATCHES = (1, 4, 64)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return open_store(str(tmp_path_factory.mktemp("matrix")))


def _frame(spark, rows: int, partitions: int):
    """Ids 0 to rows - 1; with eight partitions about half, the first ones, are empty."""
    if partitions < 8:
        return spark.range(0, rows, 1, partitions)
    return spark.range(0, 2 * rows, 1, partitions).where(f"id >= {rows}").selectExpr(f"id - {rows} AS id")


def _read(store: Store, data: Dataset, options: ReadOptions, place: tuple[int, int], config: DataConfig):
    with open_batches(store, data, options, world=place, config=config) as batches:
        return [batch.columns["id"] for batch in batches]


@pytest.mark.parametrize("group_rows", GROUP_ROWS)
@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("rows", ROWS)
def test_every_row_once(spark, store, rows: int, partitions: int, group_rows: int) -> None:
    config = DataConfig(row_group_rows=group_rows, shuffle_rows=128)
    data = materialize(_frame(spark, rows, partitions), store, columns=["id"], config=config).train
    assert data.rows == rows
    assert all(0 < n <= (group_rows or rows) for groups in data.row_groups for n in groups)
    stored = np.concatenate(_read(store, data, ReadOptions(("id",), 64, shuffle=False), (0, 1), config))
    assert sorted(stored) == list(range(rows))
    for size, batch_size, epoch in product(RANKS, BATCHES, (0, 1)):
        options = ReadOptions(("id",), batch_size, seed=rows, epoch=epoch)
        seen = [_read(store, data, options, (rank, size), config) for rank in range(size)]
        told = global_batches(data, size, options, config)
        for rank, batches in enumerate(seen):
            expected = [stored[step[rank]].tolist() for step in told if len(step[rank])]
            assert [ids.tolist() for ids in batches] == expected
        assert sorted(np.concatenate([ids for batches in seen for ids in batches])) == list(range(rows))
        assert len(told) == max(len(batches) for batches in seen)
