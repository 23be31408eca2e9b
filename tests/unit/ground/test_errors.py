"""Every error crosses a process boundary with all it knows."""

from __future__ import annotations

import inspect
import pickle

import pytest

from sparkdl_ring import errors

CLASSES = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.RingError)]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_pickle_keeps_message_and_attributes(cls: type[errors.RingError]) -> None:
    error = cls("rank 3 went away: restart it", rank=3, host="node-b")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert str(copy) == "rank 3 went away: restart it"
    assert (copy.rank, copy.host) == (3, "node-b")


def test_special_attributes_survive() -> None:
    late = pickle.loads(pickle.dumps(errors.RendezvousTimeoutError("late", missing=(2, 5))))
    assert late.missing == (2, 5)
    assert late.rank == 2
    failed = errors.TaskFailedError("boom", rank=1, remote_traceback="Traceback ...")
    assert pickle.loads(pickle.dumps(failed)).remote_traceback == "Traceback ..."


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (errors.ConfigError, ValueError),
        (errors.MissingDependencyError, ImportError),
        (errors.RendezvousTimeoutError, TimeoutError),
        (errors.CollectiveTimeoutError, TimeoutError),
        (errors.SchemaError, ValueError),
        (errors.EmptyDataError, ValueError),
        (errors.StoreError, OSError),
    ],
)
def test_builtin_handlers_catch_them(cls: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(cls, builtin)


def test_the_docstring_draws_the_whole_tree() -> None:
    assert errors.__doc__ is not None
    assert all(cls.__name__ in errors.__doc__ for cls in CLASSES)
