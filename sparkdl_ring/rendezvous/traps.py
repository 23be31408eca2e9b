"""Addresses that look right and cannot connect: loopback, bridges and NAT between hosts. Refused in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sparkdl_ring.errors import RendezvousError
from sparkdl_ring.rendezvous.addresses import is_loopback, parse, route_to, without_scope
from sparkdl_ring.rendezvous.topology import shared_addresses

_ADVICE = (
    "set comm.interface to the network that connects the hosts: "
    "a network '10.0.0.0/16', names 'eno1,enp3s0', or an address"
)


class Place(Protocol):
    """Where one rank listens.

    Attributes:
        rank: The rank.
        host: Its host's name, for messages.
        network: Identity of its network stack: equal where loopback leads from one to the other.
        listen: The numeric address that it publishes.
    """

    @property
    def rank(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def network(self) -> str: ...
    @property
    def listen(self) -> str: ...


def check_addresses(places: Sequence[Place]) -> None:
    """Raises where what was published cannot connect the ranks, the same on all of them.

    Raises:
        RendezvousError: A loopback address is published to another host, or two hosts publish one address.
    """
    networks = [place.network for place in places]
    if len(set(networks)) == 1:
        return
    for place in places:
        if is_loopback(place.listen):
            other = next(p for p in places if p.network != place.network)
            raise RendezvousError(
                f"rank {place.rank} on host {place.host} publishes {place.listen}, which leads nowhere from "
                f"rank {other.rank} on host {other.host}: all addresses it was given for the others are its "
                f"own (a host name that is 127.0.1.1 in /etc/hosts, or a bridge); {_ADVICE}",
                rank=place.rank,
                host=place.host,
            )
    clashes = shared_addresses(networks, [without_scope(place.listen) for place in places])
    for address, ranks in clashes.items():
        hosts = ", ".join(dict.fromkeys(places[r].host for r in ranks))
        raise RendezvousError(
            f"hosts {hosts} all publish address {address} (ranks {ranks}), which cannot connect them; "
            f"{_ADVICE}"
        )


def check_routes(rank: int, places: Sequence[Place], route: Callable[[str], str | None] = route_to) -> None:
    """Asks the kernel's routing table for a way to every rank on another host.

    Args:
        rank: Own rank.
        places: All ranks, by rank.
        route: Our own address on the way to a given one, ``None`` where there is no way.

    Raises:
        RendezvousError: There is no way to a rank, or its address is one of this host too.
    """
    mine = places[rank]
    for place in places:
        if place.network == mine.network:
            continue
        target = _seen_from(mine.listen, place.listen)
        source = route(target)
        if source is not None and without_scope(source) != without_scope(target):
            continue
        problem = "has no route to" if source is None else "owns itself the address"
        raise RendezvousError(
            f"rank {rank} on host {mine.host} {problem} {target}, where rank {place.rank} on host "
            f"{place.host} listens; {_ADVICE}",
            rank=place.rank,
            host=place.host,
        )


def _seen_from(own: str, address: str) -> str:
    """A link-local address with our own interface in place of the peer's."""
    parsed = parse(address)
    if parsed is None or parsed.version == 4 or not parsed.is_link_local:
        return address
    return without_scope(address) + "".join(own.partition("%")[1:])
