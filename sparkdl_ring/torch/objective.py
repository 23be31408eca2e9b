"""From outputs and labels to the loss to minimise and the figures to report.

The figures of a fit are ``loss``, with several labels ``loss_<label>`` each, and the user's metrics (with
several labels ``<metric>_<label>``). All are means over rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.torch.spec import TorchSpec


def figure_names(spec: TorchSpec, label_cols: Sequence[str]) -> list[str]:
    """Names of all figures, in a fixed order."""
    if len(label_cols) == 1:
        return ["loss", *spec.metrics]
    losses = [f"loss_{label}" for label in label_cols]
    return ["loss", *losses, *(f"{name}_{label}" for name in spec.metrics for label in label_cols)]


@dataclass(frozen=True)
class Scored:
    """The result of one batch.

    Args:
        loss: The weighted sum of the labels' losses, still in the graph.
        figures: Values in the order of :func:`figure_names`.
    """

    loss: torch.Tensor
    figures: tuple[float, ...]


def score(spec: TorchSpec, outputs: Any, labels: Sequence[torch.Tensor]) -> Scored:
    """Loss and figures of one batch.

    Args:
        spec: Losses, their weights, metrics.
        outputs: What the model gave: a tensor, or a tuple with one for each label.
        labels: One tensor for each label column.

    Raises:
        ConfigError: The model gives another number of outputs, or a loss is no scalar.
    """
    pairs = [
        (matched(out, label), label)
        for out, label in zip(_outputs(outputs, len(labels)), labels, strict=True)
    ]
    losses = [
        _scalar(fn(out, label)) for fn, (out, label) in zip(spec.losses(len(labels)), pairs, strict=True)
    ]
    total = torch.stack([w * loss for w, loss in zip(spec.weights(len(labels)), losses, strict=True)]).sum()
    figures = [total, *losses] if len(labels) > 1 else [total]
    with torch.no_grad():
        figures += [fn(out.detach(), label) for fn in spec.metrics.values() for out, label in pairs]
    return Scored(total, tuple(_number(f) for f in figures))


def matched(output: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """The output without its last axis when it is one column and the label has none, else as it is.

    Without this, ``(B, 1)`` against ``(B,)`` broadcasts to ``(B, B)`` and trains on nonsense.
    """
    rows = label.shape[0]
    return output.squeeze(1) if output.shape == (rows, 1) and label.shape == (rows,) else output


def _outputs(outputs: Any, num_labels: int) -> Sequence[torch.Tensor]:
    found = tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)
    if len(found) != num_labels or not all(isinstance(o, torch.Tensor) for o in found):
        kinds = ", ".join(type(o).__name__ for o in found)
        raise ConfigError(
            f"the model gave ({kinds}) for {num_labels} label column(s): return one tensor for each"
        )
    return found


def _number(value: Any) -> float:
    return float(value.detach() if isinstance(value, torch.Tensor) else value)


def _scalar(loss: torch.Tensor) -> torch.Tensor:
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        shape = tuple(loss.shape) if isinstance(loss, torch.Tensor) else type(loss).__name__
        raise ConfigError(f"the loss gave {shape}, not one number: use reduction='mean'")
    return loss.reshape(())
