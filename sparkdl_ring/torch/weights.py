"""How much each rank counts in a step: its weight, divided by that of all ranks."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from sparkdl_ring.comm import Communicator
from sparkdl_ring.errors import ConfigError


class Weights(Protocol):
    """The weights of one step."""

    are_equal: bool
    """Whether all ranks count the same, without asking them."""

    @property
    def total(self) -> float:
        """Weight of all ranks."""

    @property
    def share(self) -> float:
        """Weight of this rank divided by the total; 0 when the total is 0."""


class EqualWeights:
    """Every rank counts the same: the plain mean.

    Args:
        size: Number of ranks.
    """

    are_equal = True

    def __init__(self, size: int) -> None:
        self.total = float(size)
        self.share = 1.0 / size


class StepWeights:
    """The weight each rank gave for this step. They are summed in float64, behind the forward pass.

    Args:
        comm: The ranks.
        weight: Rows (or summed sample weights) of this rank; 0 takes part without counting.
        name: Shown in errors.
    """

    are_equal = False

    def __init__(self, comm: Communicator, weight: float, name: str) -> None:
        if not (math.isfinite(weight) and weight >= 0):
            raise ConfigError(f"the weight of a step must be finite and not negative, not {weight}")
        self._weight = float(weight)
        self._sum = np.array([weight], np.float64)
        self._work = comm.allreduce_async_(self._sum, op="sum", name=f"{name} weight")

    @property
    def total(self) -> float:
        self._work.wait()
        return float(self._sum[0])

    @property
    def share(self) -> float:
        return self._weight / self.total if self.total > 0 else 0.0
