"""The steps of one fit after the cheap checks: materialise, probe, record, launch, collect."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, replace
from typing import Any

from sparkdl_ring.data import Batch, Dataset, Materialized, ReadOptions, materialize, open_batches
from sparkdl_ring.job import DataRef, TrainJob, TrainResult
from sparkdl_ring.launch import LaunchOptions
from sparkdl_ring.ml.fitted import Fitted
from sparkdl_ring.ml.outputs import OutputSpec
from sparkdl_ring.ml.progress import OnEpoch, Progress
from sparkdl_ring.ml.record import model_record, opened
from sparkdl_ring.ml.request import Request
from sparkdl_ring.ml.resumption import run_in_store
from sparkdl_ring.ml.trainee import Trainee
from sparkdl_ring.store import Store, layout
from sparkdl_ring.tracking import Tracker, transport_tags

_PROBE_ROWS = 2

# Two barrier stages that each hold half of the slots would wait for each other for ever, as in a
# CrossValidator with parallelism 2. So the launches of one driver take turns.
_TURN = threading.Lock()


@dataclass(frozen=True)
class Fitting:
    """One fit at work.

    Args:
        request: What is wanted.
        trainee: What is trained.
        payload: The trainee as bytes.
        store: Where to work.
        tracker: The record.
        on_epoch: The user's callback.
    """

    request: Request
    trainee: Trainee
    payload: bytes
    store: Store
    tracker: Tracker
    on_epoch: OnEpoch | None = None

    def run(self, df: Any) -> Fitted:
        """Fits to a DataFrame.

        Raises:
            DataError: Rows cannot be used; found out before training tasks start.
            ConfigError: The model does not fit the rows; found out before training tasks start.
            TaskFailedError: A rank failed; its own exception is the cause.
        """
        data = self._materialize(df)
        run = run_in_store(self.request, self.trainee, data, self.store)
        return replace(self, request=replace(self.request, id=run))._train(data)

    def _train(self, data: Materialized) -> Fitted:
        rows = self._first_rows(data.train)
        outputs = self.trainee.probe(self.payload, rows, self.request.roles)
        self.store.write(layout.payload_path(self.request.id), self.payload)
        with opened(self.tracker, self.request, self.trainee, self.store, data) as run_id:
            result = self._launch(self._job(data))
            fitted = self._collect(result, data.train, outputs, run_id)
            self.tracker.set_tags(transport_tags(result.transports))
            self.tracker.log_model(model_record(self.trainee, fitted, rows))
        return fitted

    def _materialize(self, df: Any) -> Materialized:
        request = self.request
        return materialize(
            df, self.store, columns=request.roles.wanted, split=request.split, config=request.config.data
        )

    def _first_rows(self, dataset: Dataset) -> Batch:
        options = ReadOptions(self.request.roles.wanted, _PROBE_ROWS, shuffle=False, source="arrow")
        with open_batches(self.store, dataset, options, config=self.request.config.data) as batches:
            return next(batches)

    def _job(self, data: Materialized) -> TrainJob:
        params = self.request.params
        return TrainJob(
            run_id=self.request.id,
            store_url=self.store.url,
            train=self._ref(data.train),
            validation=self._ref(data.validation) if data.validation else None,
            batch_size=params["batch_size"],
            epochs=params["epochs"],
            seed=params["seed"],
            shuffle=params["shuffle"],
            spread_tail=self.trainee.spreads_tail,
            config=self.request.config,
        )

    def _ref(self, dataset: Dataset) -> DataRef:
        return DataRef(dataset.manifest, self.request.roles.features, self.request.roles.labels)

    def _launch(self, job: TrainJob) -> TrainResult:
        progress = Progress(self.store, job.run_id, self.tracker, self.on_epoch)
        options = LaunchOptions(
            config=job.config,
            run_id=job.run_id,
            board=self.store,
            # A folder of its own: an attempt must not hear the tasks of an earlier one.
            board_path=f"{layout.tasks_dir(job.run_id)}/{secrets.token_hex(8)}",
            on_poll=progress.poll,
        )
        try:
            with _TURN:
                results = self.request.launcher.run(
                    self.trainee.main, (job,), {}, self.request.params["num_workers"], options
                )
        finally:
            progress.poll()  # the last epochs before the end, or before the failure
        result: TrainResult = results[0]
        return result

    def _collect(
        self, result: TrainResult, train: Dataset, outputs: tuple[OutputSpec, ...], run_id: str | None
    ) -> Fitted:
        features = {spec.name: spec for spec in train.columns}
        return Fitted(
            blobs={"model": self.store.read(result.model_path), **self.trainee.extras()},
            features=tuple(features[name] for name in self.request.roles.features),
            outputs=outputs,
            history=result.history,
            run_id=run_id,
            size=result.size,
        )
