"""Runs in Spark's Python workers: Arrow batches in, predictions out, the model loaded once per worker."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkdl_ring.data import ColumnSpec
from sparkdl_ring.ml.outputs import Array, OutputSpec, per_row
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
        fields = (f"p{index}: {output.sql_type}" for index, output in enumerate(self.outputs))
        return f"struct<{', '.join(fields)}>"

    def run(self, structs: Iterable[pa.StructArray]) -> Iterator[pa.StructArray]:
        """One struct array of predictions for each struct array of features (fields ``f<n>``)."""
        predictor = loaded(self.parcel, self.loader, [spec.name for spec in self.features])
        for struct in structs:
            yield self._predicted(predictor, struct)

    def _predicted(self, predictor: Predictor, struct: pa.StructArray) -> pa.StructArray:
        columns = [_array(column, spec) for column, spec in zip(struct.flatten(), self.features, strict=True)]
        parts: list[list[Array]] = [[spec.empty()] for spec in self.outputs]
        for start in range(0, len(struct), self.batch_size):
            given = predictor([column[start : start + self.batch_size] for column in columns])
            for part, output in zip(parts, given, strict=True):
                part.append(per_row(output))
        arrays = [spec.to_arrow(np.concatenate(part)) for spec, part in zip(self.outputs, parts, strict=True)]
        return pa.StructArray.from_arrays(arrays, names=[f"p{index}" for index in range(len(arrays))])


def loaded(parcel: Parcel, loader: Loader, features: Sequence[str]) -> Predictor:
    """The predictor behind a parcel, loaded at most once in this process while it is in use."""
    predictor = _LOADED.pop(parcel.key, None)
    if predictor is None:
        predictor = loader(pickle.loads(parcel.fetch()), features)
    _LOADED[parcel.key] = predictor  # last: the one used longest ago goes first
    while len(_LOADED) > _KEEP:
        del _LOADED[next(iter(_LOADED))]
    return predictor


def _array(column: pa.Array, spec: ColumnSpec) -> Array:
    """Rows first. Nulls and rows of another length never come here: Spark has refused them."""
    values = column.flatten() if spec.shape else column
    array: Array = values.to_numpy(zero_copy_only=False).astype(spec.dtype, copy=False)
    return array.reshape(len(column), *spec.shape)
