"""Data-parallel training of any module: gradients of all rows of all ranks, however many each one has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from sparkdl_ring.comm import Communicator, current
from sparkdl_ring.config import resolve
from sparkdl_ring.torch.broadcast import broadcast_parameters
from sparkdl_ring.torch.reducer import Reducer
from sparkdl_ring.torch.weights import StepWeights


class DistributedDataParallel(torch.nn.Module):
    """Wraps a module; ``backward`` leaves the same, averaged gradients on every rank.

    Two ways of use, the same on all ranks in any one step:

    - ``with ddp.step(weight=rows): loss(ddp(x), y).backward()``: gradients are ``sum(w_r * g_r) / sum(w_r)``.
      A rank without rows calls :meth:`join_step` instead.
    - plain ``loss(ddp(x), y).backward()``: gradients are the mean over ranks.

    A parameter that some ranks did not use counts as zero there; one that no rank used keeps ``grad = None``
    on all of them, so that optimizers pass over it as in one process. Parameters may be frozen, unfrozen,
    shared and used several times. Half-precision gradients are scaled before they are summed. Failures of a
    peer raise from ``backward``.

    ``state_dict`` and ``load_state_dict`` are those of the wrapped module, without a ``module.`` prefix:
    weights go to and from the plain module unchanged. Buffers are not touched in a step: see
    :func:`~sparkdl_ring.torch.buffers.average_buffers`.

    Args:
        module: Trained in place.
        comm: The ranks; default those of this process.
        bucket_bytes: Bytes of gradients fused into one allreduce; default that of the settings.
        broadcast: Give every rank the parameters and buffers of rank 0 first.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        comm: Communicator | None = None,
        *,
        bucket_bytes: int | None = None,
        broadcast: bool = True,
    ) -> None:
        super().__init__()
        self.module = module
        self._comm = comm or current()
        if broadcast:
            broadcast_parameters(module, self._comm)
        size = resolve().comm.bucket_bytes if bucket_bytes is None else bucket_bytes
        self._reducer = Reducer(module, self._comm, size)
        self._register_state_dict_hook(_without_prefix)  # type: ignore[no-untyped-call]
        self._register_load_state_dict_pre_hook(_with_prefix)  # type: ignore[no-untyped-call]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module."""
        if torch.is_grad_enabled():
            self._reducer.refresh()
        return self.module(*args, **kwargs)

    @contextmanager
    def step(self, weight: float) -> Iterator[None]:
        """One step in which this rank counts ``weight``. Collective: at its end every rank has reduced.

        A block without a backward takes part with zero gradients.

        Args:
            weight: Rows (or summed sample weights) behind this rank's mean loss.

        Raises:
            ConfigError: The weight is negative or not finite.
            CollectiveError: A peer died, timed out or disagreed.
        """
        self._reducer.refresh()
        self._reducer.use_weights(StepWeights(self._comm, weight, type(self.module).__name__))
        try:
            yield
            if not self._reducer.rounds:
                self._reducer.finish()
        except BaseException:
            self._reducer.abandon()
            raise
        finally:
            self._reducer.use_weights(None)

    def join_step(self) -> None:
        """Takes part in a step with zero rows: the other ranks' gradients arrive here too. Collective."""
        with self.step(0):
            pass

    def close(self) -> None:
        """Leaves the module as it was: removes the hooks."""
        self._reducer.close()


def _without_prefix(_: torch.nn.Module, state: dict[str, Any], prefix: str, _metadata: Any) -> None:
    inner = f"{prefix}module."
    for name in [name for name in state if name.startswith(inner)]:
        state[prefix + name[len(inner) :]] = state.pop(name)


def _with_prefix(state: dict[str, Any], prefix: str, *_rest: Any) -> None:
    for name in [name for name in state if name.startswith(prefix)]:
        state[f"{prefix}module.{name[len(prefix) :]}"] = state.pop(name)
