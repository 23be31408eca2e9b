"""One pass over training or validation rows; every rank makes the same number of steps, rows or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from sparkdl_ring.comm import Communicator
from sparkdl_ring.data import Batch, Dataset, ReadOptions, num_steps, open_batches
from sparkdl_ring.errors import ConfigError, ShortReadError
from sparkdl_ring.job import DataRef, TrainJob
from sparkdl_ring.store import Store
from sparkdl_ring.torch.batch import float_dtype, to_tensors
from sparkdl_ring.torch.ddp import DistributedDataParallel
from sparkdl_ring.torch.meter import Meter
from sparkdl_ring.torch.objective import Scored, figure_names, score
from sparkdl_ring.torch.spec import TorchSpec


@dataclass(frozen=True)
class Rows:
    """Rows to pass over: where they lie and what they are.

    Args:
        ref: Columns to use.
        dataset: The files.
    """

    ref: DataRef
    dataset: Dataset

    @classmethod
    def open(cls, store: Store, ref: DataRef) -> Rows:
        """Reads the manifest."""
        return cls(ref, Dataset.load(store, ref.manifest))


@dataclass(frozen=True)
class Fit:
    """What both passes need of a fit under way.

    Args:
        job: The job.
        spec: Loss and metrics.
        comm: The ranks.
        store: Where the rows lie.
        ddp: The model.
        optimizer: Of the model's parameters.
    """

    job: TrainJob
    spec: TorchSpec
    comm: Communicator
    store: Store
    ddp: DistributedDataParallel
    optimizer: torch.optim.Optimizer


def train_pass(fit: Fit, rows: Rows, epoch: int) -> Meter:
    """Trains on every row once; returns this rank's figures. Collective."""
    fit.ddp.train()
    meter = Meter(figure_names(fit.spec, rows.ref.label_cols))
    for batch in _steps(fit, rows, epoch, training=True):
        fit.optimizer.zero_grad(set_to_none=True)
        if batch is None:
            fit.ddp.join_step()
        else:
            with fit.ddp.step(batch.rows), _explained(batch.rows):
                scored = _score(fit, rows.ref, batch)
                scored.loss.backward()  # type: ignore[no-untyped-call]
            meter.add(scored.figures, batch.rows)
        fit.optimizer.step()
    return meter


@torch.no_grad()
def validation_pass(fit: Fit, rows: Rows) -> Meter:
    """Scores every row once, without training; returns this rank's figures. No collective is called."""
    fit.ddp.eval()
    meter = Meter(figure_names(fit.spec, rows.ref.label_cols))
    for batch in _steps(fit, rows, epoch=0, training=False):
        if batch is not None:
            meter.add(_score(fit, rows.ref, batch).figures, batch.rows)
    return meter


def _steps(fit: Fit, rows: Rows, epoch: int, *, training: bool) -> Iterator[Batch | None]:
    """A batch for each step, ``None`` where this rank has no rows left.

    Raises:
        ShortReadError: The reader gives more batches than there are steps.
    """
    job, comm = fit.job, fit.comm
    spread = job.spread_tail and training
    options = ReadOptions(
        columns=tuple(dict.fromkeys((*rows.ref.feature_cols, *rows.ref.label_cols))),
        batch_size=job.batch_size,
        seed=job.seed,
        epoch=epoch,
        shuffle=job.shuffle and training,
        spread_tail=spread,
    )
    world = (comm.rank, comm.size)
    with open_batches(fit.store, rows.dataset, options, world=world, config=job.config.data) as batches:
        for _ in range(num_steps(rows.dataset.rows, comm.size, job.batch_size, spread)):
            yield next(batches, None)
        if next(batches, None) is not None:
            raise ShortReadError(f"rank {comm.rank} read more rows than its shard holds", rank=comm.rank)


def _score(fit: Fit, ref: DataRef, batch: Batch) -> Scored:
    columns: Mapping[str, Any] = batch.columns
    dtype = float_dtype(fit.ddp.module)
    outputs = fit.ddp(*to_tensors(columns, ref.feature_cols, dtype))
    return score(fit.spec, outputs, to_tensors(columns, ref.label_cols, dtype))


@contextmanager
def _explained(rows: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        if rows != 1 or "more than 1 value per channel" not in str(error):
            raise
        raise ConfigError(
            "a layer normalises over the batch and this step has one row on this rank: spread_tail merges a "
            "last batch of one row into the one before it, which needs batch_size >= 2 and two rows a task"
        ) from error
