"""Who am I: the place of one task among all tasks of a run."""

from __future__ import annotations

from dataclasses import dataclass

from sparkdl_ring.errors import ConfigError


@dataclass(frozen=True)
class World:
    """The place of one task.

    Args:
        rank: Position among all tasks, 0 to ``size - 1``.
        size: Number of tasks.
        local_rank: Position among the tasks of this host.
        local_size: Number of tasks on this host.
        host: Name of this host, for messages.
        run_id: Name of the run; ranks of two runs never meet.
        generation: Number of the membership, 0 at first.
        gpu: The GPU that is this task's own: its UUID, or its number on the host. CUDA sees no other in this
            process, so it is ``cuda:0``. Empty: none.
    """

    rank: int
    size: int
    local_rank: int = 0
    local_size: int = 1
    host: str = "localhost"
    run_id: str = "local"
    generation: int = 0
    gpu: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.size:
            raise ConfigError(f"rank {self.rank} is outside 0..{self.size - 1} (size {self.size})")
        if not 0 <= self.local_rank < self.local_size <= self.size:
            raise ConfigError(
                f"local rank {self.local_rank} of {self.local_size} does not fit a size of {self.size}"
            )

    @property
    def is_chief(self) -> bool:
        """True on rank 0, the one that writes checkpoints and progress."""
        return self.rank == 0


SINGLE = World(rank=0, size=1)
"""The world of one process that nobody launched."""
