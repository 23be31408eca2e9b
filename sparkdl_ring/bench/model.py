"""What the cost model says beside what was measured, and for rank counts that no machine here has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkdl_ring.bench.report import aligned, size_text
from sparkdl_ring.comm.dtypes import dtype_named, op_code

if TYPE_CHECKING:
    from sparkdl_ring._native import Forecast

SIMULATED_RANKS = (8, 16, 32, 64, 128, 256, 512, 1000, 2000, 5000, 10000)
"""Rank counts of :func:`simulation`."""

_PAYLOAD_SHARE = 1448 / 1514
"""Of an Ethernet frame of 1,514 bytes TCP with timestamps carries 1,448 (RFC 9293, RFC 7323)."""


@dataclass(frozen=True)
class LinkSpeed:
    """The speeds that a forecast stands on.

    Args:
        alpha_s: Seconds of one short message, from one rank's call to the other's return.
        bytes_per_s: Bytes on a host's wire each way, headers included.
    """

    alpha_s: float
    bytes_per_s: float


def forecast(
    ranks: int, hosts: int, num_bytes: int, link: LinkSpeed, wire_dtype: str = "float32"
) -> Forecast:
    """A sum of ``num_bytes`` of float32 over ``ranks`` on ``hosts``, by the model that chooses its algorithm.

    Args:
        ranks: Ranks in all.
        hosts: Hosts they are spread over evenly.
        num_bytes: Bytes of each rank's buffer.
        link: What connects the hosts.
        wire_dtype: What travels between hosts.
    """
    from sparkdl_ring import _native

    dtype = dtype_named("float32")
    codes = (dtype.code, op_code("sum", dtype), dtype_named(wire_dtype).code)
    return _native.forecast(ranks, hosts, num_bytes, *codes, link.alpha_s, link.bytes_per_s * _PAYLOAD_SHARE)


def simulation(sizes: Sequence[int], per_host: int, link: LinkSpeed) -> str:
    """A table of forecasts for 8 to 10,000 ranks: algorithm and milliseconds of each size.

    Args:
        sizes: Bytes of each rank's float32 buffer.
        per_host: Ranks on each host.
        link: What connects the hosts.
    """
    mbit = link.bytes_per_s * 8 / 1e6
    speed = f"{mbit:g} Mbit/s a host, {link.alpha_s * 1e6:.1f} us a message"
    title = f"simulated: {per_host} rank(s) a host, {speed}; ms"
    lines = [["ranks", *(size_text(size) for size in sizes)]]
    for ranks in SIMULATED_RANKS:
        made = [forecast(ranks, max(1, ranks // per_host), size, link) for size in sizes]
        lines.append([str(ranks), *(f"{one.seconds * 1e3:.3f} {one.algorithm}" for one in made)])
    return f"{title}\n{aligned(lines)}"
