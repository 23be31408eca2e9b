"""Which GPU is a rank's own, and the mask that shows it no other.

A scheduler counts GPUs as the host does; CUDA counts those that ``CUDA_VISIBLE_DEVICES`` lets it see. So the
mask is narrowed to the one GPU of this rank, which then is ``cuda:0``. CUDA reads the mask when it is first
used: it is set before the user's function is even unpickled.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sparkdl_ring.errors import ConfigError, LaunchError
from sparkdl_ring.log import get_logger
from sparkdl_ring.rendezvous.addresses import strip_port
from sparkdl_ring.rendezvous.topology import local_place

_log = get_logger(__name__)
_MASK, _ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
_UUID = re.compile(r"(GPU|MIG)-[\w/-]+$")
_DRIVER, _DEVICES = Path("/proc/driver/nvidia/gpus"), Path("/dev")


@dataclass(frozen=True)
class Seat:
    """The place of a rank among some ranks.

    Args:
        index: Its position, in the order of ranks.
        count: How many they are.
    """

    index: int = 0
    count: int = 1


@dataclass(frozen=True)
class Grant:
    """What the platform says about a rank and GPUs.

    Args:
        addresses: GPUs that the scheduler gave it, as the host counts or by UUID; none where it gives none.
        near: Its place among the ranks that have the same environment and the same addresses (one executor).
        host: Its place among the ranks of its host.
    """

    addresses: tuple[str, ...] = ()
    near: Seat = Seat()
    host: Seat = Seat()


@dataclass(frozen=True)
class Choice:
    """The GPU of a rank.

    Args:
        gpu: Its UUID, or its number on the host where the driver tells none; empty: no GPU of its own.
        changes: The environment in which CUDA sees that GPU only.
    """

    gpu: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)


class TaskResources(Protocol):
    """What is needed of ``pyspark.BarrierTaskContext``."""

    def partitionId(self) -> int: ...  # noqa: N802 - Spark's name

    def getTaskInfos(self) -> Sequence[Any]: ...  # noqa: N802 - Spark's name

    def resources(self) -> Mapping[str, Any]: ...


def granted_by_spark(context: TaskResources) -> Grant:
    """The grant of a barrier task: Spark names the executor of each task by host and port."""
    rank = context.partitionId()
    executors = [info.address for info in context.getTaskInfos()]
    given = context.resources().get("gpu")
    return Grant(
        tuple(given.addresses) if given is not None else (),
        Seat(*local_place(executors, rank)),
        Seat(*local_place([strip_port(address) for address in executors], rank)),
    )


def host_gpus(driver: Path = _DRIVER, devices: Path = _DEVICES) -> tuple[str, ...]:
    """The UUIDs of this host's GPUs by number (order of the PCI bus), empty where the driver tells none."""
    told = [_told_uuid(entry / "information") for entry in sorted(driver.glob("*"))]
    return tuple(told) if any(told) else ("",) * len(list(devices.glob("nvidia[0-9]*")))


def choose(grant: Grant, environ: Mapping[str, str], known: Sequence[str]) -> Choice:
    """Chooses the GPU of one rank.

    What a scheduler gave decides. Without one the ranks of a host take the visible GPUs in turn, where there
    is one for each; a rank that is alone, or has to share, keeps seeing all.

    Args:
        grant: What the platform says.
        environ: The environment as it is.
        known: UUIDs of the host's GPUs by number; see :func:`host_gpus`.

    Raises:
        ConfigError: The scheduler gave a GPU that the mask hides, or that this host has not.
    """
    mask = environ.get(_MASK)
    visible = None if mask is None else visible_in(mask)
    if grant.addresses:
        address = grant.addresses[grant.near.index % len(grant.addresses)]
        name = _permitted(address, visible, known)
        ordered = name.isdigit() and _ORDER not in environ
        return Choice(identity(name, known), {_MASK: name, **({_ORDER: "PCI_BUS_ID"} if ordered else {})})
    names = [str(number) for number in range(len(known))] if visible is None else visible
    seat = grant.host if visible is None else grant.near
    if seat.count == 1 or not names:
        return Choice()
    if len(names) < seat.count:
        _log.warning("%d ranks see %d GPU(s) here, so none has one of its own", seat.count, len(names))
        return Choice()
    return Choice(identity(names[seat.index], known), {_MASK: names[seat.index]})


def visible_in(mask: str) -> list[str]:
    """The GPUs of a mask as CUDA reads it: up to the first entry that names none."""
    names: list[str] = []
    for name in (part.strip() for part in mask.split(",")):
        if not _is_name(name):
            break
        names.append(name)
    return list(dict.fromkeys(names))


def identity(name: str, known: Sequence[str]) -> str:
    """The one name of a GPU: its whole UUID where the driver tells it, else ``name``."""
    if name.isdigit():
        return (known[int(name)] or name) if int(name) < len(known) else name
    return next((uuid for uuid in known if uuid.startswith(name)), name)


def refuse_used_cuda(choice: Choice) -> None:
    """Raises :class:`LaunchError` where the mask would come too late, or CUDA was used before a fork.

    Only what is loaded already is asked; nothing is imported here.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None:
        return
    if getattr(cuda, "_is_in_bad_fork", bool)():
        raise LaunchError(
            "this task is a fork of a process that had used CUDA, which CUDA does not survive: use no CUDA "
            "in the module that spark.python.daemon.module names, or set spark.python.use.daemon=false"
        )
    if choice.changes and getattr(cuda, "is_initialized", bool)():
        raise LaunchError(
            f"CUDA was used in this process before GPU {choice.gpu} was chosen for it: start the task in a "
            "fresh process (spark.python.worker.reuse=false) and use CUDA inside the function only"
        )


def _permitted(address: str, visible: Sequence[str] | None, known: Sequence[str]) -> str:
    """The scheduler's GPU, spelled as the mask spells it."""
    if not _is_name(address):
        raise ConfigError(
            f"the scheduler gave GPU {address!r}; CUDA knows numbers, GPU-<uuid> and MIG-<uuid>"
        )
    if visible is None:
        if address.isdigit() and 0 < len(known) <= int(address):
            raise ConfigError(
                f"the scheduler gave GPU {address}, but this host has {len(known)} (0 to {len(known) - 1}): "
                "see the discovery script of the resource"
            )
        return address
    for name in visible:
        if _same(name, address, known):
            return name
    raise ConfigError(
        f"the scheduler gave GPU {address}, which is not among {_MASK}={','.join(visible)!r} as far as the "
        "driver tells: give executors a mask that holds it, or none"
    )


def _same(one: str, other: str, known: Sequence[str]) -> bool:
    one, other = identity(one, known), identity(other, known)
    if one.isdigit() or other.isdigit():
        return one == other
    return one.startswith(other) or other.startswith(one)


def _is_name(text: str) -> bool:
    return text.isdigit() or _UUID.match(text) is not None


def _told_uuid(file: Path) -> str:
    try:
        found = re.search(r"GPU UUID:\s*(GPU-[0-9a-f-]+)", file.read_text())
    except OSError:
        return ""
    return found.group(1) if found else ""
