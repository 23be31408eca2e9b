"""An exception crosses processes as itself: type, text, attributes and causes."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import pytest

from sparkdl_ring.errors import PeerLostError
from sparkdl_ring.launch.exceptions import freeze, thaw


class TwoArgumentsError(Exception):
    def __init__(self, name: str, number: int) -> None:
        super().__init__(f"{name}-{number}")
        self.number = number


class KeywordError(Exception):
    def __init__(self, *, reason: str) -> None:
        super().__init__()
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def _raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except type(error) as caught:
        return caught


@pytest.mark.parametrize(
    "error",
    [
        ValueError("plain"),
        TwoArgumentsError("boom", 2),
        KeywordError(reason="because"),
        FileNotFoundError(2, "No such file", "x.parquet"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        KeyError("name"),
        PeerLostError("gone", rank=3, host="b"),
    ],
)
def test_type_text_and_attributes_survive(error: BaseException) -> None:
    copy = thaw(freeze(_raised(error), 64_000))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_the_chain_of_causes_survives() -> None:
    error = _raised(TwoArgumentsError("boom", 2), _raised(KeyError("k"), OSError("disk")))
    copy = thaw(freeze(error, 64_000))
    assert isinstance(copy.__cause__, KeyError)
    assert isinstance(copy.__cause__.__cause__, OSError)


def test_an_attribute_that_cannot_be_pickled_costs_only_itself() -> None:
    error = ValueError("locked")
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    copy = thaw(freeze(error, 64_000))
    assert type(copy) is ValueError
    assert str(copy) == "locked"


def test_size_is_bounded_and_causes_go_first() -> None:
    error = _raised(ValueError("small"), ValueError("x" * 100_000))
    copy = thaw(freeze(error, 10_000))
    assert str(copy) == "small"
    assert copy.__cause__ is None
    assert freeze(ValueError("x" * 100_000), 10_000) == b""


def test_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no exception"):
        thaw(pickle.dumps([pickle.dumps("text")]))
