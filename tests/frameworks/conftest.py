"""Ranks as threads of one process, and datasets without Spark, for tests of the framework rooms."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparkdl_ring.comm import Communicator
from sparkdl_ring.comm.connect import in_process
from sparkdl_ring.config import CommConfig
from sparkdl_ring.data import ColumnSpec, Dataset
from sparkdl_ring.data.schema import stored_name
from sparkdl_ring.data.writer import GroupWriter
from sparkdl_ring.store import Store, layout, open_store

Ranks = Callable[[int, Callable[[Communicator], Any]], list[Any]]
WriteDataset = Callable[..., Dataset]


@pytest.fixture(scope="session")
def ranks() -> Ranks:
    """``ranks(n, fn)`` calls ``fn(comm)`` on ``n`` ranks; results by rank, or the first failure."""
    return run_ranks


@pytest.fixture(scope="session")
def write_dataset() -> WriteDataset:
    """``write_dataset(store, name, columns, files=1, group_rows=10)`` makes a dataset of numpy columns."""
    return write_columns


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store of its own."""
    return open_store(str(tmp_path / "store"))


def run_ranks(size: int, fn: Callable[[Communicator], Any]) -> list[Any]:
    results: list[Any] = [None] * size
    failures: list[BaseException] = []

    def play(comm: Communicator) -> None:
        try:
            results[comm.rank] = fn(comm)
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failures.append(error)
            comm.abort(f"{type(error).__name__}: {error}")

    comms = in_process(size, CommConfig(timeout_s=30))
    threads = [threading.Thread(target=play, args=(comm,), name=f"rank-{comm.rank}") for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for comm in comms:
        comm.close()
    if failures:
        raise failures[0]
    return results


def write_columns(
    store: Store, name: str, columns: Mapping[str, np.ndarray], files: int = 1, group_rows: int = 10
) -> Dataset:
    specs = tuple(
        ColumnSpec(n, a.dtype.name, a.shape[1:], "array" if a.ndim > 1 else "scalar")
        for n, a in columns.items()
    )
    rows = len(next(iter(columns.values())))
    written = []
    for number, part in enumerate(np.array_split(np.arange(rows), files)):
        if not len(part):  # Spark's empty partitions leave no file behind
            continue
        path = f"{layout.dataset_dir(name)}/part-{number:05d}.parquet"
        with GroupWriter(store, path, specs, group_rows) as writer:
            writer.append({stored_name(i): a[part] for i, a in enumerate(columns.values())})
        written.append(writer.file())
    dataset = Dataset(name, specs, tuple(written), "digest")
    dataset.save(store)
    return dataset
