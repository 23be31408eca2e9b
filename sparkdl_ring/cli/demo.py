"""``sparkdl-ring demo``: the main path on real data, beside Spark's own LogisticRegression."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sparkdl_ring.cli import flights
from sparkdl_ring.errors import MissingDependencyError
from sparkdl_ring.job import EpochRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkdl_ring.ml import TorchModel

_GLOBAL_BATCH = 2048
_SEED = 2013
_EXPERIMENT = "sparkdl-ring-demo"


@dataclass(frozen=True)
class Options:
    """What the user asked for.

    Args:
        rows: Flights to take; default all.
        epochs: Passes over the training rows.
        workers: Training tasks.
        out: Folder for the MLflow record, the store and the saved pipeline.
    """

    rows: int | None
    epochs: int
    workers: int
    out: Path


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Args:
        auc: Area under the ROC curve on the held-out days.
        baseline_auc: That of LogisticRegression on the same rows.
        trained_rows: Rows seen over all epochs.
        seconds: Time of the training passes.
        run_id: The MLflow run.
        pipeline: Folder of the saved PipelineModel.
    """

    auc: float
    baseline_auc: float
    trained_rows: int
    seconds: float
    run_id: str | None
    pipeline: Path


def run(options: Options) -> int:
    """Runs the demo and prints as it goes; returns 0, or 1 when the baseline was not beaten."""
    from sparkdl_ring.launch.session import local_session

    begin = time.monotonic()
    tracking_uri = _track_in(options.out)
    with _step("starting Spark"):
        spark = local_session(max(2, options.workers), "sparkdl-ring-demo", {"spark.driver.memory": "2g"})
    try:
        outcome = _compare(spark, options)
    finally:
        spark.stop()
    _report(outcome, tracking_uri)
    print(f"\n{time.monotonic() - begin:.0f} s in all")
    return 0 if outcome.auc > outcome.baseline_auc else 1


def _compare(spark: SparkSession, options: Options) -> Outcome:
    from pyspark.ml import PipelineModel

    with _step("reading flights and weather"):
        split = flights.load(spark, options.rows)
        rows, held = split.train.count(), split.held_out.count()
    print(f"  {split.taken:,} of {split.all_rows:,} flights taken")
    print(f"  {split.dropped:,} dropped: no arrival delay is known (cancelled, diverted)")
    print(f"  {rows:,} flights to learn from, {held:,} on days held out")
    with _step("indexing, filling and scaling features (Spark ML Pipeline)"):
        features = flights.feature_pipeline().fit(split.train.filter(f"NOT {flights.WATCH}"))
    train, held_out = features.transform(split.train), features.transform(split.held_out)
    print(f"training on {options.workers} barrier tasks, gradients averaged by the native ring")
    model = _train(train, flights.category_sizes(features), options)
    with _step("scoring the held-out days"):
        auc = _auc(model.transform(held_out), "prediction")
    with _step("fitting Spark's LogisticRegression on the same rows and features"):
        baseline = flights.baseline().fit(train.filter(f"NOT {flights.WATCH}"))
        baseline_auc = _auc(baseline.transform(held_out), "rawPrediction")
    pipeline = options.out / "pipeline"
    PipelineModel([*features.stages, model]).write().overwrite().save(str(pipeline))
    _add_to_record(model.run_id, {"held_out_auc": auc, "logistic_regression_auc": baseline_auc})
    trained = sum(record.rows for record in model.history)
    seconds = sum(record.seconds for record in model.history)
    return Outcome(auc, baseline_auc, trained, seconds, model.run_id, pipeline)


def _train(train: DataFrame, sizes: list[int], options: Options) -> TorchModel:
    import torch

    from sparkdl_ring.cli.network import FlightNet
    from sparkdl_ring.ml import TorchEstimator

    torch.manual_seed(_SEED)  # the weights it starts from
    estimator = TorchEstimator(
        model=FlightNet(sizes, len(flights.NUMBERS)),
        loss=torch.nn.functional.binary_cross_entropy_with_logits,
        optimizer=torch.optim.AdamW,
        learning_rate=3e-3,
        feature_cols=[flights.CODES, flights.SCALED],
        label_cols=flights.LABEL,
        validation=flights.WATCH,
        batch_size=max(1, _GLOBAL_BATCH // options.workers),
        epochs=options.epochs,
        num_workers=options.workers,
        store=str(options.out / "store"),
        seed=_SEED,
        experiment=_EXPERIMENT,
        run_name="flights",
        on_epoch=_show,
    )
    model: TorchModel = estimator.fit(train)
    return model


def _show(record: EpochRecord) -> None:
    speed = record.rows / max(record.seconds, 1e-9)
    figures = "  ".join(f"{name} {value:.4f}" for name, value in record.metrics.items())
    print(f"  epoch {record.epoch + 1}  {figures}  {speed:,.0f} rows/s", flush=True)


def _auc(scored: DataFrame, column: str) -> float:
    from pyspark.ml.evaluation import BinaryClassificationEvaluator

    evaluator = BinaryClassificationEvaluator(labelCol=flights.LABEL, rawPredictionCol=column)
    return float(evaluator.evaluate(scored))


def _track_in(out: Path) -> str:
    """Lets MLflow record in ``out``; returns the tracking URI."""
    try:
        import mlflow
    except ImportError as error:
        raise MissingDependencyError(
            'MLflow is not installed. Run: pip install "sparkdl-ring[mlflow]"'
        ) from error
    out.mkdir(parents=True, exist_ok=True)
    uri = f"sqlite:///{out / 'mlflow.db'}"
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # it tells of each table it makes
    mlflow.set_tracking_uri(uri)
    if mlflow.get_experiment_by_name(_EXPERIMENT) is None:
        mlflow.create_experiment(_EXPERIMENT, artifact_location=(out / "artifacts").as_uri())
    return uri


def _add_to_record(run_id: str | None, figures: dict[str, float]) -> None:
    import mlflow

    for name, value in figures.items():
        if run_id is not None:
            mlflow.MlflowClient().log_metric(run_id, name, value)


@contextmanager
def _step(what: str) -> Iterator[None]:
    print(f"{what} ...", flush=True)
    begin = time.monotonic()
    yield
    print(f"  {time.monotonic() - begin:.1f} s", flush=True)


def _report(outcome: Outcome, tracking_uri: str) -> None:
    speed = outcome.trained_rows / max(outcome.seconds, 1e-9)
    print(f"\nrows trained       {outcome.trained_rows:,}  ({speed:,.0f} rows/s)")
    print(f"AUC                {outcome.auc:.4f}  on days that were held out")
    print(f"LogisticRegression {outcome.baseline_auc:.4f}  on the same rows and features")
    if outcome.auc <= outcome.baseline_auc:
        print("                   not beaten: a network needs more flights or epochs than these")
    print(f"pipeline saved in  {outcome.pipeline}")
    print(f"MLflow run         {outcome.run_id}")
    print(f"open it with       mlflow ui --backend-store-uri {tracking_uri}")
