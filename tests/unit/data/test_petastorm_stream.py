"""Whatever Petastorm's pools do, every piece comes once, in order, or an error tells why."""

from __future__ import annotations

import random
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data import ColumnSpec
from sparkdl_ring.data.decode import Piece, PieceReader
from sparkdl_ring.data.petastorm_arrow import load
from sparkdl_ring.data.petastorm_source import (
    PieceStream,
    _InOrderVentilator,
    _Result,
    _Work,
    in_order,
    read_pieces,
)
from sparkdl_ring.data.schema import Columns
from sparkdl_ring.data.task import WriteTask
from sparkdl_ring.errors import ShortReadError
from sparkdl_ring.store import open_store

COLUMNS = {"c0": ColumnSpec("id", "int64")}
GROUP = 10


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> _Work:
    store = open_store(str(tmp_path_factory.mktemp("stream")))
    task = WriteTask(store, "d", tuple(COLUMNS.values()), config=DataConfig(row_group_rows=GROUP))
    report = task.write(0, iter([pa.RecordBatch.from_pydict({"w0": list(range(40 * GROUP))})]))
    pieces = [Piece(report.train.path, group, GROUP, 0, GROUP) for group in range(40)]
    return _Work(store, pieces, COLUMNS)


def _ids(chunks) -> list[int]:
    return [int(i) for chunk in chunks for i in chunk["c0"]]


@pytest.mark.parametrize("threads", [0, 1, 2, 4])
def test_pieces_come_in_order_through_petastorms_reader(work: _Work, threads: int) -> None:
    for _ in range(5):
        chunks = read_pieces(work.store, work.pieces, COLUMNS, DataConfig(reader_threads=threads))
        assert _ids(chunks) == list(range(40 * GROUP))


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_no_row_is_lost_under_load(work: _Work, threads: int) -> None:
    """Four row groups, read again and again beside a thread that never rests."""
    done = threading.Event()
    busy = threading.Thread(target=lambda: [None for _ in iter(done.is_set, True)])
    busy.start()
    try:
        for _ in range(60):
            chunks = read_pieces(work.store, work.pieces[:4], COLUMNS, DataConfig(reader_threads=threads))
            assert _ids(chunks) == list(range(4 * GROUP))
    finally:
        done.set()
        busy.join()


def test_the_stream_is_petastorms_own_reader_over_its_own_pool(work: _Work) -> None:
    stream = PieceStream(work, 2)
    try:
        assert isinstance(stream, load("petastorm.reader").Reader)
        assert isinstance(stream._workers_pool, load("petastorm.workers_pool.thread_pool").ThreadPool)
        assert isinstance(stream.ventilator, load("petastorm.workers_pool.ventilator").ConcurrentVentilator)
    finally:
        stream.close()


@pytest.mark.parametrize("taken", [0, 1, 7])
def test_leaving_early_ends_all_threads(work: _Work, taken: int) -> None:
    before = threading.active_count()
    chunks = read_pieces(work.store, work.pieces, COLUMNS, DataConfig(reader_threads=4))
    for _ in range(taken):
        next(chunks)
    chunks.close()
    assert threading.active_count() == before


def test_reading_draws_nothing_from_the_users_generators(work: _Work) -> None:
    random.seed(3)
    np.random.seed(3)
    states = random.getstate(), str(np.random.get_state())
    _ids(read_pieces(work.store, work.pieces, COLUMNS, DataConfig()))
    assert (random.getstate(), str(np.random.get_state())) == states


def test_nothing_is_printed(work: _Work, capfd) -> None:
    _ids(read_pieces(work.store, work.pieces, COLUMNS, DataConfig()))
    assert capfd.readouterr() == ("", "")


def test_an_error_in_a_thread_is_raised_in_its_turn_and_prints_nothing(work: _Work, capfd) -> None:
    wrong = [*work.pieces[:5], Piece(work.pieces[0].path, 5, GROUP + 1, 0, GROUP), *work.pieces[6:]]
    chunks = read_pieces(work.store, wrong, COLUMNS, DataConfig(reader_threads=4))
    assert _ids(next(chunks) for _ in range(5)) == list(range(5 * GROUP))
    with pytest.raises(ShortReadError, match="row group 5: expected 11 rows, got 10"):
        next(chunks)
    assert capfd.readouterr().err == ""


class _Unruly:
    """A stream that gives pieces in any order and claims to be at its end when told to."""

    def __init__(self, work: _Work, script: list[int | None]) -> None:
        self.work = work
        self.ventilator = self
        self._script = iter(script)
        self.num_released = 0

    def released(self) -> None:
        self.num_released += 1

    def __next__(self) -> _Result:
        index = next(self._script)
        if index is None:
            raise StopIteration
        with PieceReader(self.work.store, self.work.columns) as reader:
            return _Result(index, reader.read(self.work.pieces[index]))


@given(st.permutations(range(8)), st.lists(st.integers(0, 8), max_size=12), st.sets(st.integers(0, 7)))
def test_early_ends_and_lost_pieces_lose_no_row(work, order, ends, lost) -> None:
    script: list[int | None] = [index for index in order if index not in lost]
    for at in ends:
        script.insert(at, None)
    stream = _Unruly(work, script)
    assert _ids(in_order(stream, 8)) == list(range(8 * GROUP))
    assert stream.num_released == 8


def test_few_pieces_wait_while_one_is_slow(work: _Work, monkeypatch) -> None:
    """The first piece is held back while others are read; none runs further ahead than the window."""
    window, released, ahead, others = 5, [], [], threading.Semaphore(0)
    monkeypatch.setattr("sparkdl_ring.data.petastorm_source._IN_FLIGHT_PIECES", window)
    plain_read, plain_release = PieceReader.read, _InOrderVentilator.released

    def slow(self: PieceReader, piece: Piece) -> Columns:
        ahead.append(piece.row_group - len(released))
        if piece.row_group == 0:
            assert all(others.acquire(timeout=20) for _ in range(2))
        others.release()
        return plain_read(self, piece)

    def count(self: _InOrderVentilator) -> None:
        released.append(1)
        plain_release(self)

    monkeypatch.setattr(PieceReader, "read", slow)
    monkeypatch.setattr(_InOrderVentilator, "released", count)
    chunks = read_pieces(work.store, work.pieces, COLUMNS, DataConfig(reader_threads=2))
    assert _ids(chunks) == list(range(40 * GROUP))
    assert 1 < max(ahead) < window
