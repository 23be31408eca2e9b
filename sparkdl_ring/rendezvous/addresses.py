"""Addresses and names as text: what they are, what they resolve to, which way leads there."""

from __future__ import annotations

import ipaddress
import socket


def is_loopback(address: str) -> bool:
    """True for loopback addresses and the name ``localhost``."""
    if address in ("", "localhost"):
        return True
    parsed = parse(address)
    return parsed is not None and parsed.is_loopback


def parse(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The numeric address, ``None`` for a name."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def without_scope(address: str) -> str:
    """``fe80::1%eth0`` without ``%eth0``, which means something on its own host alone."""
    return address.partition("%")[0]


def strip_port(address: str) -> str:
    """``host:port`` without the port; IPv6 addresses may stand in brackets or bare."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and (":" not in host or parse(address) is None):
        return host
    return address


def split_port(address: str) -> tuple[str, int | None]:
    """``host:port``, ``[v6]:port``, ``host`` or a bare IPv6 address as (host, port or ``None``)."""
    host = strip_port(address)
    rest = address.removeprefix(f"[{host}]" if address.startswith("[") else host)
    return host, int(rest[1:]) if rest[1:].isdigit() else None


def resolve(name: str) -> list[str]:
    """Numeric addresses of a host name or address, in the system's order; empty when it has none."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(_with_scope(target) for *_, target in found))


def route_to(peer: str) -> str | None:
    """Our own address on the way to ``peer`` by the kernel's routing table; nothing is sent."""
    try:
        family, _, _, _, target = socket.getaddrinfo(peer, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(target)
            return _with_scope(probe.getsockname())
    except (OSError, UnicodeError):
        return None


def _with_scope(target: tuple[object, ...]) -> str:
    address = str(target[0])
    scope = target[3] if len(target) == 4 else 0
    if not isinstance(scope, int) or scope == 0 or "%" in address:
        return address
    return f"{address}%{socket.if_indextoname(scope)}"
