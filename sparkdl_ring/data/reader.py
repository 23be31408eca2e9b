"""Batches of one rank and one epoch, in an order fixed by the arguments, with every row accounted for."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from types import TracebackType
from typing import Protocol

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.decode import Piece, pieces_of
from sparkdl_ring.data.manifest import Dataset
from sparkdl_ring.data.options import ReadOptions
from sparkdl_ring.data.pool import ShuffledRows, StraightRows, counted
from sparkdl_ring.data.schema import Columns, ColumnSpec, select
from sparkdl_ring.data.shards import batch_bounds, plan, row_generator
from sparkdl_ring.data.shuffle import pool_rows
from sparkdl_ring.store import Store

_SOURCES = {
    "petastorm": "sparkdl_ring.data.petastorm_source",
    "arrow": "sparkdl_ring.data.arrow_source",
}


class Source(Protocol):
    """Reads pieces: the seam under :func:`open_batches`."""

    def __call__(
        self, store: Store, pieces: Sequence[Piece], columns: Mapping[str, ColumnSpec], config: DataConfig
    ) -> Generator[Columns, None, None]:
        """A generator of the rows of each piece, in order; closing it ends all its threads."""


@dataclass(frozen=True)
class Batch:
    """Rows of one step.

    Args:
        columns: One array a column, by user name; writable, contiguous, owned by the caller.
        rows: Number of rows, at least 1.
    """

    columns: Columns
    rows: int


class Batches:
    """Iterates over the batches of one epoch; a context manager that ends all reading.

    Args:
        stream: Generator of the batches.
        rows: Rows of this rank in this epoch.
        num_batches: Batches of this rank; steps of the epoch may be one more (see ``num_steps``).
    """

    def __init__(self, stream: Generator[Batch, None, None], rows: int, num_batches: int) -> None:
        self._stream = stream
        self.rows = rows
        self.num_batches = num_batches

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Batch:
        return next(self._stream)

    def __len__(self) -> int:
        return self.num_batches

    def close(self) -> None:
        """Ends all threads and closes all files; may be called twice."""
        self._stream.close()

    def __enter__(self) -> Batches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_batches(
    store: Store,
    dataset: Dataset,
    options: ReadOptions,
    *,
    world: tuple[int, int] = (0, 1),
    config: DataConfig | None = None,
) -> Batches:
    """Opens one epoch of one rank.

    The rows and their order are a pure function of the dataset, the options, the world and the bounds of
    the shuffle pool (:func:`sparkdl_ring.data.order.global_batches` tells them); threads and the source do
    not matter. Over all ranks every row comes exactly once.

    Args:
        store: Where the dataset lies.
        dataset: Its manifest.
        options: What to read; the same on all ranks.
        world: Rank and size.
        config: Threads and bounds.

    Raises:
        SchemaError: A wanted column is not in the dataset.
        MissingDependencyError: Petastorm is not installed.
        ShortReadError: While iterating: rows are missing or too many.
    """
    config = config or DataConfig()
    rank, size = world
    ranges = plan(dataset.row_groups, size, rank, options.seed, options.epoch, options.shuffle)
    pieces = pieces_of(dataset, ranges)
    columns = select(dataset.columns, options.columns)
    source: Source = import_module(_SOURCES[options.source]).read_pieces
    rows = sum(piece.rows for piece in pieces)
    bounds = batch_bounds(rows, options.batch_size, options.spread_tail)

    def stream() -> Generator[Batch, None, None]:
        with closing(source(store, pieces, columns, config)) as chunks:
            straight = StraightRows(counted(store, pieces, chunks))
            order: StraightRows | ShuffledRows = straight
            if options.shuffle:
                draws = row_generator(options.seed, options.epoch, rank, size)
                order = ShuffledRows(straight, rows, pool_rows(dataset.row_bytes, config), draws)
            for start, stop in bounds:
                taken = order.take(stop - start)
                yield Batch({spec.name: taken[name] for name, spec in columns.items()}, stop - start)

    return Batches(stream(), rows, len(bounds))
