"""The network interfaces of this host, from the kernel (Linux), without further packages."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from pathlib import Path

_SIOCGIFADDR = 0x8915
_NAME_BYTES = 15


def own_interfaces() -> dict[str, list[str]]:
    """Interface name to its numeric addresses; an interface without an address has an empty list."""
    found: dict[str, list[str]] = {name: [] for _, name in socket.if_nameindex()}
    for name, addresses in found.items():
        address = _ipv4(name)
        if address is not None:
            addresses.append(address)
    for name, address in _ipv6():
        found.setdefault(name, []).append(address)
    return found


def _ipv4(name: str) -> str | None:
    request = struct.pack("256s", name.encode()[:_NAME_BYTES])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
        except OSError:  # the interface has no IPv4 address
            return None
    return socket.inet_ntoa(answer[20:24])


def _ipv6() -> list[tuple[str, str]]:
    table = Path("/proc/net/if_inet6")
    if not table.exists():
        return []
    rows = (line.split() for line in table.read_text().splitlines())
    return [(row[5], str(ipaddress.IPv6Address(int(row[0], 16)))) for row in rows]
