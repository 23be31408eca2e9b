"""Which row is where: the exact content of every batch of an epoch, without reading anything.

This is what a fit promises to see, and what tests compare it with. :mod:`sparkdl_ring.data.reader` streams
the same order from the same functions.
"""

from __future__ import annotations

import numpy as np

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.manifest import Dataset
from sparkdl_ring.data.options import ReadOptions
from sparkdl_ring.data.shards import batch_bounds, num_steps, plan, row_generator
from sparkdl_ring.data.shuffle import Indices, pool_orders, pool_rows, pools


def rank_order(
    dataset: Dataset, world: tuple[int, int], options: ReadOptions, config: DataConfig | None = None
) -> Indices:
    """Positions of the rows that one rank sees in one epoch, in order.

    Args:
        dataset: The dataset; a position is the index of a row in file order.
        world: Rank and size.
        options: Seed, epoch and whether to shuffle.
        config: Bounds of the shuffle pool.
    """
    rank, size = world
    starts = _group_starts(dataset)
    ranges = plan(dataset.row_groups, size, rank, options.seed, options.epoch, options.shuffle)
    parts = [starts[r.file][r.row_group] + np.arange(r.start, r.stop) for r in ranges]
    rows = np.concatenate([np.empty(0, np.int64), *parts])
    if not options.shuffle:
        return rows
    bound = pool_rows(dataset.row_bytes, config or DataConfig())
    draws = row_generator(options.seed, options.epoch, rank, size)
    orders = pool_orders(len(rows), bound, draws)
    cuts = pools(len(rows), bound)
    shuffled = [rows[start:stop][order] for (start, stop), order in zip(cuts, orders, strict=True)]
    return np.concatenate([np.empty(0, np.int64), *shuffled])


def global_batches(
    dataset: Dataset, size: int, options: ReadOptions, config: DataConfig | None = None
) -> list[list[Indices]]:
    """Positions of the rows of every step and rank: ``result[step][rank]``.

    Args:
        dataset: The dataset; a position is the index of a row in file order.
        size: Number of ranks.
        options: What the ranks pass to ``open_batches``.
        config: Bounds of the shuffle pool.

    Returns:
        One list a step, with one (perhaps empty) array a rank. Over all of them every position is there once.
    """
    steps = num_steps(dataset.rows, size, options.batch_size, options.spread_tail)
    by_rank = []
    for rank in range(size):
        order = rank_order(dataset, (rank, size), options, config)
        bounds = batch_bounds(len(order), options.batch_size, options.spread_tail)
        batches = [order[start:stop] for start, stop in bounds]
        by_rank.append(batches + [order[:0]] * (steps - len(batches)))
    return [[by_rank[rank][step] for rank in range(size)] for step in range(steps)]


def _group_starts(dataset: Dataset) -> list[Indices]:
    starts, at = [], 0
    for groups in dataset.row_groups:
        ends = at + np.cumsum(groups, dtype=np.int64)
        starts.append(ends - np.asarray(groups, dtype=np.int64))
        at = int(ends[-1]) if len(ends) else at
    return starts
