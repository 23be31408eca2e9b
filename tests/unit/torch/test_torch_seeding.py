"""Random draws are a function of (seed, epoch, rank), and a fit leaves none behind."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from sparkdl_ring.torch.seeding import random_state_kept, seed_epoch


def _draws(*place: int) -> tuple[float, float, float]:
    with random_state_kept():
        seed_epoch(*place)
        return torch.rand(()).item(), float(np.random.random()), random.random()


def test_the_same_place_draws_the_same():
    assert _draws(3, 1, 2) == _draws(3, 1, 2)


@pytest.mark.parametrize("other", [(4, 1, 2), (3, 2, 2), (3, 1, 1), (-3, 1, 2), (2**64 - 1, 1, 2)])
def test_another_seed_epoch_or_rank_draws_other_numbers(other):
    assert all(a != b for a, b in zip(_draws(3, 1, 2), _draws(*other), strict=True))


def test_states_come_back_even_after_a_failure():
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()

    @random_state_kept()
    def fail() -> None:
        seed_epoch(1, 2, 3)
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]
    assert random.getstate() == before[2]
