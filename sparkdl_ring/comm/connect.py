"""From a place and a meeting point to a connected communicator."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sparkdl_ring import config as settings
from sparkdl_ring.comm import greeting as greetings_of
from sparkdl_ring.comm.communicator import Communicator
from sparkdl_ring.comm.greeting import Greeting, Versions
from sparkdl_ring.comm.select import explain
from sparkdl_ring.config import CommConfig
from sparkdl_ring.log import get_logger
from sparkdl_ring.rendezvous import Rendezvous, env_rendezvous, hosts, secret_from_env, traps, world_from_env
from sparkdl_ring.world import SINGLE, World

if TYPE_CHECKING:
    from sparkdl_ring._native import Listener

_log = get_logger(__name__)
_SHORTEST_S = 1.0


def connect(
    world: World, rendezvous: Rendezvous, config: CommConfig, secret: bytes, driver: Versions | None = None
) -> Communicator:
    """Meets the other ranks and connects to them.

    The listening socket stays open from the choice of its port until all peers are connected.

    Args:
        world: Own rank, size and run; local rank and size are found here.
        rendezvous: The meeting point.
        config: Transport, interface and time-outs.
        secret: 32 random bytes that only ranks of this run know.
        driver: Versions on the driver, checked with the ranks'.

    Raises:
        RendezvousError: A rank did not come, or is of another run.
        LaunchError: Versions differ between ranks or driver, or two ranks were given one GPU.
        ConfigError: A setting does not fit this host.
    """
    if world.size == 1:
        return _connect_alone(world, config, driver)
    deadline = time.monotonic() + config.connect_timeout_s
    identity = hosts.host_id(config.host_id)
    listen = hosts.listen_address(config.interface, rendezvous.peers)
    listener = _open(config, identity, listen)
    try:
        mine = greetings_of.greet(world, identity, listen, listener.address)
        everyone = _meet(rendezvous, mine, _left(deadline))
        greetings_of.check(everyone, driver, share_gpus=config.share_gpus)
        traps.check_routes(world.rank, everyone)
        native = listener.connect(
            world.rank,
            [g.address_bytes() for g in everyone],
            world.run_id,
            world.generation,
            secret,
            _left(deadline),
            [g.host for g in everyone],
        )
    finally:
        if listener.refusals:
            _log.warning("rank %d refused connections while ranks met: %s", world.rank, listener.refusals)
        listener.close()
    reasons = explain(everyone, native.transports, native.reasons)
    for peer, reason in reasons.items():
        _log.debug("peer %d by %s", peer, reason)
    comm = Communicator(
        native,
        greetings_of.placed(world, everyone),
        config.timeout_s,
        reasons,
        [g.host_id for g in everyone],
        config.timeline,
    )
    comm.devices.configure(config)
    return comm


def connect_from_env(
    config: CommConfig | None = None, environ: Mapping[str, str] | None = None
) -> Communicator:
    """Connects as the environment says (torchrun's variables, or ours); alone when it says nothing.

    Args:
        config: Settings; default the resolved ones.
        environ: The environment; default the process's own.
    """
    env = settings.environment() if environ is None else environ
    chosen = settings.resolve(environ=env).comm if config is None else config
    world = world_from_env(env)
    if world == SINGLE:
        return alone(chosen)
    point = env_rendezvous(env, chosen.interface)
    return connect(world, point, chosen, secret_from_env(env, shared_host=True))


def alone(config: CommConfig | None = None) -> Communicator:
    """The communicator of a single process: same checks and results, no peers."""
    return in_process(1, config)[0]


def in_process(size: int, config: CommConfig | None = None) -> list[Communicator]:
    """``size`` communicators in this process, one for each thread that plays a rank."""
    from sparkdl_ring._native import inproc_group

    chosen = config or CommConfig()
    places = [World(rank, size, local_rank=rank, local_size=size) for rank in range(size)]
    group = zip(inproc_group(size), places, strict=True)
    here = ["this process"] * size
    comms = [
        Communicator(native, world, chosen.timeout_s, None, here, chosen.timeline) for native, world in group
    ]
    for comm in comms:
        comm.devices.configure(chosen)
    return comms


def _connect_alone(world: World, config: CommConfig, driver: Versions | None) -> Communicator:
    """One rank has nobody to meet; versions are still compared with the driver's."""
    from sparkdl_ring._native import inproc_group

    mine = [greetings_of.greet(world, hosts.host_id(config.host_id), hosts.LOOPBACK, b"")]
    greetings_of.check(mine, driver)
    placed = greetings_of.placed(world, mine)
    comm = Communicator(inproc_group(1)[0], placed, config.timeout_s, None, [placed.host], config.timeline)
    comm.devices.configure(config)
    return comm


def _open(config: CommConfig, identity: str, listen: str) -> Listener:
    from sparkdl_ring._native import Listener, TcpOptions

    tcp = TcpOptions(
        port_range=config.port_range,
        tls=config.tls,
        streams=config.streams,
        socket_buffer_bytes=config.socket_buffer_bytes,
    )
    return Listener(listen, config.transport, identity, tcp)


def _meet(rendezvous: Rendezvous, mine: Greeting, timeout_s: float) -> Sequence[Greeting]:
    return [Greeting.decode(data) for data in rendezvous.exchange(mine.encode(), timeout_s)]


def _left(deadline: float) -> float:
    return max(_SHORTEST_S, deadline - time.monotonic())
