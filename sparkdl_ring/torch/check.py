"""What can be known about a spec before a task starts; run on the driver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.torch.objective import figure_names
from sparkdl_ring.torch.spec import TorchSpec


def check_spec(spec: TorchSpec, label_cols: Sequence[str] = ("label",)) -> None:
    """Refuses what would fail, or silently train nothing, inside the tasks.

    Args:
        spec: The spec; not changed.
        label_cols: Label columns.

    Raises:
        ConfigError: All that is wrong, in one message.
    """
    wrong = [*_wrong_model(spec.model), *_wrong_loss(spec, label_cols), *_wrong_metrics(spec, label_cols)]
    if not wrong:  # an optimizer is made of the model's parameters
        wrong = _wrong_optimizer(spec)
    if wrong:
        raise ConfigError("; ".join(wrong))


def uses_batch_statistics(model: torch.nn.Module) -> bool:
    """True when a layer normalises over the batch and so cannot train on a single row."""
    return any("BatchNorm" in base.__name__ for m in model.modules() for base in type(m).__mro__)


def trainable(model: torch.nn.Module) -> list[torch.nn.Parameter]:
    """The parameters that get gradients, shared ones once."""
    return [p for p in model.parameters() if p.requires_grad]


def _wrong_model(model: object) -> list[str]:
    if not isinstance(model, torch.nn.Module):
        return [f"model is a {type(model).__name__}, not a torch.nn.Module"]
    lazy = [name for name, p in model.named_parameters() if is_lazy(p)]
    if lazy:
        return [f"parameters {lazy} have no shape yet: call the model once on a few rows before fitting it"]
    if not trainable(model):
        return ["the model has no parameter that requires a gradient: there is nothing to train"]
    sparse = [name for name, m in model.named_modules() if getattr(m, "sparse", False) is True]
    return [f"layer {name!r} gives sparse gradients: build it with sparse=False" for name in sparse]


def _wrong_loss(spec: TorchSpec, label_cols: Sequence[str]) -> list[str]:
    try:
        losses, weights = spec.losses(len(label_cols)), spec.weights(len(label_cols))
    except ConfigError as error:
        return [str(error)]
    wrong = [f"loss {loss!r} cannot be called" for loss in losses if not callable(loss)]
    if any(isinstance(loss, torch.nn.Module) and trainable(loss) for loss in losses):
        wrong.append("the loss has trainable parameters: make them part of the model")
    if not all(math.isfinite(w) for w in weights):
        wrong.append(f"loss_weights {weights} must be finite")
    return wrong


def _wrong_metrics(spec: TorchSpec, label_cols: Sequence[str]) -> list[str]:
    wrong = [f"metric {name!r} cannot be called" for name, fn in spec.metrics.items() if not callable(fn)]
    names = figure_names(spec, label_cols)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        wrong.append(f"metric names {twice} would be used twice: give other names")
    wrong += [
        f"metric name {n!r}: names with val_ are those of validation" for n in names if n.startswith("val_")
    ]
    return wrong


def _wrong_optimizer(spec: TorchSpec) -> list[str]:
    factory: Any = spec.optimizer
    if not callable(factory):
        return ["optimizer must be a function of parameters, such as lambda p: torch.optim.SGD(p, lr=0.1)"]
    try:
        optimizer = factory(trainable(spec.model))
    except Exception as error:  # noqa: BLE001 - the user's code; its own words are the message
        return [f"optimizer: the function failed with {type(error).__name__}: {error}"]
    if not isinstance(optimizer, torch.optim.Optimizer):
        return [f"optimizer: the function gave a {type(optimizer).__name__}, not a torch.optim.Optimizer"]
    if isinstance(optimizer, torch.optim.LBFGS):
        return ["LBFGS evaluates the loss several times a step, which training over batches cannot give it"]
    return []
