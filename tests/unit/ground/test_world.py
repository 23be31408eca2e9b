"""World refuses places that cannot be."""

from __future__ import annotations

import pytest

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.job import EpochRecord
from sparkdl_ring.world import SINGLE, World


def test_the_single_world_is_its_own_chief() -> None:
    assert SINGLE.is_chief
    assert not World(rank=1, size=2).is_chief


@pytest.mark.parametrize(
    "place",
    [
        {"rank": 2, "size": 2},
        {"rank": -1, "size": 2},
        {"rank": 0, "size": 0},
        {"rank": 0, "size": 2, "local_rank": 1},
        {"rank": 0, "size": 1, "local_size": 2},
    ],
)
def test_impossible_places_are_refused(place: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        World(**place)


def test_an_epoch_record_survives_json() -> None:
    record = EpochRecord(epoch=1, metrics={"loss": 0.5, "val_loss": float("inf")}, rows=7, seconds=0.25)
    assert EpochRecord.from_json(record.to_json()) == record
