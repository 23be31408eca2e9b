"""torch's own DistributedDataParallel on the ring: a communication hook.

::

    ddp = torch.nn.parallel.DistributedDataParallel(model)   # any process group of the CPU
    ddp.register_comm_hook(*comm_hook(comm))
"""

from collections.abc import Callable
from typing import Any

import torch
from torch._C._distributed_c10d import GradBucket

from sparkdl_ring.comm import Communicator, Work
from sparkdl_ring.errors import RingError

Future = torch.futures.Future[torch.Tensor]
Hook = Callable[["HookState", GradBucket], Future]

_STEP_OF_ADOPTION = 3
"""DDP makes its buckets anew after the first step; from the second on they stay where they are."""


class HookState:
    """What the hook keeps between buckets.

    Args:
        comm: The ranks; the same, and in the same order, as those of DDP's process group.
        compress: See :meth:`~sparkdl_ring.comm.Communicator.allreduce`.
        adopt: Move DDP's buckets into memory that the ranks of a host share, where they stay in place.
    """

    def __init__(self, comm: Communicator, compress: Any = None, adopt: bool = True) -> None:
        self.comm = comm
        self.failure: BaseException | None = None
        self._compress = compress
        self._may_adopt = adopt
        self._flying: list[tuple[Future, torch.Tensor, Work | None]] = []
        self._steps = 0
        self._adopted: list[torch.Tensor] = []

    def launch(self, bucket: GradBucket) -> Future:
        """Submits one bucket's mean; the last one of a backward waits for all of them.

        Nothing is left for backward to do then, so that no thread is needed to complete the futures.
        """
        buffer = bucket.buffer()
        future: Future = torch.futures.Future()
        self._flying.append((future, buffer, self._submit(buffer, bucket.index())))
        # An exception set on the future itself ends the process; one that a callback raises comes out of
        # backward as it should.
        reduced = future.then(self._give)
        if bucket.is_last():
            self._finish()
        return reduced

    def close(self) -> None:
        """Gives adopted buckets their own memory back. Collective; call it before the ring is closed."""
        adopted, self._adopted = self._adopted, []
        for buffer in adopted:
            self.comm.release(buffer)

    def _submit(self, buffer: torch.Tensor, index: int) -> Work | None:
        if self.failure is not None:
            return None
        try:
            return self.comm.allreduce_async_(buffer, "mean", name=f"bucket {index}", compress=self._compress)
        except RingError as error:
            self.failure = error
            return None

    def _finish(self) -> None:
        flying, self._flying = self._flying, []
        for _, _, work in flying:
            self._wait(work)
        self._steps += 1
        if self._may_adopt and self._steps == _STEP_OF_ADOPTION and self.failure is None:
            self._adopt([buffer for _, buffer, _ in flying])
        for future, buffer, _ in flying:
            future.set_result(buffer)

    def _wait(self, work: Work | None) -> None:
        if work is None or self.failure is not None:
            return
        try:
            work.wait()
        except RingError as error:
            self.failure = error

    def _adopt(self, buffers: list[torch.Tensor]) -> None:
        """All ranks are at the same step, so that all of them come here."""
        for buffer in buffers:
            try:
                if self.comm.adopt(buffer):
                    self._adopted.append(buffer)  # keeps the storage alive while its pages are shared
            except RingError as error:
                self.failure = error
                return

    def _give(self, future: Future) -> torch.Tensor:
        if self.failure is not None:
            raise self.failure
        return future.value()


def comm_hook(comm: Communicator, compress: Any = None, *, adopt: bool = True) -> tuple[HookState, Hook]:
    """What ``DistributedDataParallel.register_comm_hook`` takes: gradients are averaged by the ring.

    A failure raises from ``backward``, as a RuntimeError with our text; ``state.failure`` holds our own.

    Args:
        comm: The ranks; the same, and in the same order, as those of DDP's process group.
        compress: ``fp16`` or ``bf16`` between hosts; see :meth:`~sparkdl_ring.comm.Communicator.allreduce`.
        adopt: Let ranks of one host reduce DDP's buckets in place; ``state.close()`` ends it.
    """
    return HookState(comm, compress, adopt), average


def average(state: HookState, bucket: GradBucket) -> Future:
    """The hook itself."""
    return state.launch(bucket)
