"""Who this host is and by which address others reach it.

An address is found by asking the kernel's routing table which of our addresses leads to a peer, never by the
name of an interface or of the host: container bridges carry the same address everywhere, and host names often
resolve to loopback.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.rendezvous.interfaces import own_interfaces

LOOPBACK = "127.0.0.1"
Interfaces = Mapping[str, Sequence[str]]
Route = Callable[[str], str | None]


def host_id() -> str:
    """Identity of this host as seen by loopback and shared memory.

    Two containers on one machine share the boot id but neither /dev/shm nor loopback, so all three count.
    """
    boot = Path("/proc/sys/kernel/random/boot_id")
    parts = [boot.read_text().strip() if boot.exists() else socket.gethostname()]
    for path in ("/dev/shm", "/proc/self/ns/net"):
        try:
            status = Path(path).stat()
        except OSError:
            continue
        parts.append(f"{status.st_dev:x}.{status.st_ino:x}")
    return "/".join(parts)


def listen_address(setting: str, peers: Sequence[str]) -> str:
    """The numeric address on which this host should listen; see :func:`choose_address`."""
    return choose_address(setting, peers, own_interfaces(), route_to)


def choose_address(setting: str, peers: Sequence[str], interfaces: Interfaces, route: Route) -> str:
    """Chooses the address to listen on and to publish.

    Args:
        setting: ``comm.interface``: addresses or interface names, comma separated; the first one that is
            present wins; empty for automatic.
        peers: Addresses of the other ranks' hosts; none (or only loopback) means that all are on this host.
        interfaces: Interface name to its numeric addresses.
        route: Our own address on the way to a given one, ``None`` where there is no way.

    Raises:
        ConfigError: Nothing named in ``setting`` is present here.
    """
    if setting:
        return _named(setting, interfaces)
    own = {address for addresses in interfaces.values() for address in addresses}
    if all(is_loopback(peer) for peer in peers):
        return LOOPBACK
    if set(peers) <= own:
        return LOOPBACK  # every task was given an address of this very host
    remote = [peer for peer in peers if not is_loopback(peer)]
    for peer in [*(p for p in remote if p not in own), *remote]:
        address = route(peer)
        if address is not None and not is_loopback(address):
            return address
    return next((p for p in remote if p in own), LOOPBACK)


def _named(setting: str, interfaces: Interfaces) -> str:
    for wish in (part.strip() for part in setting.split(",")):
        if interfaces.get(wish):
            return _preferred(interfaces[wish])
        if any(wish in addresses for addresses in interfaces.values()):
            return wish
    present = ", ".join(f"{name} ({' '.join(addresses)})" for name, addresses in interfaces.items())
    raise ConfigError(f"comm.interface={setting!r} is not on host {socket.gethostname()}; present: {present}")


def _preferred(addresses: Sequence[str]) -> str:
    """IPv4 before IPv6, and no link-local address where there is another."""
    return min(addresses, key=lambda a: (ipaddress.ip_address(a).is_link_local, ":" in a))


def is_loopback(address: str) -> bool:
    """True for loopback addresses and the name ``localhost``."""
    if address in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def route_to(peer: str) -> str | None:
    """Our own address on the way to ``peer`` by the kernel's routing table; nothing is sent."""
    try:
        family, _, _, _, target = socket.getaddrinfo(peer, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError:
        return None


def strip_port(address: str) -> str:
    """``host:port`` without the port; IPv6 addresses may stand in brackets or bare."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and (":" not in host or not _is_ipv6(address)):
        return host
    return address


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False
