"""Which failure is the first cause."""

from __future__ import annotations

import pytest

from sparkdl_ring.errors import CollectiveTimeoutError, PeerLostError, RendezvousTimeoutError
from sparkdl_ring.launch.failure import FailureRecord
from sparkdl_ring.launch.verdict import Death, accused, first_cause, how_ended


def record(rank, error, seconds=0.0):
    made = FailureRecord.of(error, rank)
    return FailureRecord(**{**made.__dict__, "seconds": seconds})


def test_an_own_exception_beats_echoes():
    error = first_cause(
        [
            record(0, PeerLostError("rank 2 left", rank=2), 1.0),
            record(2, ValueError("bad"), 2.0),
            record(1, PeerLostError("rank 0 left", rank=0), 3.0),
        ],
        [Death(r, "exited with code 1") for r in range(3)],
    )
    assert error.rank == 2
    assert isinstance(error.__cause__, ValueError)
    assert "ValueError: bad" in str(error)
    assert "ValueError: bad" in error.remote_traceback


def test_the_earliest_own_exception_wins():
    error = first_cause([record(0, KeyError("b"), 2.0), record(1, ValueError("a"), 1.0)], [])
    assert error.rank == 1


def test_a_death_is_named_with_its_witness():
    error = first_cause(
        [record(0, PeerLostError("rank 1 died", rank=1, host="h"), 5.0)],
        [Death(1, how_ended(-9), "h", 4.9, "last words")],
    )
    assert error.rank == 1
    assert "SIGKILL" in str(error)
    assert "last words" in str(error)
    assert isinstance(error.__cause__, PeerLostError)


def test_a_silent_rank_is_blamed():
    records = [
        record(0, CollectiveTimeoutError("waited 5 s", rank=1, host="h")),
        record(2, PeerLostError("rank 0 left", rank=0)),
    ]
    assert accused(records) == {1}
    error = first_cause(records, [])
    assert (error.rank, error.host) == (1, "h")
    assert isinstance(error.__cause__, CollectiveTimeoutError)


def test_most_votes_decide_among_the_blamed():
    records = [
        record(0, CollectiveTimeoutError("x", rank=3)),
        record(1, CollectiveTimeoutError("x", rank=0)),
        record(2, CollectiveTimeoutError("x", rank=3)),
    ]
    assert first_cause(records, []).rank == 3
    assert accused(records) == {3}


def test_a_rendezvous_without_names_blames_nobody_else():
    error = first_cause([record(0, RendezvousTimeoutError("some did not come"))], [])
    assert isinstance(error.__cause__, RendezvousTimeoutError)


def test_nothing_known():
    assert first_cause([], []) is None


@pytest.mark.parametrize(
    ("code", "text"), [(3, "code 3"), (0, "code 0"), (-9, "SIGKILL"), (-11, "SIGSEGV"), (-99, "99")]
)
def test_ends_in_words(code, text):
    assert text in how_ended(code)
