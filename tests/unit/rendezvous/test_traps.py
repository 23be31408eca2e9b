"""Published addresses that cannot connect the ranks: LOG-109, LOG-111."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from sparkdl_ring.errors import RendezvousError
from sparkdl_ring.rendezvous.traps import check_addresses, check_routes


@dataclass
class At:
    rank: int
    host: str
    listen: str
    network: str = ""

    def __post_init__(self):
        self.network = self.network or self.host


def places(*addresses):
    return [At(rank, f"h{rank}", address) for rank, address in enumerate(addresses)]


def test_loopback_serves_ranks_of_one_network_stack():
    check_addresses([At(0, "a", "127.0.0.1"), At(1, "a", "127.0.0.1")])
    check_addresses([At(0, "a", "127.0.0.1", "n"), At(1, "b", "127.0.0.1", "n")])


@pytest.mark.parametrize("loopback", ["127.0.0.1", "127.0.1.1", "::1"])
def test_loopback_is_not_published_to_another_host(loopback):
    with pytest.raises(RendezvousError, match=rf"publishes {loopback}.*rank 0 on host h0") as caught:
        check_addresses(places("10.0.0.1", loopback))
    assert (caught.value.rank, caught.value.host) == (1, "h1")


@pytest.mark.parametrize("bridge", ["172.17.0.1", "fe80::1"])
def test_one_bridge_address_on_two_hosts_is_refused(bridge):
    with pytest.raises(RendezvousError, match=rf"hosts h0, h2 all publish address {bridge}"):
        check_addresses(places(bridge, "10.0.0.2", bridge))


def test_each_way_is_asked_of_the_kernel():
    check_routes(0, places("10.0.0.1", "10.0.0.2"), {"10.0.0.2": "10.0.0.1"}.get)


def test_an_address_without_a_way_is_named():
    with pytest.raises(RendezvousError, match=r"h0 has no route to 10.0.0.2.*rank 1") as caught:
        check_routes(0, places("10.0.0.1", "10.0.0.2"), lambda _: None)
    assert caught.value.rank == 1


def test_an_address_that_is_ours_too_is_named():
    with pytest.raises(RendezvousError, match=r"owns itself the address 172\.17\.0\.1"):
        check_routes(0, places("10.0.0.1", "172.17.0.1"), lambda peer: peer)


def test_ranks_of_one_network_stack_need_no_way():
    check_routes(0, [At(0, "a", "127.0.0.1"), At(1, "a", "127.0.0.1")], lambda _: None)


def test_link_local_addresses_are_seen_from_the_own_interface():
    asked = []
    check_routes(0, places("fe80::1%eth0", "fe80::2%enp3s0"), lambda p: asked.append(p) or "fe80::1%eth0")
    assert asked == ["fe80::2%eth0"]
