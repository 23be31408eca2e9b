"""The record of a run in MLflow 3. Driver only; nothing here is ever fatal to a fit.

One run a fit: the run that is active in the calling thread is used and left open, else one is created, made
active, and ended by :meth:`MLflowTracker.finish`. Figures go out through a background thread, so a server
that is slow or gone costs warnings and values, never time of the job. Where runs lie is MLflow's own matter
(``mlflow.set_tracking_uri``, ``MLFLOW_TRACKING_URI``, else its local default).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from typing import Any

from sparkdl_ring.config import environment, scoped_environment
from sparkdl_ring.errors import MissingDependencyError, TrackingError
from sparkdl_ring.job import EpochRecord
from sparkdl_ring.log import get_logger
from sparkdl_ring.tracking.api import DatasetRecord, ModelRecord, Status
from sparkdl_ring.tracking.names import Names, cleaned, shortened
from sparkdl_ring.tracking.queue import BackgroundQueue
from sparkdl_ring.tracking.tags import PREFIX

try:
    import mlflow
    from mlflow.entities import Metric, Param, RunTag
except ImportError as error:
    raise MissingDependencyError('MLflow is not installed: pip install "sparkdl-ring[mlflow]"') from error

_log = get_logger(__name__)
_PARAMS_A_CALL = 100
_IMPATIENT = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "15"}
"""For the first and the last call: MLflow's own patience with a server that is gone is minutes."""


