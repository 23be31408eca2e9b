"""A fit in the record: its run, its rows, its model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sparkdl_ring.data import Batch, Dataset, Materialized
from sparkdl_ring.ml.fitted import Fitted
from sparkdl_ring.ml.request import Request
from sparkdl_ring.ml.trainee import Trainee
from sparkdl_ring.store import Store, layout
from sparkdl_ring.tracking import ColumnInfo, DatasetRecord, ModelRecord, NullTracker, Tracker, run_tags


def new_tracker(tracking: str, experiment: str | None) -> Tracker:
    """The tracker of a fit.

    Args:
        tracking: ``mlflow`` or ``none``.
        experiment: MLflow experiment, or its default.

    Raises:
        MissingDependencyError: MLflow is not installed.
    """
    if tracking == "none":
        return NullTracker()
    from sparkdl_ring.tracking import MLflowTracker

    return MLflowTracker(experiment)


@contextmanager
def opened(
    tracker: Tracker, request: Request, trainee: Trainee, store: Store, data: Materialized
) -> Iterator[str | None]:
    """The run of a fit, open inside the block; gives its id. An error marks it as failed or killed."""
    tags = {
        **run_tags(request.params["num_workers"], request.params["launcher"]),
        "sparkdl_ring.run_id": request.id,
    }
    name = request.params["run_name"] or f"fit-{request.id[:8]}"
    try:
        yield tracker.start(
            name, {**trainee.names, **_params(request)}, tags, _datasets(request, store, data)
        )
        tracker.finish("FINISHED")
    except (KeyboardInterrupt, SystemExit):
        tracker.finish("KILLED")
        raise
    except BaseException:
        tracker.finish("FAILED")
        raise


def model_record(trainee: Trainee, fitted: Fitted, rows: Batch) -> ModelRecord:
    """The trained model with what it gives for a few rows, before any output transform.

    Args:
        trainee: What was trained.
        fitted: The outcome.
        rows: The few rows.
    """
    names = [spec.name for spec in fitted.features]
    predictor = trainee.loader({"model": fitted.blobs["model"]}, names)
    given = tuple(predictor([rows.columns[name] for name in names]))
    return ModelRecord(
        model=trainee.module(fitted.blobs),
        inputs=tuple(ColumnInfo(spec.name, spec.dtype, spec.shape) for spec in fitted.features),
        prediction=given if len(given) > 1 else given[0],
        sample={name: rows.columns[name] for name in names},
    )


def _params(request: Request) -> Mapping[str, Any]:
    given = {name: value for name, value in request.params.items() if value is not None and value != {}}
    return {**given, "prediction_cols": list(request.roles.predictions)}


def _datasets(request: Request, store: Store, data: Materialized) -> list[DatasetRecord]:
    kinds: list[tuple[str, Dataset | None]] = [("training", data.train), ("validation", data.validation)]
    return [
        DatasetRecord(
            name=context,
            source=f"{store.url}/{layout.dataset_dir(dataset.id)}",
            digest=dataset.digest,
            rows=dataset.rows,
            columns=tuple(ColumnInfo(spec.name, spec.dtype, spec.shape) for spec in dataset.columns),
            context=context,
        )
        for context, dataset in kinds
        if dataset is not None
    ]
