"""Failures travel whatever the exception was."""

from __future__ import annotations

import threading

import pytest

from sparkdl_ring.errors import (
    CollectiveTimeoutError,
    MismatchError,
    PeerLostError,
    RendezvousTimeoutError,
)
from sparkdl_ring.launch.failure import FailureRecord, RemoteError, classify, find


class Awkward(Exception):
    """Cannot be rebuilt from its arguments."""

    def __init__(self, first, second):
        super().__init__("awkward")
        self.lock = threading.Lock()


def raised(error, cause=None):
    try:
        raise error from cause
    except Exception as caught:  # noqa: BLE001 - the test wants it as a value
        return caught


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("x"), ("own", None)),
        (SystemExit(3), ("own", None)),
        (PeerLostError("x", rank=1), ("echo", 1)),
        (PeerLostError("x", rank=0), ("own", None)),
        (CollectiveTimeoutError("x", rank=1), ("silence", 1)),
        (RendezvousTimeoutError("x", missing=(2, 3)), ("silence", 2)),
        (RendezvousTimeoutError("x"), ("silence", None)),
        (MismatchError("x", rank=1), ("own", None)),
        (raised(RuntimeError("training failed"), PeerLostError("x", rank=2)), ("echo", 2)),
    ],
)
def test_whose_fault_it_was(error, expected):
    assert classify(error, rank=0) == expected


def test_a_record_travels_with_its_exception_and_traceback():
    record = FailureRecord.of(raised(ValueError("bad\nrow \u00e9 \x00")), rank=2)
    again = FailureRecord.decode(record.encode())
    assert again == record
    assert isinstance(again.exception(), ValueError)
    assert str(again.exception()) == "bad\nrow \u00e9 \x00"
    assert "in raised" in again.traceback


def test_an_exception_that_its_constructor_cannot_rebuild_arrives_as_itself():
    error = FailureRecord.of(Awkward(1, 2), rank=0).exception()
    assert type(error) is Awkward
    assert str(error) == "awkward"


def test_an_exception_whose_class_cannot_travel_is_told_by_text():
    class Local(Exception):
        lock = threading.Lock()

    error = FailureRecord.of(Local("bound"), rank=0).exception()
    assert isinstance(error, RemoteError)
    assert str(error) == "Local: bound"


def test_records_are_found_in_foreign_text():
    records = [FailureRecord.of(ValueError(f"row {i}\n'\""), rank=i) for i in range(2)]
    text = f"Job aborted: {records[1].marked()}\\n\tat x\n{records[0].marked()} {records[1].marked()}"
    assert sorted(r.rank for r in find(text)) == [0, 1]
    assert {r.rank: r for r in find(text)}[1] == records[1]
    assert find(text[:200]) == []


def test_long_texts_are_cut_in_the_middle():
    record = FailureRecord.of(ValueError("a" * 100_000 + "end"), rank=0)
    assert len(record.summary) < 21_000
    assert record.summary.endswith("end")
    assert isinstance(record.exception(), RemoteError)
