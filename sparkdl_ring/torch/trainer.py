"""Trains a spec over all ranks: the function that an estimator's tasks end up in."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sparkdl_ring import checkpoint
from sparkdl_ring.comm import Communicator
from sparkdl_ring.errors import EmptyDataError
from sparkdl_ring.job import EpochRecord, TrainJob, TrainResult
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import Store, layout
from sparkdl_ring.torch.buffers import average_buffers
from sparkdl_ring.torch.check import check_spec, trainable
from sparkdl_ring.torch.ddp import DistributedDataParallel
from sparkdl_ring.torch.epoch import Fit, Rows, train_pass, validation_pass
from sparkdl_ring.torch.meter import Meter
from sparkdl_ring.torch.seeding import random_state_kept, seed_epoch
from sparkdl_ring.torch.serialize import save_model
from sparkdl_ring.torch.spec import TorchSpec
from sparkdl_ring.torch.state import pack, unpack
from sparkdl_ring.tracking import write_event

_log = get_logger(__name__)


def train(job: TrainJob, spec: TorchSpec, comm: Communicator, store: Store) -> TrainResult:
    """Trains on every row of the job once an epoch, each step on the rows of all ranks. Collective.

    With ``job.resume`` it goes on from the newest whole checkpoint of the run; with the same number of tasks
    on CPUs the result has the bits of a fit that was never interrupted.

    Args:
        job: What to train on, and how long.
        spec: The model, trained in place, and what to train it with.
        comm: The ranks.
        store: Where rows lie and checkpoints, progress and the model go.

    Returns:
        The history and where the model lies; the same on every rank.

    Raises:
        ConfigError: The spec cannot be trained.
        DataError: There are no rows, or they cannot be read.
        CollectiveError: A peer died, timed out or disagreed.
        CheckpointError: A checkpoint cannot be written, or the one to resume from does not fit.
    """
    check_spec(spec, job.train.label_cols)
    train_rows = Rows.open(store, job.train)
    validation = Rows.open(store, job.validation) if job.validation else None
    if not train_rows.dataset.rows:
        raise EmptyDataError(f"{store.url}/{job.train.manifest} has no rows to train on")
    with random_state_kept():
        fit = _prepare(job, spec, comm, store)
        try:
            history = _resume(fit)
            for epoch in range(len(history), job.epochs):
                history.append(_epoch(fit, train_rows, validation, epoch))
                _record(fit, history)
        finally:
            fit.ddp.close()
    spec.model.eval()  # a trained model is one to predict with, wherever it is loaded
    path = layout.model_path(job.run_id)
    if comm.world.is_chief:
        save_model(store, path, spec.model)
    return TrainResult(job.run_id, path, tuple(history), comm.size, dict(comm.transports))


def _prepare(job: TrainJob, spec: TorchSpec, comm: Communicator, store: Store) -> Fit:
    ddp = DistributedDataParallel(spec.model, comm, bucket_bytes=job.config.comm.bucket_bytes)
    return Fit(job, spec, comm, store, ddp, spec.optimizer(trainable(spec.model)))


def _resume(fit: Fit) -> list[EpochRecord]:
    """The history of the checkpoint that rank 0 finds; every rank takes that one."""
    job, comm = fit.job, fit.comm
    if not job.resume:
        return []
    found = checkpoint.latest(fit.store, job.run_id) if comm.world.is_chief else None
    epoch = comm.broadcast_object(found.epoch if found else None)
    if epoch is None:
        return []
    mine = found or checkpoint.read(fit.store, job.run_id, epoch)
    history = unpack(mine, fit.ddp.module, fit.optimizer)
    if comm.world.is_chief:
        _log.info("run %s goes on after epoch %d", job.run_id, epoch)
        for record in history:  # the one after the checkpoint may have been missed
            write_event(fit.store, job.run_id, record.epoch, record)
    return history


def _epoch(fit: Fit, rows: Rows, validation: Rows | None, epoch: int) -> EpochRecord:
    seed_epoch(fit.job.seed, epoch, fit.comm.rank)
    begin = time.perf_counter()
    meter = train_pass(fit, rows, epoch)
    seconds = time.perf_counter() - begin
    average_buffers(fit.ddp.module, fit.comm, meter.rows)
    metrics, count = meter.reduce(fit.comm, "training figures")
    if validation is not None:
        metrics |= _validate(fit, validation)
    slowest: Any = fit.comm.allreduce(np.array([seconds]), op="max", name="seconds")
    return EpochRecord(epoch, metrics, count, float(slowest[0]))


def _validate(fit: Fit, rows: Rows) -> dict[str, float]:
    meter: Meter = validation_pass(fit, rows)
    figures, _ = meter.reduce(fit.comm, "validation figures")
    return {f"val_{name}": value for name, value in figures.items()}


def _record(fit: Fit, history: list[EpochRecord]) -> None:
    """Rank 0 saves the state first, then tells of it."""
    record, job = history[-1], fit.job
    if not fit.comm.world.is_chief:
        return
    if not np.isfinite(list(record.metrics.values())).all():
        _log.warning("epoch %d has figures that are not finite: %s", record.epoch, dict(record.metrics))
    writer = checkpoint.CheckpointWriter(fit.store, job.run_id)
    writer.save(record.epoch, pack(fit.ddp.module, fit.optimizer, history), {"size": fit.comm.size})
    write_event(fit.store, job.run_id, record.epoch, record)
