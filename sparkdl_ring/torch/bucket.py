"""Gradients that travel together: one flat buffer, reduced by one collective.

Behind the gradients a bucket carries one flag for each parameter: 1 where this rank has a gradient. A summed
flag of 0 tells all ranks that nobody had one, so that the gradient stays ``None`` everywhere, as in one
process.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sparkdl_ring.comm import Communicator, Work, plan_buckets


class Bucket:
    """The gradients of some parameters of one dtype.

    Args:
        name: Shown in errors; the same on all ranks.
        parameters: In the order of the buffer.
    """

    def __init__(self, name: str, parameters: Sequence[torch.nn.Parameter]) -> None:
        self.name = name
        self.parameters = tuple(parameters)
        sizes = [p.numel() for p in self.parameters]
        # Host memory whatever the device of the parameters: that is what the ring reduces.
        self._flat = torch.zeros(sum(sizes) + len(sizes), dtype=self.parameters[0].dtype)
        self._grads = self._flat[: sum(sizes)]
        self._flags = self._flat[sum(sizes) :]
        parts = zip(torch.split(self._grads, sizes), self.parameters, strict=True)
        self._views = [part.view(p.shape) for part, p in parts]
        self._work: Work | None = None

    @property
    def is_launched(self) -> bool:
        """Whether its collective is under way."""
        return self._work is not None

    def launch(self, comm: Communicator, share: float) -> None:
        """Submits the sum over ranks of ``share * gradient``.

        Args:
            comm: The ranks.
            share: This rank's weight divided by that of all ranks. Scaling before the sum keeps half
                precision from overflowing.
        """
        for p, view, i in zip(self.parameters, self._views, range(len(self._views)), strict=True):
            has_grad = p.grad is not None and share > 0
            self._flags[i] = float(has_grad)
            if p.grad is not None and has_grad:
                view.copy_(p.grad)
            else:
                view.zero_()  # never share * gradient: 0 * NaN is NaN
        if share not in (0.0, 1.0):
            self._grads.mul_(share)
        self._work = comm.allreduce_async_(self._flat, op="sum", name=self.name)

    def wait(self) -> None:
        """Blocks until the sum is there.

        Raises:
            CollectiveError: A peer died, timed out or disagreed.
        """
        work, self._work = self._work, None
        if work is not None:
            work.wait()

    def hand_out(self) -> None:
        """Gives each parameter its gradient; ``None`` where no rank had one."""
        for p, view, flag in zip(self.parameters, self._views, self._flags.tolist(), strict=True):
            if flag == 0:
                p.grad = None
            elif p.grad is None:
                p.grad = torch.empty_like(p, requires_grad=False).copy_(view)
            else:
                p.grad.copy_(view)

    def drop(self) -> None:
        """Forgets a collective that is not going to be waited for."""
        self._work = None


def plan(parameters: Sequence[torch.nn.Parameter], bucket_bytes: int, name: str) -> list[Bucket]:
    """Buckets in the order in which backward is likely to fill them: last parameter first, one dtype each."""
    backwards = list(reversed(parameters))
    sizes = [p.numel() * p.element_size() for p in backwards]
    groups = plan_buckets(sizes, [str(p.dtype) for p in backwards], bucket_bytes)
    return [Bucket(f"{name} bucket {i}", [backwards[j] for j in group]) for i, group in enumerate(groups)]
