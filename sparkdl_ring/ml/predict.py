"""Runs in Spark's Python workers: Arrow batches in, predictions out, the model loaded once per worker."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sparkdl_ring.data import ColumnSpec
from sparkdl_ring.ml.outputs import Array, OutputSpec
from sparkdl_ring.ml.ship import Parcel

Predictor = Callable[[Sequence[Array]], list[Array]]
"""Feature arrays in the model's order (rows first) to one array for each output."""

Loader = Callable[[Mapping[str, bytes], Sequence[str]], Predictor]
"""Blobs of a model and names of its features to a predictor; a module-level function."""

_LOADED: dict[str, Predictor] = {}
_KEEP = 2  # models a worker holds at once: workers are reused by later queries


@dataclass(frozen=True)
class Inference:
    """All that a worker needs.

    Args:
        parcel: Pickled blobs of the model.
        loader: Makes a predictor of them.
        features: Feature columns in the model's order.
        outputs: What the model gives.
        batch_size: Rows in one forward pass.
    """

    parcel: Parcel
    loader: Loader
    features: tuple[ColumnSpec, ...]
    outputs: tuple[OutputSpec, ...]
    batch_size: int

    @property
    def sql_type(self) -> str:
        """A struct with one field ``p<n>`` for each output."""
        return ", ".join(f"p{index} {output.sql_type}" for index, output in enumerate(self.outputs))

    def run(self, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """One frame of predictions for each frame of features."""
        predictor = loaded(self.parcel, self.loader, [spec.name for spec in self.features])
        for frame in frames:
            yield self._frame(predictor, frame)

    def _frame(self, predictor: Predictor, frame: pd.DataFrame) -> pd.DataFrame:
        columns = [_array(frame[f"f{index}"], spec) for index, spec in enumerate(self.features)]
        parts: list[list[Array]] = [[] for _ in self.outputs]
        for start in range(0, len(frame), self.batch_size):
            given = predictor([column[start : start + self.batch_size] for column in columns])
            for part, output in zip(parts, given, strict=True):
                part.append(output)
        named = zip(self.outputs, parts, strict=True)
        return pd.DataFrame({f"p{i}": _values(spec, part) for i, (spec, part) in enumerate(named)})


def loaded(parcel: Parcel, loader: Loader, features: Sequence[str]) -> Predictor:
    """The predictor behind a parcel, loaded at most once in this process while it is in use."""
    predictor = _LOADED.pop(parcel.key, None)
    if predictor is None:
        predictor = loader(pickle.loads(parcel.fetch()), features)
    _LOADED[parcel.key] = predictor  # last: the one used longest ago goes first
    while len(_LOADED) > _KEEP:
        del _LOADED[next(iter(_LOADED))]
    return predictor


def _array(series: Any, spec: ColumnSpec) -> Array:
    if not spec.shape:
        return np.array(series, dtype=spec.dtype)
    rows = list(series)
    return np.array(rows, dtype=spec.dtype).reshape(len(rows), *spec.shape)


def _values(spec: OutputSpec, parts: Sequence[Array]) -> Any:
    return spec.values(np.concatenate(parts)) if parts else []
