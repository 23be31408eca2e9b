"""Gradients that travel together: one flat buffer, reduced by one collective.

Behind the gradients a bucket carries one flag for each parameter: 1 where this rank has a gradient. A summed
flag of 0 tells all ranks that nobody had one, so that the gradient stays ``None`` everywhere, as in one
process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from sparkdl_ring.comm import Communicator, Work, plan_buckets
from sparkdl_ring.torch.weights import Weights

Make = Callable[[int, torch.dtype], torch.Tensor]


class Bucket:
    """The gradients of some parameters of one dtype.

    After a round ``param.grad`` is a view into the buffer where both are in one memory: what is accumulated
    there later needs no copy, and a gradient that autograd made anew (after ``zero_grad``) needs one, which
    also scales it.

    Args:
        name: Shown in errors; the same on all ranks.
        parameters: In the order of the buffer.
        make: Gives zeroed host memory of so many elements of a dtype. Parameters on a GPU have their buffer
            there.
    """

    def __init__(self, name: str, parameters: Sequence[torch.nn.Parameter], make: Make) -> None:
        self.name = name
        self.parameters = tuple(parameters)
        sizes = [p.numel() for p in self.parameters]
        first, count = self.parameters[0], sum(sizes) + len(sizes)
        on_gpu = first.is_cuda
        self._flat = first.new_zeros(count, requires_grad=False) if on_gpu else make(count, first.dtype)
        self._grads = self._flat[: sum(sizes)]
        self._flags = self._flat[sum(sizes) :]
        parts = zip(torch.split(self._grads, sizes), self.parameters, strict=True)
        self._views = [_like(part, p) for part, p in parts]
        self._work: Work | None = None

    @property
    def is_launched(self) -> bool:
        """Whether its collective is under way."""
        return self._work is not None

    @torch.no_grad()
    def launch(self, comm: Communicator, weights: Weights) -> None:
        """Submits the sum over ranks of ``share * gradient``.

        Args:
            comm: The ranks.
            weights: What this rank and all ranks count. Scaling before the sum keeps half precision from
                overflowing; where all count the same, the ring itself takes the mean.
        """
        share = 1.0 if weights.are_equal else weights.share
        has_grad = [p.grad is not None and share > 0 for p in self.parameters]
        for p, view, present in zip(self.parameters, self._views, has_grad, strict=True):
            if not present or p.grad is None:
                view.zero_()  # never share * gradient: 0 * NaN is NaN
            elif not _is_same(p.grad, view):
                _scale_into(view, p.grad, share)
                # Its memory serves the next layer's gradient at once: fresh pages cost more than the copy.
                if p.device == view.device:
                    p.grad = view
            elif share != 1.0:
                view.mul_(share)
        self._flags.copy_(torch.tensor(has_grad))
        self._work = comm.allreduce_async_(
            self._flat, op="mean" if weights.are_equal else "sum", name=self.name
        )

    def wait(self) -> None:
        """Blocks until the sum is there.

        Raises:
            CollectiveError: A peer died, timed out or disagreed.
        """
        work, self._work = self._work, None
        if work is not None:
            work.synchronize()  # on a GPU too: nothing is handed out that could still fail

    @torch.no_grad()
    def hand_out(self) -> None:
        """Gives each parameter its gradient; ``None`` where no rank had one."""
        for p, view, flag in zip(self.parameters, self._views, self._flags.tolist(), strict=True):
            if flag == 0:
                p.grad = None
            elif p.device == view.device:
                if p.grad is None or not _is_same(p.grad, view):
                    p.grad = view
            elif p.grad is None:
                p.grad = torch.empty_like(p, requires_grad=False).copy_(view)
            else:
                p.grad.copy_(view)

    @torch.no_grad()
    def release(self, comm: Communicator) -> None:
        """Gives the buffer back; gradients that are views into it are copied first. Collective."""
        for p, view in zip(self.parameters, self._views, strict=True):
            if p.grad is not None and _is_same(p.grad, view):
                p.grad = p.grad.clone()
        if not self._flat.is_cuda:
            comm.release(self._flat)

    def drop(self) -> None:
        """Forgets a collective that is not going to be waited for."""
        self._work = None


def _like(part: torch.Tensor, parameter: torch.nn.Parameter) -> torch.Tensor:
    """``part`` in the shape of ``parameter``, and in its memory order where that leaves no gaps."""
    if parameter.numel() and _has_no_gaps(parameter):
        return part.as_strided(parameter.shape, parameter.stride())
    return part.view(parameter.shape)


def _has_no_gaps(tensor: torch.Tensor) -> bool:
    """Whether the elements fill one stretch of memory, each place once, in whatever order of axes."""
    expected = 1
    for stride, length in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if length > 1:
            if stride != expected:
                return False
            expected *= length
    return True


def _is_same(grad: torch.Tensor, view: torch.Tensor) -> bool:
    same_place = grad.data_ptr() == view.data_ptr() and grad.device == view.device
    return same_place and grad.stride() == view.stride()


def _scale_into(view: torch.Tensor, grad: torch.Tensor, share: float) -> None:
    """One pass over memory: ``view = share * grad``."""
    if share == 1.0 or grad.device != view.device or grad.dtype != view.dtype:
        view.copy_(grad)
        if share != 1.0:
            view.mul_(share)
    else:
        torch.mul(grad, share, out=view)


def plan(parameters: Sequence[torch.nn.Parameter], bucket_bytes: int, name: str, make: Make) -> list[Bucket]:
    """Buckets in the order in which backward is likely to fill them: last parameter first, one dtype each."""
    backwards = list(reversed(parameters))
    sizes = [p.numel() * p.element_size() for p in backwards]
    groups = plan_buckets(sizes, [_kind(p) for p in backwards], bucket_bytes)
    return [
        Bucket(f"{name} bucket {i}", [backwards[j] for j in group], make) for i, group in enumerate(groups)
    ]


def _kind(parameter: torch.nn.Parameter) -> str:
    """What the gradients of one bucket have in common: the dtype, and the GPU where they are on one."""
    return f"{parameter.dtype} on {parameter.device}" if parameter.is_cuda else str(parameter.dtype)
