"""Places from host identities."""

from __future__ import annotations

import pytest

from sparkdl_ring.rendezvous.topology import local_place, ranks_by_host, shared_addresses

HOSTS = ["a", "b", "a", "a", "b"]


@pytest.mark.parametrize(("rank", "place"), [(0, (0, 3)), (1, (0, 2)), (2, (1, 3)), (3, (2, 3)), (4, (1, 2))])
def test_local_places_follow_rank_order(rank, place):
    assert local_place(HOSTS, rank) == place


def test_groups_are_ordered_by_lowest_rank():
    assert ranks_by_host(HOSTS) == {"a": [0, 2, 3], "b": [1, 4]}


def test_an_address_of_two_hosts_is_found():
    assert shared_addresses(HOSTS, ["x", "y", "x", "x", "y"]) == {}
    assert shared_addresses(HOSTS, ["172.17.0.1"] * 4 + ["y"]) == {"172.17.0.1": [0, 1, 2, 3]}
