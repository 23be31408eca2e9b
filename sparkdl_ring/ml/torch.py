"""PyTorch in Spark ML: :class:`TorchEstimator` and :class:`TorchModel`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import cloudpickle

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.ml.estimator import RingEstimator
from sparkdl_ring.ml.fitted import Fitted
from sparkdl_ring.ml.model import RingModel
from sparkdl_ring.ml.persistence import Saved, pickled
from sparkdl_ring.ml.predict import Loader
from sparkdl_ring.ml.progress import OnEpoch

if TYPE_CHECKING:
    import torch

    from sparkdl_ring.ml.torch_trainee import TorchTrainee

_CODE = ("model", "loss", "optimizer", "metrics", "output_transform")


class TorchEstimator(RingEstimator):
    """Trains a ``torch.nn.Module`` on a DataFrame, one barrier task per worker.

    ::

        est = TorchEstimator(
            model=net, loss=torch.nn.functional.cross_entropy,
            optimizer=torch.optim.AdamW, learning_rate=1e-3,
            feature_cols=["features"], label_cols=["label"], batch_size=256, epochs=5, num_workers=4,
        )
        model = est.fit(df)

    The model object given is never changed: tasks train a copy. A fit with k workers and batch size b takes
    the steps of one process with batches of k times b rows.

    Args:
        model: Called with one tensor for each feature column; gives one output for each label column.
        loss: ``loss(output, label)``, the mean over rows; a list gives each label its own.
        optimizer: Makes the optimizer from the parameters: ``torch.optim.SGD`` with ``learning_rate``, or
            ``lambda p: torch.optim.SGD(p, lr=0.1)``.
        metrics: More figures by name: ``metric(output, label)``, the mean over rows.
        output_transform: Applied to the outputs in ``transform`` only, such as ``torch.sigmoid``.
        on_epoch: Called on the driver with the figures of each epoch while tasks run; not saved.
        **params: Any Param; ``explainParams()`` lists them.

    Raises:
        ConfigError: A Param is unknown, or its value is of the wrong type or out of range.
    """

    def __init__(
        self,
        *,
        model: torch.nn.Module | None = None,
        loss: Any = None,
        optimizer: Callable[..., torch.optim.Optimizer] | None = None,
        metrics: Mapping[str, Callable[..., Any]] | None = None,
        output_transform: Callable[[Any], Any] | None = None,
        on_epoch: OnEpoch | None = None,
        **params: Any,
    ) -> None:
        super().__init__(on_epoch)
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.metrics = dict(metrics or {})
        self.output_transform = output_transform
        self.setParams(**params)

    def to_saved(self) -> Saved:
        code = {name: getattr(self, name) for name in _CODE if getattr(self, name) is not None}
        return Saved({"code": sorted(code)}, {name: pickled(name, value) for name, value in code.items()})

    def from_saved(self, saved: Saved) -> None:
        for name in _CODE:
            setattr(self, name, cloudpickle.loads(saved.blobs[name]) if name in saved.blobs else None)

    def _trainee(self) -> TorchTrainee:
        from sparkdl_ring.ml.torch_trainee import TorchTrainee
        from sparkdl_ring.torch import TorchSpec

        missing = [name for name in ("model", "loss", "optimizer") if getattr(self, name) is None]
        if missing:
            raise ConfigError(f"{', '.join(missing)} must be given before fit")
        spec = TorchSpec(
            model=self.model,  # type: ignore[arg-type]
            loss=self.loss,
            optimizer=self._optimizer(),
            metrics=self.metrics,
            loss_weights=self.getOrDefault("loss_weights"),
        )
        return TorchTrainee(spec, self.output_transform)

    def _optimizer(self) -> Any:
        rate = self.getOrDefault("learning_rate")
        return self.optimizer if rate is None or self.optimizer is None else partial(self.optimizer, lr=rate)

    def _model(self, fitted: Fitted) -> TorchModel:
        return TorchModel(fitted)


class TorchModel(RingModel):
    """A trained PyTorch model: ``transform`` adds its predictions to a frame.

    An output of one number a row becomes a double column, one of several an array; integers and booleans keep
    their kind. Extra columns, the order and the number of rows stay; no label is needed.
    """

    def module(self) -> torch.nn.Module:
        """The trained module, a new copy on the CPU at each call."""
        from sparkdl_ring.torch import loads_model

        return loads_model(self._fitted.blobs["model"])

    @property
    def _loader(self) -> Loader:
        from sparkdl_ring.ml.torch_trainee import load_predictor

        return load_predictor
