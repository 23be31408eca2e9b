"""Reduces gradients while backward still runs, in one order on all ranks.

A *round* is one backward. Autograd calls a hook for each parameter whose gradient is complete; a bucket is
launched once all its gradients are there and every bucket before it has been launched. When autograd is done
it calls :meth:`Reducer.finish`, which launches the rest (parameters that were not used count as zeros),
waits, and hands the gradients out. All of this runs in the thread that called ``backward`` (with parameters
on an accelerator, in autograd's thread of that device).

A gradient that was there before backward is part of what is reduced. One that earlier rounds reduced is the
same on all ranks, so its weighted mean is itself: gradients may be accumulated over several rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from sparkdl_ring.comm import Communicator
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.torch.bucket import Bucket, plan
from sparkdl_ring.torch.memory import zeros
from sparkdl_ring.torch.weights import EqualWeights, Weights


class Reducer:
    """The gradients of one module.

    Args:
        module: Its trainable parameters are hooked; a change of ``requires_grad`` is seen by :meth:`refresh`.
        comm: The ranks.
        bucket_bytes: Largest bucket, in bytes.
    """

    def __init__(self, module: torch.nn.Module, comm: Communicator, bucket_bytes: int) -> None:
        self._module = module
        self._comm = comm
        self._bucket_bytes = bucket_bytes
        self._equal = EqualWeights(comm.size)
        self.weights: Weights = self._equal
        self.rounds = 0
        self._parameters: tuple[torch.nn.Parameter, ...] = ()
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        self._buckets: list[Bucket] = []
        self._clear()
        self.refresh()

    def refresh(self) -> None:
        """Plans anew when other parameters are trainable than at the last call (layers were unfrozen)."""
        now = tuple(p for p in self._module.parameters() if p.requires_grad)
        if len(now) == len(self._parameters) and all(
            a is b for a, b in zip(now, self._parameters, strict=True)
        ):
            return
        self.close()
        self._parameters = now
        old, self._buckets = self._buckets, []
        for bucket in old:
            bucket.release(self._comm)
        self._buckets = self._plan(now)
        self._clear()
        for bucket in self._buckets:
            for parameter in bucket.parameters:
                hook = partial(self._ready, bucket)
                handle = parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
                self._handles.append(handle)

    def _plan(self, parameters: tuple[torch.nn.Parameter, ...]) -> list[Bucket]:
        if not parameters:
            return []
        name = type(self._module).__name__
        return plan(parameters, self._bucket_bytes, name, partial(zeros, self._comm))

    def use_weights(self, weights: Weights | None) -> None:
        """Weights of the coming rounds; ``None`` for equal ones."""
        self.weights = weights or self._equal
        self.rounds = 0

    def finish(self) -> None:
        """Ends the round: launches what is left, waits, hands out. Collective.

        Raises:
            CollectiveError: A peer died, timed out or disagreed; the gradients are then not to be used.
        """
        try:
            self._launch(len(self._buckets))
            for bucket in self._buckets:
                bucket.wait()
                if self.weights.total > 0:
                    bucket.hand_out()
        finally:
            self._clear()
        self.rounds += 1

    def abandon(self) -> None:
        """Forgets a round that an exception has ended; the peers learn of it from whoever closes the ring."""
        self._clear()

    def close(self) -> None:
        """Removes the hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _clear(self) -> None:
        self._launched = 0
        self._arrived: set[torch.nn.Parameter] = set()
        self._awaited = [len(bucket.parameters) for bucket in self._buckets]
        self._graph_tasks: set[int] = set()
        self._index = {bucket: i for i, bucket in enumerate(self._buckets)}
        for bucket in self._buckets:
            bucket.drop()

    def _ready(self, bucket: Bucket, parameter: torch.nn.Parameter) -> None:
        self._finish_after_backward()
        if parameter.grad is not None and parameter.grad.is_sparse:
            raise ConfigError(
                f"{bucket.name}: sparse gradients are not supported: build the layer with sparse=False"
            )
        if parameter in self._arrived:
            self._again(bucket)
            return
        self._arrived.add(parameter)
        self._awaited[self._index[bucket]] -= 1
        self._launch_complete()

    def _again(self, bucket: Bucket) -> None:
        if bucket.is_launched:
            raise ConfigError(
                f"{bucket.name}: a parameter got a second gradient in one backward after the first was sent; "
                "with activation checkpoints pass use_reentrant=False"
            )

    def _launch_complete(self) -> None:
        complete = self._launched
        while complete < len(self._buckets) and self._awaited[complete] == 0:
            complete += 1
        self._launch(complete)

    def _launch(self, stop: int) -> None:
        for bucket in self._buckets[self._launched : stop]:
            bucket.launch(self._comm, self.weights)
            self._launched += 1

    def _finish_after_backward(self) -> None:
        # Once for each graph task: a backward inside a backward is a task, and a round, of its own.
        task = torch._C._current_graph_task_id()
        if task not in self._graph_tasks:
            self._graph_tasks.add(task)
            queue: Callable[[Callable[[], None]], None] = (
                torch.autograd.Variable._execution_engine.queue_callback
            )
            queue(self._finish_if_open)

    def _finish_if_open(self) -> None:
        if self._graph_tasks:
            self.finish()
