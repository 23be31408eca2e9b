"""``sparkdl-ring doctor --ring``: latency and bandwidth between given hosts, over the ring itself."""

from __future__ import annotations

import base64
import getpass
import secrets
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sparkdl_ring import config as settings
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.rendezvous import TcpRendezvous, secret_from_env
from sparkdl_ring.rendezvous.addresses import is_loopback, resolve, split_port, strip_port
from sparkdl_ring.rendezvous.hosts import listen_address
from sparkdl_ring.rendezvous.interfaces import own_interfaces
from sparkdl_ring.world import World

if TYPE_CHECKING:
    from sparkdl_ring.bench.links import LinkFigures

PORT = 29610
WAIT_S = 600.0
_CODE_BYTES = 20
_SECRET = "SPARKDL_RING_SECRET"
_RUN_ID = "doctor"
_SAMPLE_S = 0.2
Ask = Callable[[str], str]


@dataclass(frozen=True)
class Meeting:
    """Where the hosts of one measurement meet.

    Args:
        address: Address of rank 0.
        port: Its port.
        rank: Own rank.
        size: Number of ranks.
        peers: The others' hosts, as far as they are known.
        wait_s: Longest wait for all to come, in seconds.
    """

    address: str
    port: int
    rank: int
    size: int
    peers: tuple[str, ...]
    wait_s: float


def lead(wish: str, port: int = PORT, wait_s: float = WAIT_S) -> int:
    """Prints what to start on the other hosts, waits for them, measures, prints the table.

    Args:
        wish: Host names or addresses, comma separated, or the path of a file with one a line. This host
            counts once, wherever it stands.
        port: Port of this host where the others come.
        wait_s: Longest wait for them, in seconds.

    Returns:
        0, or 1 when a link is much slower than the others.

    Raises:
        ConfigError: No host is named.
        RendezvousError: The hosts could not connect.
    """
    here, others = places(wish)
    listen = listen_address(settings.resolve().comm.interface, others)
    code, secret = _own_code()
    size = 1 + len(others)
    print(f"rank 0 is this host ({here}). Start one process for each of the others:\n")
    for rank, host in enumerate(others, 1):
        print(f"  on {host}:  sparkdl-ring doctor --join {_with_port(listen, port)} --place {rank}/{size}")
    print(f"\nthe code that they ask for: {code}" if code else f"\nthey need the same {_SECRET}")
    sys.stdout.flush()
    meeting = Meeting(listen, port, 0, size, others, wait_s)
    names, figures = _measure(meeting, secret)
    print(f"\n{table(names, figures)}")
    return _advise(names, figures)


def join(address: str, place: str, wait_s: float = WAIT_S, ask: Ask | None = None) -> int:
    """Takes part in a measurement that another host leads.

    Args:
        address: ``host:port`` of the leader.
        place: ``rank/size``, as the leader printed it.
        wait_s: Longest wait for all to come, in seconds.
        ask: Asks for the code; default the terminal, or a line of standard input.

    Raises:
        ConfigError: An argument makes no sense.
        RendezvousError: The leader does not answer, or the code is another one.
    """
    host, port = split_port(address)
    rank, _, size = place.partition("/")
    if port is None or not (rank.isdigit() and size.isdigit() and 0 < int(rank) < int(size)):
        raise ConfigError(f"--join {address} --place {place}: copy the command that the leader printed")
    env = dict(settings.environment())
    if not env.get(_SECRET):
        env[_SECRET] = (ask or _ask)("code: ").strip()
    meeting = Meeting(host, port, int(rank), int(size), (host,), wait_s)
    _, figures = _measure(meeting, secret_from_env(env))
    print(f"measured {len(figures)} link(s); the figures are on the host that leads")
    return 0


def places(wish: str) -> tuple[str, tuple[str, ...]]:
    """Gives this host's name in the list (or its own), and the other entries in their order.

    Raises:
        ConfigError: There is nobody to measure a link to.
    """
    file = Path(wish)
    text = file.read_text() if "," not in wish and file.is_file() else wish
    lines = (line.partition("#")[0] for line in text.replace(",", "\n").splitlines())
    hosts = [strip_port(line.strip()) for line in lines if line.strip()]
    own = {address for addresses in own_interfaces().values() for address in addresses}
    mine = next((host for host in hosts if _is_here(host, own)), None)
    if mine is not None:
        hosts.remove(mine)
    if not hosts:
        raise ConfigError("--ring needs the other hosts: names or addresses with commas, or a file of them")
    return mine or socket.gethostname(), tuple(hosts)


def _is_here(host: str, own: set[str]) -> bool:
    return any(address in own or is_loopback(address) for address in resolve(host))


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _own_code() -> tuple[str, bytes]:
    """A code to type on the other hosts, empty where the environment has a secret already; and the secret."""
    env = dict(settings.environment())
    if env.get(_SECRET):
        return "", secret_from_env(env)
    code = base64.b32encode(secrets.token_bytes(_CODE_BYTES)).decode().lower()
    return code, secret_from_env({_SECRET: code})


def _ask(prompt: str) -> str:
    return getpass.getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline()


def _measure(meeting: Meeting, secret: bytes) -> tuple[list[str], list[LinkFigures]]:
    from sparkdl_ring.bench.links import measure_links
    from sparkdl_ring.comm import connect

    given = settings.resolve().comm
    listen = listen_address(given.interface, meeting.peers)
    comm = replace(given, connect_timeout_s=meeting.wait_s, interface=listen)
    world = World(meeting.rank, meeting.size, run_id=_RUN_ID)
    point = TcpRendezvous(world, meeting.address, meeting.port, secret, meeting.peers)
    with connect(world, point, comm, secret) as ring:
        names = [str(name) for name in ring.allgather_object(f"{socket.gethostname()} {listen}")]
        return names, measure_links(ring, comm, _SAMPLE_S)


def table(names: Sequence[str], figures: Sequence[LinkFigures]) -> str:
    """One line for each link, below the ranks.

    Args:
        names: Host and address of each rank.
        figures: What was measured.
    """
    head = ["link", "by", "latency us", "-> GB/s", "<- GB/s", "why"]
    lines = [
        [
            f"{link.pair[0]} - {link.pair[1]}",
            link.transport,
            f"{link.latency_s * 1e6:.0f}",
            f"{link.forth / 1e9:.3f}",
            f"{link.back / 1e9:.3f}",
            link.reason.partition(": ")[2],
        ]
        for link in figures
    ]
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    text = [
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in [head, *lines]
    ]
    ranks = [f"rank {rank}: {name}" for rank, name in enumerate(names)]
    return "\n".join([*ranks, "", *text])


def _advise(names: Sequence[str], figures: Sequence[LinkFigures]) -> int:
    from sparkdl_ring.bench.links import slow_links

    slow = slow_links(figures)
    for link in slow:
        a, b = (names[rank] for rank in link.pair)
        print(
            f"slow: {a} - {b} carries {link.slower / 1e9:.3f} GB/s, less than half of what is usual here: "
            "check cable, duplex, MTU and route, or leave it out: a ring is as fast as its slowest link"
        )
    if not slow and figures:
        worst = min(figures, key=lambda link: link.slower)
        share = 2 * (len(names) - 1) / len(names)
        seconds = share * 1e8 / worst.slower
        print(f"\na ring of these {len(names)} reduces 100 MB in {seconds * 1e3:.0f} ms or more")
    return 1 if slow else 0
