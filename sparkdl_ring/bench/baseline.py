"""torch's gloo between the same ranks."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from sparkdl_ring.bench import condition
from sparkdl_ring.comm import Communicator

AllReduce = Callable[[Any], object]
_TIMEOUT_S = 300.0


def has_torch() -> bool:
    """Whether torch is installed, without loading it."""
    return importlib.util.find_spec("torch") is not None


@contextmanager
def default_group(comm: Communicator, folder: str) -> Iterator[AllReduce]:
    """Makes gloo torch's default process group while the block lasts; gives its ``all_reduce``.

    Args:
        comm: The ranks.
        folder: Where they meet.
    """
    import torch.distributed as dist

    share_cores(comm.size)
    meeting = (Path(folder) / f"gloo-{comm.size}").as_uri()
    dist.init_process_group("gloo", init_method=meeting, rank=comm.rank, world_size=comm.size)
    try:
        yield dist.all_reduce
    finally:
        dist.destroy_process_group()


@contextmanager
def group_at(comm: Communicator, folder: str, address: str) -> Iterator[AllReduce]:
    """Gloo on one address of this host; torch's default group would ask for the host's name.

    Args:
        comm: The ranks.
        folder: Where they meet.
        address: Own address.
    """
    import torch.distributed as dist

    share_cores(comm.size)
    untyped: Any = dist  # its stubs leave these names out
    kind = untyped.ProcessGroupGloo
    store = untyped.FileStore(str(Path(folder) / f"gloo-{comm.size}"), comm.size)
    options = kind._Options()
    options._devices = [kind.create_device(hostname=address)]
    options._timeout = timedelta(seconds=_TIMEOUT_S)
    group = kind(store, comm.rank, comm.size, options)

    def all_reduce(tensor: Any) -> None:
        group.allreduce([tensor]).wait()

    yield all_reduce


def share_cores(num_ranks: int) -> None:
    """Gives torch as many threads as a rank's share of the cores."""
    import torch

    torch.set_num_threads(max(1, condition.num_cores() // num_ranks))
