"""From host identities to places: pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence


def local_place(host_ids: Sequence[str], rank: int) -> tuple[int, int]:
    """Returns (local rank, local size): the place of ``rank`` among the ranks of its host, in rank order."""
    same = [r for r, host in enumerate(host_ids) if host == host_ids[rank]]
    return same.index(rank), len(same)


def ranks_by_host(host_ids: Sequence[str]) -> dict[str, list[int]]:
    """Ranks of each host, hosts in order of their lowest rank."""
    groups: dict[str, list[int]] = {}
    for rank, host in enumerate(host_ids):
        groups.setdefault(host, []).append(rank)
    return groups


def shared_addresses(host_ids: Sequence[str], addresses: Sequence[str]) -> dict[str, list[int]]:
    """Addresses that ranks of different hosts publish alike (a container bridge), with those ranks."""
    clashes: dict[str, list[int]] = {}
    for address in dict.fromkeys(addresses):
        ranks = [r for r, a in enumerate(addresses) if a == address]
        if len({host_ids[r] for r in ranks}) > 1:
            clashes[address] = ranks
    return clashes
