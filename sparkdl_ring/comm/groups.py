"""The place of a rank in a group of some ranks: pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkdl_ring.rendezvous.topology import local_place
from sparkdl_ring.world import World


def place_in(world: World, ranks: Sequence[int], places: Sequence[str]) -> World:
    """The place among ``ranks`` of the rank that has ``world`` among all.

    Args:
        world: Own place among all ranks; one of ``ranks``.
        ranks: The members, numbered anew in this order.
        places: What tells their hosts apart, by new rank; empty where nobody knows.
    """
    rank = list(ranks).index(world.rank)
    local_rank, local_size = local_place(places, rank) if places else (0, 1)
    return replace(world, rank=rank, size=len(ranks), local_rank=local_rank, local_size=local_size)
