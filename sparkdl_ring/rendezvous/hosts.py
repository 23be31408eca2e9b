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
from sparkdl_ring.rendezvous.addresses import is_loopback, parse, resolve, route_to, without_scope
from sparkdl_ring.rendezvous.interfaces import own_interfaces

LOOPBACK = "127.0.0.1"
Interfaces = Mapping[str, Sequence[str]]
Route = Callable[[str], str | None]
Resolve = Callable[[str], Sequence[str]]


def host_id(setting: str = "") -> str:
    """Identity of this host as seen by loopback and shared memory.

    Two containers on one machine share the boot id but neither /dev/shm nor loopback, so all three count.

    Args:
        setting: ``comm.host_id``; taken as it is when it is not empty.
    """
    return setting or _identity("/dev/shm", "/proc/self/ns/net")


def network_id() -> str:
    """Identity of this network stack: equal for processes whose loopback is one."""
    return _identity("/proc/self/ns/net")


def _identity(*paths: str) -> str:
    """The kernel's boot id and what these paths are to it."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    parts = [boot.read_text().strip() if boot.exists() else socket.gethostname()]
    for path in paths:
        try:
            status = Path(path).stat()
        except OSError:
            continue
        parts.append(f"{status.st_dev:x}.{status.st_ino:x}")
    return "/".join(parts)


def listen_address(setting: str, peers: Sequence[str]) -> str:
    """The numeric address on which this host should listen; see :func:`choose_address`."""
    return choose_address(setting, peers, own_interfaces(), route_to, resolve)


def choose_address(
    setting: str, peers: Sequence[str], interfaces: Interfaces, route: Route, resolve: Resolve
) -> str:
    """Chooses the address to listen on and to publish.

    Args:
        setting: ``comm.interface``: addresses, networks (``10.0.0.0/16``), names of interfaces or of this
            host, comma separated; the first one that is present wins; empty for automatic.
        peers: Addresses or names of the other ranks' hosts; none (or only loopback) means that all are on
            this host.
        interfaces: Interface name to its numeric addresses.
        route: Our own address on the way to a given one, ``None`` where there is no way.
        resolve: Numeric addresses of a name.

    Raises:
        ConfigError: Nothing named in ``setting`` is present here.
    """
    if setting:
        return _named(setting, interfaces, resolve)
    own = {address for addresses in interfaces.values() for address in addresses}
    numeric = _numeric(peers, resolve)
    if all(is_loopback(peer) for peer in numeric):
        return LOOPBACK
    if set(numeric) <= own:
        return LOOPBACK  # every task was given an address of this very host
    remote = [peer for peer in numeric if not is_loopback(peer)]
    for peer in [*(p for p in remote if p not in own), *remote]:
        address = route(peer)
        if address is not None and not is_loopback(address):
            return address
    return next((p for p in remote if p in own), LOOPBACK)


def meeting_address(
    name: str, setting: str, across_hosts: bool, interfaces: Interfaces, resolve: Resolve
) -> str:
    """Chooses the one address on which rank 0 awaits the others; never a wildcard.

    Args:
        name: What the others were told: rank 0's host name or address.
        setting: ``comm.interface``, for a name that does not say it: one that is loopback on its own host, or
            that leads here only through a gateway.
        across_hosts: Ranks of other hosts are to come.
        interfaces: Interface name to its numeric addresses.
        resolve: Numeric addresses of a name.

    Raises:
        ConfigError: The name has no address, or is only loopback here while other hosts are to come, or
            nothing named in ``setting`` is present here.
    """
    found = [name] if parse(without_scope(name)) is not None else list(resolve(name))
    if not found:
        raise ConfigError(f"rank 0's address {name!r} is not known on its own host: set MASTER_ADDR to one")
    if not across_hosts or is_loopback(name):
        return found[0]
    own = {address for addresses in interfaces.values() for address in addresses}
    here = [address for address in found if address in own and not is_loopback(address)]
    if here:
        return here[0]
    if setting:
        return _named(setting, interfaces, resolve)
    if is_loopback(found[0]):
        raise ConfigError(
            f"rank 0's name {name!r} is {found[0]} on its own host {socket.gethostname()}, where no other "
            "host can come: set comm.interface (SPARKDL_RING_COMM_INTERFACE) to the network that connects "
            "the hosts, or MASTER_ADDR to rank 0's address in it (localhost, when all ranks are on one host)"
        )
    return found[0]


def _numeric(peers: Sequence[str], resolve: Resolve) -> list[str]:
    """The peers' addresses. A name that is loopback here (127.0.1.1 by Debian's habit) is this host's own."""
    return [(resolve(peer) or [peer])[0] if parse(peer) is None else peer for peer in peers]


def _named(setting: str, interfaces: Interfaces, resolve: Resolve) -> str:
    own = [address for addresses in interfaces.values() for address in addresses]
    for wish in (part.strip() for part in setting.split(",")):
        found = _matching(wish, interfaces, own, resolve) if wish else []
        if found:
            return _preferred(found)
    present = ", ".join(f"{name} ({' '.join(addresses)})" for name, addresses in interfaces.items())
    raise ConfigError(f"comm.interface={setting!r} is not on host {socket.gethostname()}; present: {present}")


def _matching(wish: str, interfaces: Interfaces, own: Sequence[str], resolve: Resolve) -> list[str]:
    """Own addresses that one part of the setting means."""
    if wish in interfaces:
        return list(interfaces[wish])
    if parse(wish) is not None:
        return [address for address in own if wish in (address, without_scope(address))]
    if "/" in wish:
        try:
            network = ipaddress.ip_network(wish, strict=False)
        except ValueError:
            return []
        return [address for address in own if ipaddress.ip_address(without_scope(address)) in network]
    if "." not in wish and wish != socket.gethostname():
        return []  # the name of an interface that is not here: no need to ask the name service
    return [address for address in resolve(wish) if address in own and not is_loopback(address)]


def _preferred(addresses: Sequence[str]) -> str:
    """IPv4 before IPv6, and no link-local address where there is another."""
    return min(addresses, key=lambda a: (ipaddress.ip_address(a).is_link_local, ":" in a))
