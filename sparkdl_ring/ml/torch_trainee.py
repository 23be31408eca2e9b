"""A PyTorch model with what trains it, checked on the driver; and its inference in Spark's workers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle
import torch

from sparkdl_ring.data import Batch
from sparkdl_ring.errors import ConfigError, RingError
from sparkdl_ring.job import TrainJob, TrainResult
from sparkdl_ring.ml import entry
from sparkdl_ring.ml.outputs import Array, OutputSpec, describe
from sparkdl_ring.ml.persistence import pickled
from sparkdl_ring.ml.predict import Loader
from sparkdl_ring.ml.trainee import Roles
from sparkdl_ring.torch import (
    TorchSpec,
    check_spec,
    dumps_spec,
    loads_model,
    loads_spec,
    uses_batch_statistics,
)
from sparkdl_ring.torch.batch import float_dtype, to_tensors
from sparkdl_ring.torch.objective import score
from sparkdl_ring.torch.seeding import random_state_kept

OutputTransform = Callable[[Any], Any]


@dataclass(frozen=True)
class TorchPredictor:
    """A trained module at work.

    Args:
        module: The module.
        features: Names of its features, for messages.
        output_transform: Applied to what the module gives.
    """

    module: torch.nn.Module
    features: tuple[str, ...]
    output_transform: OutputTransform | None = None

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Predicts without gradients, in evaluation mode."""
        self.module.eval()
        columns = dict(zip(self.features, arrays, strict=True))
        with torch.inference_mode():
            outputs = self.module(*to_tensors(columns, self.features, float_dtype(self.module)))
            if self.output_transform is not None:
                outputs = self.output_transform(outputs)
        several = isinstance(outputs, (tuple, list))
        return [_array(output) for output in (outputs if several else (outputs,))]


def load_predictor(blobs: Mapping[str, bytes], features: Sequence[str]) -> TorchPredictor:
    """A predictor from the blobs of a trained model."""
    transform = cloudpickle.loads(blobs["output_transform"]) if "output_transform" in blobs else None
    return TorchPredictor(loads_model(blobs["model"]), tuple(features), transform)


@dataclass(frozen=True)
class TorchTrainee:
    """See :class:`~sparkdl_ring.ml.trainee.Trainee`.

    Args:
        spec: Model, loss, optimizer, metrics.
        output_transform: Applied to the outputs in transform only.
    """

    spec: TorchSpec
    output_transform: OutputTransform | None = None

    def check(self, roles: Roles) -> None:
        check_spec(self.spec, roles.labels)

    def payload(self) -> bytes:
        self.extras()
        return dumps_spec(self.spec)

    def extras(self) -> dict[str, bytes]:
        if self.output_transform is None:
            return {}
        return {"output_transform": pickled("output_transform", self.output_transform)}

    def probe(self, payload: bytes, rows: Batch, roles: Roles) -> tuple[OutputSpec, ...]:
        spec = loads_spec(payload)  # a copy: whatever happens to it, the user's model stays as it is
        try:
            with random_state_kept():
                return _probed(spec, self.output_transform, rows, roles)
        except RingError:
            raise
        except Exception as error:  # the user's code; its own words are the message
            raise ConfigError(_mismatch(rows, roles, error)) from error

    def module(self, blobs: Mapping[str, bytes]) -> torch.nn.Module:
        return loads_model(blobs["model"])

    @property
    def names(self) -> dict[str, str]:
        parts = {name: getattr(self.spec, name) for name in ("model", "loss", "optimizer")}
        return {name: called(part) for name, part in parts.items()}

    @property
    def identity(self) -> str:
        rest = cloudpickle.dumps((self.spec.loss, self.spec.optimizer, self.spec.metrics))
        shapes = [(name, tuple(value.shape)) for name, value in self.spec.model.state_dict().items()]
        return f"{self.spec.model!r} {shapes} {hashlib.blake2b(rest).hexdigest()}"

    @property
    def spreads_tail(self) -> bool:
        return uses_batch_statistics(self.spec.model)

    @property
    def main(self) -> Callable[[TrainJob], TrainResult]:
        return entry.main

    @property
    def loader(self) -> Loader:
        return load_predictor


def _mismatch(rows: Batch, roles: Roles, error: Exception) -> str:
    columns = {name: f"{rows.columns[name].dtype} {rows.columns[name].shape}" for name in roles.wanted}
    return (
        f"model or loss fails on the first {rows.rows} rows of the data, whose columns are {columns}: "
        f"{type(error).__name__}: {error}. Floating columns arrive in the type of the model's parameters, "
        "integers as int64; a class label must be cast to long"
    )


def _probed(
    spec: TorchSpec, transform: OutputTransform | None, rows: Batch, roles: Roles
) -> tuple[OutputSpec, ...]:
    spec.model.eval()
    dtype = float_dtype(spec.model)
    with torch.no_grad():
        outputs = spec.model(*to_tensors(rows.columns, roles.features, dtype))
        score(spec, outputs, to_tensors(rows.columns, roles.labels, dtype))
    predictor = TorchPredictor(spec.model, roles.features, transform)
    given = predictor([rows.columns[name] for name in roles.features])
    return describe(given, roles.predictions, rows.rows)


def called(part: Any) -> str:
    """The name of a user's function or class, or of an object's class."""
    if isinstance(part, (list, tuple)):
        return ", ".join(called(item) for item in part)
    inner = part.func if isinstance(part, partial) else part
    return str(getattr(inner, "__qualname__", type(inner).__qualname__))


def _array(output: Any) -> Array:
    if not isinstance(output, torch.Tensor):
        raise ConfigError(f"the model gave a {type(output).__name__} where a tensor was expected")
    plain = output.float() if output.dtype in (torch.float16, torch.bfloat16) else output
    array: Array = plain.cpu().numpy()
    return array
