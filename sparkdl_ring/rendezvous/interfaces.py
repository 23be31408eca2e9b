"""The network interfaces of this host, from the kernel (Linux), without further packages."""

from __future__ import annotations

import array
import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

_SIOCGIFCONF = 0x8912
_ENTRY_BYTES, _NAME_BYTES = 40, 16  # struct ifreq on 64-bit machines
_MOST_ADDRESSES = 4096
_LINK_SCOPE = 0x20
_DAD_FAILED, _TENTATIVE = 0x08, 0x40


def own_interfaces() -> dict[str, list[str]]:
    """Interface name to its numeric addresses; an interface without an address has an empty list.

    Link-local IPv6 addresses carry their scope (``fe80::1%eth0``); those that cannot be bound are left out.
    """
    found: dict[str, list[str]] = {name: [] for _, name in socket.if_nameindex()}
    for name, address in [*_ipv4(), *_ipv6()]:
        found.setdefault(name, []).append(address)
    return found


def _ipv4() -> Iterator[tuple[str, str]]:
    """All IPv4 addresses, second ones (aliases) under the interface that carries them."""
    table = array.array("B", bytes(_ENTRY_BYTES * _MOST_ADDRESSES))
    pointer, capacity = table.buffer_info()
    request = struct.pack("iP", capacity, pointer)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        (length, _) = struct.unpack("iP", fcntl.ioctl(probe.fileno(), _SIOCGIFCONF, request))
    data = table.tobytes()
    for start in range(0, length, _ENTRY_BYTES):
        label = data[start : start + _NAME_BYTES].partition(b"\0")[0].decode()
        address = socket.inet_ntoa(data[start + _NAME_BYTES + 4 : start + _NAME_BYTES + 8])
        yield label.partition(":")[0], address


def _ipv6() -> Iterator[tuple[str, str]]:
    table = Path("/proc/net/if_inet6")
    if not table.exists():
        return
    for line in table.read_text().splitlines():
        digits, _, _, scope, flags, name = line.split()
        if int(flags, 16) & (_DAD_FAILED | _TENTATIVE):
            continue
        address = str(ipaddress.IPv6Address(int(digits, 16)))
        yield name, f"{address}%{name}" if int(scope, 16) == _LINK_SCOPE else address
