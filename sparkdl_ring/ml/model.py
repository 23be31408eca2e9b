"""Transform: a trained model as a Spark ML Model, whatever the framework."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.ml import Model
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from sparkdl_ring.errors import ConfigError, SchemaError
from sparkdl_ring.job import EpochRecord
from sparkdl_ring.ml.features import feature_struct
from sparkdl_ring.ml.fitted import Fitted
from sparkdl_ring.ml.params import ModelParams
from sparkdl_ring.ml.persistence import RingReadWrite, Saved
from sparkdl_ring.ml.predict import Inference, Loader
from sparkdl_ring.ml.ship import Parcel, ship


class RingModel(Model, ModelParams, RingReadWrite):  # type: ignore[misc]
    """A trained model. It has one source of truth: the bytes that :meth:`fit` brought back."""

    def __init__(self, fitted: Fitted | None = None) -> None:
        super().__init__()
        self._fitted_or_none = fitted
        self._parcel: tuple[str, Parcel] | None = None

    @property
    def history(self) -> tuple[EpochRecord, ...]:
        """Figures of each epoch, over all rows of all tasks."""
        return self._fitted.history

    @property
    def run_id(self) -> str | None:
        """The MLflow run, where one was recorded."""
        return self._fitted.run_id

    def to_saved(self) -> Saved:
        return self._fitted.to_saved()

    def from_saved(self, saved: Saved) -> None:
        self._fitted_or_none = Fitted.from_saved(saved)

    @property
    @abstractmethod
    def _loader(self) -> Loader:
        """The module-level function that makes a predictor of the blobs."""

    @property
    def _fitted(self) -> Fitted:
        if self._fitted_or_none is None:
            raise ConfigError(
                f"this {type(self).__name__} is empty: get one from an estimator's fit, or load one"
            )
        return self._fitted_or_none

    def _transform(self, dataset: Any) -> Any:
        names = self.getOrDefault("prediction_cols")
        _check_free(dataset.columns, names)
        features = feature_struct(dataset.schema, self._fitted.features)
        predicted = _udf(self._inference(dataset.sparkSession))(features)
        held = _free_name(dataset.columns)
        fields = [F.col(held)[f"p{index}"].alias(name) for index, name in enumerate(names)]
        return dataset.select("*", predicted.alias(held)).select("*", *fields).drop(held)

    def _inference(self, spark: Any) -> Inference:
        return Inference(
            parcel=self._shipped(spark),
            loader=self._loader,
            features=self._fitted.features,
            outputs=self._fitted.outputs,
            batch_size=self.getOrDefault("inference_batch_size"),
        )

    def _shipped(self, spark: Any) -> Parcel:
        """Sent once a session, not once a transform."""
        session = str(spark.conf.get("spark.app.id", ""))
        if self._parcel is None or self._parcel[0] != session:
            data = pickle.dumps(dict(self._fitted.blobs))
            self._parcel = (session, ship(data, spark, self.getOrDefault("store")))
        return self._parcel[1]


def _udf(inference: Inference) -> Any:
    if not hasattr(F, "arrow_udf"):  # before Spark 4.1
        return _pandas_udf(inference)

    @F.arrow_udf(inference.sql_type)  # type: ignore[untyped-decorator]
    def predict(structs: Iterator[pa.Array]) -> Iterator[pa.Array]:
        yield from inference.run(structs)

    return predict


def _pandas_udf(inference: Inference) -> Any:
    """The same through pandas, which turns a prediction of NaN into a null."""

    @F.pandas_udf(inference.sql_type)  # type: ignore[untyped-decorator]
    def predict(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        structs = (pa.RecordBatch.from_pandas(frame).to_struct_array() for frame in frames)
        for predicted in inference.run(structs):
            yield pa.RecordBatch.from_struct_array(predicted).to_pandas()

    return predict


def _check_free(columns: Sequence[str], names: Sequence[str]) -> None:
    taken = [name for name in names if name.lower() in {column.lower() for column in columns}]
    if taken:
        raise SchemaError(f"the frame already has column(s) {taken}: drop them, or set other prediction_cols")


def _free_name(columns: Sequence[str]) -> str:
    name = "sparkdl_ring_outputs"
    while name in columns:
        name += "_"
    return name
