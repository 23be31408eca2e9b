"""Pieces through Petastorm's ``Reader``: its worker pools and ventilator, our pieces and worker.

Petastorm answers in the order in which its threads finish, and its pools can believe too early that all is
read. Both are cured here: results carry the index of their piece and are passed on in order, and a stream
ends when every piece has come, not when a pool says so.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.decode import Piece, PieceReader
from sparkdl_ring.data.petastorm_arrow import load
from sparkdl_ring.data.schema import Columns, ColumnSpec, row_bytes
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import Store

_LOG = get_logger(__name__)
_IN_FLIGHT_BYTES = 64 << 20
_IN_FLIGHT_PIECES = 256
_EARLY_ENDS = 3
_POLL_S = 0.001

_Reader = load("petastorm.reader").Reader
_WorkerBase = load("petastorm.workers_pool.worker_base").WorkerBase
_Ventilator = load("petastorm.workers_pool.ventilator").ConcurrentVentilator
_EmptyResultError = load("petastorm.workers_pool").EmptyResultError


@dataclass
class _Work:
    """What all workers of one stream share."""

    store: Store
    pieces: Sequence[Piece]
    columns: Mapping[str, ColumnSpec]
    readers: list[PieceReader] = field(default_factory=list)


@dataclass(frozen=True)
class _Result:
    """The rows of one piece, or why they could not be read."""

    index: int
    rows: Columns | None = None
    error: BaseException | None = None


class _PieceWorker(_WorkerBase):  # type: ignore[misc, valid-type]
    """Petastorm's worker on current pyarrow: one piece in, its numpy columns out."""

    def __init__(self, worker_id: int, publish_func: Any, args: _Work) -> None:
        super().__init__(worker_id, publish_func, args)
        self._work = args
        self._reader = PieceReader(args.store, args.columns)
        args.readers.append(self._reader)

    @staticmethod
    def new_results_queue_reader() -> _ResultsReader:
        """What ``Reader.__next__`` asks for results."""
        return _ResultsReader()

    def process(self, piece_index: int) -> None:
        """Reads one piece. An error is published like a result: a dead thread would never be noticed."""
        try:
            result = _Result(piece_index, self._reader.read(self._work.pieces[piece_index]))
        except BaseException as error:  # noqa: BLE001 - raised again by the one who asked for the piece
            result = _Result(piece_index, error=error)
        self.publish_func(result)


class _ResultsReader:
    """Hands results of a pool through as they are."""

    batched_output = True

    def read_next(self, workers_pool: Any, schema: None, ngram: None) -> _Result:
        del schema, ngram
        try:
            result: _Result = workers_pool.get_results()
        except _EmptyResultError:
            raise StopIteration from None
        return result


class _InOrderVentilator(_Ventilator):  # type: ignore[misc, valid-type]
    """Lets in a new piece when one has been passed on in order, which bounds what waits for its turn."""

    def processed_item(self) -> None:
        """Petastorm calls this when any piece is read: too early."""

    def released(self) -> None:
        """Called when a piece has been passed on."""
        super().processed_item()


class _QueueingVentilator(_Ventilator):  # type: ignore[misc, valid-type]
    """For the in-process pool, which reads only when asked: queues all pieces, without a thread."""

    def start(self) -> None:
        self._ventilate()

    def released(self) -> None:
        """Nothing waits for this."""


class PieceStream(_Reader):  # type: ignore[misc, valid-type]
    """Petastorm's ``Reader`` over pieces of our own.

    Args:
        work: What to read.
        threads: Threads of its pool; 0 reads in the calling thread.
    """

    def __init__(self, work: _Work, threads: int) -> None:
        self.num_epochs, self.is_batched_reader = 1, True
        self.schema = self.ngram = self.cache = None
        self.work = work
        window = _window(work, threads) if threads else len(work.pieces)
        self._results_queue_reader = _PieceWorker.new_results_queue_reader()
        self._workers_pool = _pool(threads, window)
        self.ventilator = (_InOrderVentilator if threads else _QueueingVentilator)(
            self._workers_pool.ventilate,
            [{"piece_index": index} for index in range(len(work.pieces))],
            iterations=1,
            max_ventilation_queue_size=window,
            ventilation_interval=_POLL_S,
        )
        self._workers_pool.start(_PieceWorker, work, ventilator=self.ventilator)
        self.last_row_consumed = self.stopped = False

    def cleanup_cache(self) -> None:
        """There is no cache; Petastorm 0.13 would print that it has cleaned one."""

    def close(self) -> None:
        """Ends all threads, then closes the files they used."""
        self.stop()
        self.join()
        for reader in self.work.readers:
            reader.close()


def _window(work: _Work, threads: int) -> int:
    """Pieces that may be read or wait for their turn at a time."""
    largest = max(piece.group_rows for piece in work.pieces) * row_bytes(list(work.columns.values()))
    return max(threads + 1, min(_IN_FLIGHT_PIECES, _IN_FLIGHT_BYTES // largest))


def _pool(threads: int, window: int) -> Any:
    if not threads:
        return load("petastorm.workers_pool.dummy_pool").DummyPool()
    state = random.getstate()  # Petastorm 0.12 draws from the user's generator here
    try:
        return load("petastorm.workers_pool.thread_pool").ThreadPool(
            threads, results_queue_size=2 * window + 4
        )
    finally:
        random.setstate(state)


def read_pieces(
    store: Store, pieces: Sequence[Piece], columns: Mapping[str, ColumnSpec], config: DataConfig
) -> Generator[Columns, None, None]:
    """Yields the rows of each piece, in order. See :class:`sparkdl_ring.data.reader.Source`."""
    if not pieces:
        return
    stream = PieceStream(_Work(store, pieces, columns), config.reader_threads)
    try:
        yield from in_order(stream, len(pieces))
    finally:
        stream.close()


def in_order(stream: PieceStream, count: int) -> Iterator[Columns]:
    """Passes on the results of a stream by the index of their piece.

    Args:
        stream: Gives results in any order, and may end early.
        count: Number of pieces.

    Raises:
        RingError: Whatever reading a piece raised, when its turn comes.
    """
    waiting: dict[int, _Result] = {}
    for index in range(count):
        result = _wait_for(index, stream, waiting)
        stream.ventilator.released()
        if result.error is not None:
            raise result.error
        assert result.rows is not None
        yield result.rows


def _wait_for(index: int, stream: PieceStream, waiting: dict[int, _Result]) -> _Result:
    early_ends = 0
    while index not in waiting:
        try:
            result = next(stream)
        except StopIteration:
            early_ends += 1  # a pool that only looked idle still has the piece: ask again
            if early_ends < _EARLY_ENDS:
                continue
            _LOG.warning("Petastorm's pool ended without piece %d: reading it here", index)
            result = _Result(index, _read_here(stream.work, index))
        if result.index >= index:
            waiting[result.index] = result
    return waiting.pop(index)


def _read_here(work: _Work, index: int) -> Columns:
    with PieceReader(work.store, work.columns) as reader:
        return reader.read(work.pieces[index])
