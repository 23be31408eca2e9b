"""Random draws of the trainer (dropout and the like) as a function of (seed, epoch, rank)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

_PURPOSE = 3  # the data room draws row orders for purposes 1 and 2


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Gives the process its random states back afterwards: a fit inside a worker is a guest there."""
    kept = torch.get_rng_state(), np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        torch.set_rng_state(kept[0])
        np.random.set_state(kept[1])
        random.setstate(kept[2])


def seed_epoch(seed: int, epoch: int, rank: int) -> None:
    """Starts the generators of torch, NumPy and Python anew: a resumed epoch draws what it would have."""
    draws = np.random.SeedSequence((seed % 2**64, epoch, rank, _PURPOSE)).generate_state(3)
    torch.manual_seed(int(draws[0]) << 31 | int(draws[1]) >> 1)
    np.random.seed(int(draws[1]))
    random.seed(int(draws[2]))
