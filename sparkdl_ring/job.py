"""All that crosses from the driver to training tasks and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkdl_ring.config import RingConfig


@dataclass(frozen=True)
class DataRef:
    """Where rows lie: the manifest of a materialised dataset in the store.

    Args:
        manifest: URL of the manifest file.
        feature_cols: Columns given to the model, in order, one positional argument each.
        label_cols: Columns given to the loss.
    """

    manifest: str
    feature_cols: tuple[str, ...]
    label_cols: tuple[str, ...]


@dataclass(frozen=True)
class TrainJob:
    """What to train. Small (kilobytes) and picklable; model, loss, optimizer and metrics lie in the store.

    Args:
        run_id: Name of the run, unique in the store.
        store_url: URL of the store.
        train: Training rows.
        validation: Validation rows, or none.
        batch_size: Rows per task and step.
        epochs: Passes over the training rows.
        seed: Decides row order and every random draw of the trainer.
        shuffle: Whether rows are shuffled each epoch.
        spread_tail: Merge a last batch of one row into the one before it (models that use batch statistics).
        resume: Continue from the newest checkpoint of this run where there is one.
        config: The resolved settings.
    """

    run_id: str
    store_url: str
    train: DataRef
    validation: DataRef | None
    batch_size: int
    epochs: int
    seed: int
    shuffle: bool = True
    spread_tail: bool = False
    resume: bool = True
    config: RingConfig = field(default_factory=RingConfig)


@dataclass(frozen=True)
class EpochRecord:
    """Global figures of one epoch (all rows of all ranks).

    Args:
        epoch: Counted from 0.
        metrics: ``loss``, ``val_loss``, the user's metrics and ``val_<metric>``.
        rows: Training rows seen.
        seconds: Wall time of the training pass.
    """

    epoch: int
    metrics: Mapping[str, float]
    rows: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict."""
        return {
            "epoch": self.epoch,
            "metrics": dict(self.metrics),
            "rows": self.rows,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EpochRecord:
        """The inverse of :meth:`to_json`."""
        return cls(int(data["epoch"]), dict(data["metrics"]), int(data["rows"]), float(data["seconds"]))


@dataclass(frozen=True)
class TrainResult:
    """What a task gives back; the weights lie in the store.

    Args:
        run_id: Name of the run.
        model_path: Path of the trained weights inside the store.
        history: One record an epoch, the same on every rank.
        size: Number of tasks.
        transports: Transport chosen to each peer, by rank.
    """

    run_id: str
    model_path: str
    history: tuple[EpochRecord, ...]
    size: int
    transports: Mapping[int, str] = field(default_factory=dict)
