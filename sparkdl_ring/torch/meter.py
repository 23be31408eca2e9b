"""Means over all rows of all ranks, added up in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparkdl_ring.comm import Communicator


class Meter:
    """Adds up figures of batches, weighted by their rows.

    Args:
        names: Figures, the same on every rank: a rank without rows takes part all the same.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._sums = np.zeros(len(self._names) + 1)

    @property
    def rows(self) -> float:
        """Rows added on this rank."""
        return float(self._sums[-1])

    def add(self, figures: Sequence[float], rows: int) -> None:
        """Adds the means of one batch."""
        self._sums += np.array([*figures, 1.0]) * rows

    def reduce(self, comm: Communicator, label: str) -> tuple[dict[str, float], int]:
        """Means over all ranks and the number of rows; no figures when there was no row. Collective."""
        sums = comm.allreduce(self._sums, op="sum", name=label)
        rows = sums[-1]
        means = {} if rows == 0 else dict(zip(self._names, (sums[:-1] / rows).tolist(), strict=True))
        return means, int(rows)
