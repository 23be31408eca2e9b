"""Who am I, from the variables that launchers such as torchrun set."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.log import get_logger
from sparkdl_ring.rendezvous.addresses import is_loopback
from sparkdl_ring.rendezvous.tcp import TcpRendezvous
from sparkdl_ring.world import SINGLE, World

_log = get_logger(__name__)
OURS = "SPARKDL_RING_"
_PORT_OFFSET = 1
_UNSET_RUN_ID = "none"  # torchrun's run id when nobody gave one


def world_from_env(env: Mapping[str, str]) -> World:
    """The place of this process; :data:`~sparkdl_ring.world.SINGLE` when no launcher said anything.

    Each of ``RANK``, ``WORLD_SIZE``, ``LOCAL_RANK``, ``LOCAL_WORLD_SIZE`` is first looked for with the prefix
    ``SPARKDL_RING_`` and then without (torchrun's spelling).

    Raises:
        ConfigError: Some variables are set and others are not, or one is no number.
    """
    rank, size = _number(env, "RANK"), _number(env, "WORLD_SIZE")
    if rank is None and size is None:
        return SINGLE
    if rank is None or size is None:
        raise ConfigError(
            "RANK and WORLD_SIZE must be set together (by torchrun, or SPARKDL_RING_RANK and ...)"
        )
    local_size = _number(env, "LOCAL_WORLD_SIZE")
    local_rank = _number(env, "LOCAL_RANK")
    if local_size is None:
        local_size = size if local_rank is None and size == 1 else 1 if local_rank is None else local_rank + 1
    return World(
        rank=rank,
        size=size,
        local_rank=local_rank or 0,
        local_size=local_size,
        host=socket.gethostname(),
        run_id=_text(env, "RUN_ID") or env.get("TORCHELASTIC_RUN_ID") or "env",
        generation=int(env.get("TORCHELASTIC_RESTART_COUNT", "0")),
    )


def env_rendezvous(env: Mapping[str, str], interface: str = "") -> TcpRendezvous:
    """The rendezvous that the environment describes: TCP at ``MASTER_ADDR``, port ``MASTER_PORT + 1``.

    ``SPARKDL_RING_MASTER_PORT`` is taken as it is.

    Args:
        env: The environment.
        interface: ``comm.interface``, see :class:`TcpRendezvous`.

    Raises:
        ConfigError: No master is named.
    """
    world = world_from_env(env)
    address = _text(env, "MASTER_ADDR") or env.get("MASTER_ADDR", "")
    own_port = _number(env, "MASTER_PORT", ours_only=True)
    port = own_port if own_port is not None else _number(env, "MASTER_PORT")
    if not address or port is None:
        raise ConfigError(
            "MASTER_ADDR and MASTER_PORT must be set, so that the ranks can meet; start with torchrun, "
            "or set SPARKDL_RING_MASTER_ADDR and SPARKDL_RING_MASTER_PORT"
        )
    return TcpRendezvous(
        world,
        address,
        port if own_port is not None else port + _PORT_OFFSET,
        secret_from_env(env, shared_host=is_loopback(address)),
        interface=interface,
    )


def secret_from_env(env: Mapping[str, str], *, shared_host: bool = False) -> bytes:
    """The 32 bytes that prove membership of the run.

    ``SPARKDL_RING_SECRET`` is the real one. Where it is missing, torchrun's run id stands in: it keeps
    runs apart, but whoever knows the id can join, so give torchrun an unguessable ``--rdzv-id``.

    Args:
        env: The environment.
        shared_host: The ranks meet on loopback: no warning is needed.

    Raises:
        ConfigError: Neither is set.
    """
    secret = _text(env, "SECRET")
    if secret:
        return hashlib.sha256(b"sparkdl_ring secret " + secret.encode()).digest()
    run_id = env.get("TORCHELASTIC_RUN_ID")
    if not run_id:
        raise ConfigError(
            "SPARKDL_RING_SECRET is not set: give all ranks the same random text, "
            "for example the output of `openssl rand -hex 32`"
        )
    if run_id == _UNSET_RUN_ID and not shared_host:
        _log.warning(
            "ranks are not authenticated: set SPARKDL_RING_SECRET, or torchrun --rdzv-id, on all nodes"
        )
    return hashlib.sha256(b"sparkdl_ring run id " + run_id.encode()).digest()


def _text(env: Mapping[str, str], name: str) -> str:
    return env.get(OURS + name, "")


def _number(env: Mapping[str, str], name: str, *, ours_only: bool = False) -> int | None:
    text = env.get(OURS + name) or ("" if ours_only else env.get(name, ""))
    if not text:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise ConfigError(f"{name}={text!r} in the environment is not a number") from error