class MLflowTracker:
    """Records one fit.

    Args:
        experiment: Name of the experiment of a new run, created if need be; ``None`` takes MLflow's current
            one.
        drain_s: Longest wait for figures still on their way, in seconds.
    """

    def __init__(self, experiment: str | None = None, drain_s: float = 30.0) -> None:
        self._experiment = experiment
        self._drain_s = drain_s
        self._queue = BackgroundQueue("sparkdl_ring-mlflow")
        self._names = Names()
        self._non_finite: list[str] = []
        self._client: Any = None
        self._run_id: str | None = None
        self._owned = False

    def start(
        self,
        run_name: str,
        params: Mapping[str, Any],
        tags: Mapping[str, str],
        datasets: Sequence[DatasetRecord] = (),
    ) -> str | None:
        with _never_fatal("open a run"), _impatient():
            self._open(run_name)
        if self._run_id is None:
            return None
        with _never_fatal("log parameters"):
            self._log_params(self._run_id, {key: str(value) for key, value in params.items()})
        for record in datasets:
            with _never_fatal(f"log dataset {record.name!r}"):
                _log_dataset(record)
        self.set_tags(tags)
        return self._run_id

    def log_epoch(self, record: EpochRecord) -> None:
        if self._run_id is None:
            return
        figures = {
            **record.metrics,
            PREFIX.replace(".", "/") + "epoch_s": record.seconds,
            PREFIX.replace(".", "/") + "rows_per_s": record.rows / max(record.seconds, 1e-9),
        }
        clean, now = self._names.give(figures), int(time.time() * 1000)
        finite = {clean[name]: value for name, value in figures.items() if math.isfinite(value)}
        metrics = [Metric(name, value, now, record.epoch) for name, value in finite.items()]
        self._submit(f"log epoch {record.epoch}", metrics=metrics)
        skipped = [f"{name}@{record.epoch}" for name, value in figures.items() if not math.isfinite(value)]
        if skipped:
            self._non_finite += skipped
            self.set_tags({PREFIX + "non_finite": " ".join(self._non_finite)})

    def set_tags(self, tags: Mapping[str, str]) -> None:
        if self._run_id is not None and tags:
            self._submit("set tags", tags=[RunTag(cleaned(k), str(v)[:5000]) for k, v in tags.items()])

    def log_model(self, record: ModelRecord) -> str | None:
        if self._run_id is None:
            return None
        with _never_fatal("log the model"):
            if not self._queue.drain(self._drain_s):
                raise TrackingError(f"the tracking server has not answered for {self._drain_s} s")
            return self._log_model(self._run_id, record)
        return None

    def finish(self, status: Status) -> None:
        run_id, self._run_id = self._run_id, None
        if run_id is None:
            return
        lost = self._queue.close(self._drain_s)
        if lost:
            _log.warning("tracking: %d record(s) of run %s were lost", lost, run_id)
        if self._owned:
            with _never_fatal("end the run"), _impatient() if lost else nullcontext():
                _end(self._client, run_id, status)

    def _open(self, run_name: str) -> None:
        self._client = mlflow.MlflowClient()
        run = mlflow.active_run()
        self._owned = run is None
        if run is None:
            run = mlflow.start_run(experiment_id=self._experiment_id(), run_name=run_name)
        self._run_id = run.info.run_id

    def _experiment_id(self) -> str | None:
        if self._experiment is None:
            return None
        found = self._client.get_experiment_by_name(self._experiment)
        return str(found.experiment_id if found else self._client.create_experiment(self._experiment))

    def _log_params(self, run_id: str, params: Mapping[str, str]) -> None:
        clean = Names().give(params)
        known = {} if self._owned else self._client.get_run(run_id).data.params
        values = {clean[key]: shortened(value) for key, value in params.items()}
        clashing = sorted(key for key, value in values.items() if known.get(key, value) != value)
        if clashing:
            _log.warning("tracking: the active run has other values for %s; they stay", ", ".join(clashing))
        items = [Param(key, value) for key, value in values.items() if key not in known]
        for start in range(0, len(items), _PARAMS_A_CALL):
            self._client.log_batch(run_id, params=items[start : start + _PARAMS_A_CALL])
        for key, value in params.items():
            if shortened(value) != value:
                self._client.log_text(run_id, value, f"params/{clean[key]}.txt")

    def _submit(self, what: str, **batch: Any) -> None:
        client, run_id = self._client, self._run_id
        self._queue.submit(what, lambda: client.log_batch(run_id, **batch))

    def _log_model(self, run_id: str, record: ModelRecord) -> str:
        from sparkdl_ring.tracking.mlflow_values import as_model_takes_it, signature

        record = as_model_takes_it(record)
        active = mlflow.active_run()
        if active is None or active.info.run_id != run_id:
            raise TrackingError(f"run {run_id} is not the active one of this thread")
        with _quiet("mlflow.pytorch"):  # it warns on pickle, which is what loads any module without a retrace
            info = mlflow.pytorch.log_model(
                record.model,
                name=record.name,
                signature=signature(record),
                input_example=_example(record),
                pip_requirements=list(record.requirements) or _requirements(),
                serialization_format="pickle",
            )
        return str(info.model_uri)


def _log_dataset(record: DatasetRecord) -> None:
    from sparkdl_ring.tracking.mlflow_values import ManifestDataset

    mlflow.log_input(ManifestDataset(record), context=record.context)


def _end(client: Any, run_id: str, status: Status) -> None:
    active = mlflow.active_run()
    if active is not None and active.info.run_id == run_id:
        mlflow.end_run(status)
    else:
        client.set_terminated(run_id, status)


def _example(record: ModelRecord) -> Any:
    # MLflow runs examples through pyfunc, which takes one array only.
    if record.sample is None or len(record.inputs) != 1:
        return None
    return record.sample[record.inputs[0].name]


def _requirements() -> list[str]:
    # Told outright: else MLflow loads the model in another process to find out.
    return [f"{package}=={version(package).split('+')[0]}" for package in ("torch", "cloudpickle", "numpy")]


def _impatient() -> scoped_environment:
    """Short waits inside a block, where the user has not set them."""
    return scoped_environment({k: v for k, v in _IMPATIENT.items() if k not in environment()})


class _never_fatal:  # noqa: N801 - used as a verb
    """Turns what fails inside the block into one warning: no record is worth a fit."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if isinstance(error, Exception):
            _log.warning("tracking: could not %s: %s", self._what, error)
            return True
        return False


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
