"""Our records as MLflow's values: datasets and signatures. Imported by ``tracking.mlflow`` only."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from mlflow.data.dataset import Dataset
from mlflow.data.dataset_source_registry import resolve_dataset_source
from mlflow.models import ModelSignature
from mlflow.types import Schema, TensorSpec

from sparkdl_ring.tracking.api import ColumnInfo, DatasetRecord, ModelRecord

MAX_DIGEST = 36


class ManifestDataset(Dataset):  # type: ignore[misc] # mlflow is not typed for us
    """A dataset known by its manifest: nothing is read or computed to log it.

    Args:
        record: Name, source, digest, rows and columns.
    """

    def __init__(self, record: DatasetRecord) -> None:
        self._record = record
        with warnings.catch_warnings():  # MLflow knows local folders by two classes of one name, and says so
            warnings.filterwarnings("ignore", "The specified dataset source can be interpreted", UserWarning)
            source = resolve_dataset_source(record.source)
        super().__init__(source=source, name=record.name, digest=record.digest[:MAX_DIGEST])

    def _compute_digest(self) -> str:
        return self._record.digest[:MAX_DIGEST]

    @property
    def schema(self) -> Any:
        """Columns as MLflow shows them, or none."""
        return Schema(_specs(self._record.columns, named=True)) if self._record.columns else None

    @property
    def profile(self) -> dict[str, Any]:
        """Row count, and the digest in full (MLflow keeps 36 characters of it)."""
        return {"num_rows": self._record.rows, "manifest_digest": self._record.digest}

    def to_dict(self) -> dict[str, str]:
        """The strings that MLflow stores."""
        fields = {**super().to_dict(), "profile": json.dumps(self.profile)}
        if self._record.columns:
            columns = {"features": self.schema.to_json(), "targets": None}
            fields["schema"] = json.dumps({"mlflow_tensorspec": columns})
        return fields


def as_model_takes_it(record: ModelRecord) -> ModelRecord:
    """The record with inputs and sample in the types of the model's tensors, not of the stored columns."""
    inputs = tuple(replace(c, dtype=_tensor_dtype(c.dtype, record.model)) for c in record.inputs)
    if record.sample is None:
        return replace(record, inputs=inputs)
    sample = {c.name: np.asarray(record.sample[c.name]).astype(c.dtype, copy=False) for c in inputs}
    return replace(record, inputs=inputs, sample=sample)


def _tensor_dtype(dtype: str, model: Any) -> str:
    """The rule of the torch room: integers are int64, floats what the model's first floating parameter is."""
    kind = np.dtype(dtype).kind
    if kind != "f":
        return "int64" if kind in "iu" else dtype
    name = next(
        (str(p.dtype)[len("torch.") :] for p in model.parameters() if p.is_floating_point()), "float32"
    )
    return "float32" if name == "bfloat16" else name  # numpy has no bfloat16


def signature(record: ModelRecord) -> Any:
    """What goes in and out. A single input stays unnamed, so that a bare array can be given to ``pyfunc``."""
    outputs = record.prediction if isinstance(record.prediction, tuple) else (record.prediction,)
    specs = [_output_spec(np.asarray(array), i, len(outputs)) for i, array in enumerate(outputs)]
    inputs = _specs(record.inputs, named=len(record.inputs) > 1)
    return ModelSignature(inputs=Schema(inputs), outputs=Schema(specs))


def _specs(columns: tuple[ColumnInfo, ...], *, named: bool) -> list[Any]:
    return [TensorSpec(np.dtype(c.dtype), (-1, *c.shape), c.name if named else None) for c in columns]


def _output_spec(array: Any, index: int, total: int) -> Any:
    name = f"output_{index}" if total > 1 else None
    return TensorSpec(array.dtype, (-1, *array.shape[1:]), name)
