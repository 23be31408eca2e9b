"""What each rank tells the others in the one exchange: address, host and versions."""

from __future__ import annotations

import base64
import json
import platform
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata

from sparkdl_ring._version import __version__
from sparkdl_ring.errors import LaunchError, RendezvousError
from sparkdl_ring.rendezvous import hosts, traps
from sparkdl_ring.rendezvous.topology import local_place
from sparkdl_ring.world import World

_PACKAGES = ("numpy", "torch", "tensorflow", "keras", "petastorm", "pyarrow", "cloudpickle")
Versions = Mapping[str, str]


@dataclass(frozen=True)
class Greeting:
    """One rank's message. Travels as JSON: nothing from the network is unpickled here.

    Args:
        rank: Own rank.
        size: Number of ranks it expects.
        host: Host name, for messages.
        host_id: Identity of the host; equal for ranks that share loopback and shared memory.
        network: Identity of its network stack: equal for ranks whose loopback is one.
        listen: Address it listens on, for messages and for the check of addresses.
        address: The native listener's opaque address, base64.
        versions: Python and packages.
        gpu: Its own GPU; see :class:`~sparkdl_ring.world.World`.
    """

    rank: int
    size: int
    host: str
    host_id: str
    network: str
    listen: str
    address: str
    versions: Versions
    gpu: str = ""

    def encode(self) -> bytes:
        """The message as bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Greeting:
        """The inverse of :meth:`encode`; raises :class:`RendezvousError` when it is none."""
        try:
            return cls(**json.loads(data))
        except (TypeError, ValueError) as error:
            raise RendezvousError(f"a peer sent no greeting of this version: {error}") from error

    def address_bytes(self) -> bytes:
        """The native listener's address."""
        return base64.b64decode(self.address)


def greet(world: World, host_id: str, listen: str, address: bytes) -> Greeting:
    """Own greeting."""
    text = base64.b64encode(address).decode("ascii")
    host, network = socket.gethostname(), hosts.network_id()
    versions = own_versions()
    return Greeting(world.rank, world.size, host, host_id, network, listen, text, versions, world.gpu)


def own_versions() -> dict[str, str]:
    """Versions that must agree: ours whole, Python and the packages that are installed by major.minor."""
    found = {"sparkdl-ring": __version__, "python": ".".join(platform.python_version_tuple()[:2])}
    for name in _PACKAGES:
        try:
            found[name] = ".".join(metadata.version(name).split(".")[:2])
        except metadata.PackageNotFoundError:
            continue
    return found


def check(greetings: Sequence[Greeting], driver: Versions | None, *, share_gpus: bool = False) -> None:
    """Raises when the ranks do not fit together.

    Args:
        greetings: Everybody's greeting, by rank.
        driver: Versions on the driver, where known.
        share_gpus: Whether ranks may have been given one GPU together.

    Raises:
        LaunchError: Versions differ (the message is a table), or ranks were given the same GPU.
        RendezvousError: Ranks or sizes do not fit, or the addresses cannot connect them.
    """
    size = len(greetings)
    if [(g.rank, g.size) for g in greetings] != [(rank, size) for rank in range(size)]:
        told = ", ".join(f"rank {g.rank} of {g.size} ({g.host})" for g in greetings)
        raise RendezvousError(f"{size} tasks met but do not fit together: {told}")
    _check_versions(greetings, driver)
    if not share_gpus:
        _check_gpus(greetings)
    traps.check_addresses(greetings)


def placed(world: World, greetings: Sequence[Greeting]) -> World:
    """``world`` with the local rank, local size and host that the greetings tell."""
    local_rank, local_size = local_place([g.host_id for g in greetings], world.rank)
    host = greetings[world.rank].host
    return replace(world, local_rank=local_rank, local_size=local_size, host=host)


def _check_gpus(greetings: Sequence[Greeting]) -> None:
    owners: dict[tuple[str, str], Greeting] = {}
    for mine in greetings:
        other = owners.setdefault((mine.host_id, mine.gpu), mine) if mine.gpu else mine
        if other is not mine:
            raise LaunchError(
                f"ranks {other.rank} and {mine.rank} were both given GPU {mine.gpu} of host {mine.host}: ask "
                "for a whole GPU a task (spark.task.resource.gpu.amount=1), or set comm.share_gpus=true",
                rank=mine.rank,
                host=mine.host,
            )


def _check_versions(greetings: Sequence[Greeting], driver: Versions | None) -> None:
    rows = {f"rank {g.rank} ({g.host})": g.versions for g in greetings}
    if driver is not None:
        rows["driver"] = driver
    names = dict.fromkeys(name for versions in rows.values() for name in versions)
    differing = [name for name in names if _differs(name, greetings, driver)]
    if not differing:
        return
    table = [["", *differing], *([row, *(v.get(n, "-") for n in differing)] for row, v in rows.items())]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    text = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )
    raise LaunchError(f"versions differ; install the same ones on every host and on the driver:\n{text}")


def _differs(name: str, greetings: Sequence[Greeting], driver: Versions | None) -> bool:
    """Ranks must agree; a driver need not have what only tasks use."""
    shown = {g.versions.get(name) for g in greetings}
    if driver is not None and name in driver and shown != {None}:
        shown.add(driver[name])
    return len(shown) > 1
