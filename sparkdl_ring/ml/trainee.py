"""The seam between estimators and frameworks: what is trained, checked on the driver before tasks start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sparkdl_ring.data import Batch
from sparkdl_ring.job import TrainJob, TrainResult
from sparkdl_ring.ml.outputs import OutputSpec
from sparkdl_ring.ml.predict import Loader


@dataclass(frozen=True)
class Roles:
    """Columns by their part in a fit.

    Args:
        features: Given to the model.
        labels: Given to the loss.
        predictions: Added by transform.
    """

    features: tuple[str, ...]
    labels: tuple[str, ...]
    predictions: tuple[str, ...]

    @property
    def wanted(self) -> tuple[str, ...]:
        """Columns to store, each once."""
        return tuple(dict.fromkeys((*self.features, *self.labels)))


class Trainee(Protocol):
    """A model with all that trains it, of one framework."""

    def check(self, roles: Roles) -> None:
        """Refuses with ConfigError what cannot be trained; needs no data."""

    def payload(self) -> bytes:
        """Everything as bytes for the tasks; ConfigError names what cannot be pickled."""

    def probe(self, payload: bytes, rows: Batch, roles: Roles) -> tuple[OutputSpec, ...]:
        """Runs the payload on real rows; ConfigError when model, loss or outputs do not fit them."""

    def extras(self) -> dict[str, bytes]:
        """What the trained model keeps beside its weights, such as a function of its outputs."""

    def module(self, blobs: Mapping[str, bytes]) -> Any:
        """The trained model as an object of its framework."""

    @property
    def names(self) -> Mapping[str, str]:
        """What its parts are called, for the record."""

    @property
    def identity(self) -> str:
        """Equal in every process for what trains alike; initial weights do not count."""

    @property
    def spreads_tail(self) -> bool:
        """Whether a batch of a single row must not occur."""

    @property
    def main(self) -> Callable[[TrainJob], TrainResult]:
        """The module-level function that runs in each task."""

    @property
    def loader(self) -> Loader:
        """The module-level function that loads the trained model for inference."""
