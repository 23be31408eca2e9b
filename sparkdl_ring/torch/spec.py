"""What to train, as the user gives it: model, loss, optimizer, metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from sparkdl_ring.errors import ConfigError

Loss = Callable[[Any, Any], torch.Tensor]
"""(output, label) to the mean over the rows of a batch."""

Metric = Callable[[Any, Any], Any]
"""(output, label) to a scalar, the mean over the rows of a batch."""

OptimizerFactory = Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer]


@dataclass(frozen=True)
class TorchSpec:
    """Everything of a fit that is code or weights.

    Args:
        model: Called with one tensor for each feature column; gives one output for each label column.
        loss: One function for every label, or a sequence with one for each.
        optimizer: Makes the optimizer from the trainable parameters.
        metrics: More figures, by name; with several labels each is taken for each label.
        loss_weights: Factor of each label's loss in the sum; default 1.
    """

    model: torch.nn.Module
    loss: Loss | Sequence[Loss]
    optimizer: OptimizerFactory
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    loss_weights: Sequence[float] | None = None

    def losses(self, num_labels: int) -> tuple[Loss, ...]:
        """One loss for each label.

        Raises:
            ConfigError: The sequence given has another length.
        """
        if callable(self.loss):
            return (self.loss,) * num_labels
        return tuple(_matching("loss", self.loss, num_labels))

    def weights(self, num_labels: int) -> tuple[float, ...]:
        """One factor for each label.

        Raises:
            ConfigError: The sequence given has another length.
        """
        if self.loss_weights is None:
            return (1.0,) * num_labels
        return tuple(float(w) for w in _matching("loss_weights", self.loss_weights, num_labels))


def _matching(name: str, values: Sequence[Any], num_labels: int) -> Sequence[Any]:
    if len(values) != num_labels:
        raise ConfigError(
            f"{name} has {len(values)} entries for {num_labels} label column(s): give one for each"
        )
    return values
