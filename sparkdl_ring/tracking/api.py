"""What a record of runs is: one Protocol, and the values that go into it.

The driver alone talks to a tracker; tasks send their figures through :mod:`sparkdl_ring.tracking.progress`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from sparkdl_ring.job import EpochRecord

Status = Literal["FINISHED", "FAILED", "KILLED"]
"""How a run ended: well, by an error, or cancelled by its user."""


@dataclass(frozen=True)
class ColumnInfo:
    """One column as models see it.

    Args:
        name: Name of the column.
        dtype: Numpy name of the element type.
        shape: Shape of one row: ``()`` for scalars, ``(n,)`` for arrays and vectors.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class DatasetRecord:
    """Where the rows of a run came from.

    Args:
        name: Name shown to people.
        source: URL of the files.
        digest: Digest of the manifest, any length.
        rows: Number of rows.
        columns: Columns used.
        context: What the rows were used for: ``training`` or ``validation``.
    """

    name: str
    source: str
    digest: str
    rows: int
    columns: tuple[ColumnInfo, ...] = ()
    context: str = "training"


@dataclass(frozen=True)
class ModelRecord:
    """A trained model and what goes in and out of it.

    Args:
        model: The trained module.
        inputs: Feature columns in the order of the model's arguments, as stored.
        prediction: What the model gives for a few rows (rows first), as a numpy array or a tuple of them.
        sample: The input rows of that prediction by column, stored beside the model; optional.
        name: Name of the model inside the run.
        requirements: Packages needed to load it (``torch==2.13.0``); empty leaves it to the tracker.
    """

    model: Any
    inputs: tuple[ColumnInfo, ...]
    prediction: Any
    sample: Mapping[str, Any] | None = None
    name: str = "model"
    requirements: tuple[str, ...] = ()


@runtime_checkable
class Tracker(Protocol):
    """The record of one run. No method raises: what cannot be recorded becomes one warning each."""

    def start(
        self,
        run_name: str,
        params: Mapping[str, Any],
        tags: Mapping[str, str],
        datasets: Sequence[DatasetRecord] = (),
    ) -> str | None:
        """Opens the run.

        Args:
            run_name: Name shown to people; a reused run keeps its own.
            params: Settings of the fit.
            tags: Facts about it.
            datasets: Rows trained and validated on.

        Returns:
            The id of the run, or ``None`` where nothing is recorded.
        """

    def log_epoch(self, record: EpochRecord) -> None:
        """Records the figures of one epoch at step ``record.epoch`` (counted from 0)."""

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Adds facts known later, such as the transport chosen."""

    def log_model(self, record: ModelRecord) -> str | None:
        """Records the trained model; returns its URI, or ``None`` where nothing is recorded."""

    def finish(self, status: Status) -> None:
        """Ends the run if :meth:`start` created it; a reused run stays open. Safe to call twice."""
