"""torch's gloo between the same ranks."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparkdl_ring.bench import condition
from sparkdl_ring.comm import Communicator

AllReduce = Callable[[Any], object]


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


def share_cores(num_ranks: int) -> None:
    """Gives torch as many threads as a rank's share of the cores."""
    import torch

    torch.set_num_threads(max(1, condition.num_cores() // num_ranks))
