"""One suite for every launcher: results by rank, failures as they are, options heard."""

from __future__ import annotations

import sys
import threading
import time
from collections import namedtuple
from functools import partial
from typing import Any

import pytest

from sparkdl_ring import current, rank, run, size
from sparkdl_ring.config import CommConfig, LaunchConfig, RingConfig
from sparkdl_ring.errors import ConfigError, LaunchError, MismatchError, TaskFailedError
from sparkdl_ring.launch import LaunchOptions
from sparkdl_ring.launch.registry import named_launcher
from sparkdl_ring.launch.spark import SparkLauncher

pytestmark = [pytest.mark.multi]
Point = namedtuple("Point", "x y")


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def launcher(request: pytest.FixtureRequest) -> Any:
    if request.param == "local":
        return named_launcher("local")
    return SparkLauncher(request.getfixturevalue("spark"))


def launch(launcher: Any, fn: Any, num_workers: int, **options: Any) -> list[Any]:
    return launcher.run(fn, (), {}, num_workers, LaunchOptions(**options))


@pytest.fixture
def cuda_used_here(monkeypatch):
    """This process looks like one that has used CUDA: what is forked from it inherits the mark."""
    monkeypatch.setattr(sys, "ring_test_cuda_used", True, raising=False)


def test_results_come_by_rank_with_every_kind_of_argument(launcher, cuda_used_here):
    """LOG-063: lambdas, partials, local functions, dictionaries and named tuples.

    LOG-150: ranks are no forks of the driver.
    """
    seen = [1, 2]

    def work(point, table, *, scale):
        assert not hasattr(sys, "ring_test_cuda_used")
        comm = current()
        place = (rank(), size(), comm.world.local_rank, comm.world.local_size)
        return place, point.x * scale(comm.rank) + len(seen) + table["a"]

    results = run(
        partial(work, Point(10, 0)),
        {"a": 100},
        num_workers=3,
        launcher=launcher,
        scale=lambda r: r,
    )
    assert results == [((r, 3, r, 3), 10 * r + 102) for r in range(3)]


@pytest.mark.parametrize("num_workers", [1, 2])
def test_large_results_and_collectives(launcher, num_workers):
    def work():
        import numpy as np

        from sparkdl_ring import current

        comm = current()
        mean = comm.allreduce(np.full(3, float(comm.rank)))
        return mean, np.full(1_500_000, comm.rank, np.int32)

    results = run(work, num_workers=num_workers, launcher=launcher)
    for index, (mean, large) in enumerate(results):
        assert mean.tolist() == [(num_workers - 1) / 2] * 3
        assert large.size == 1_500_000
        assert (large == index).all()


def test_an_exception_that_its_constructor_cannot_rebuild_arrives_with_its_cause(launcher):
    def work():
        class Awkward(Exception):
            def __init__(self, first, second):
                super().__init__("row 7 is 'odd'\n\\ \u00e9")
                self.lock = threading.Lock()

        raise Awkward(1, 2) from KeyError("row 7")

    with pytest.raises(TaskFailedError) as caught:
        run(work, num_workers=1, launcher=launcher)
    assert caught.value.rank == 0
    assert "Awkward: row 7 is 'odd'\n\\ \u00e9" in str(caught.value)
    cause = caught.value.__cause__
    assert type(cause).__name__ == "Awkward"
    assert str(cause) == "row 7 is 'odd'\n\\ \u00e9"
    assert isinstance(cause.__cause__, KeyError)


def test_an_exception_whose_class_cannot_travel_is_told_by_its_text(launcher):
    def work():
        class Bound(Exception):
            pass

        Bound.lock = threading.Lock()
        raise Bound("here")

    with pytest.raises(TaskFailedError) as caught:
        run(work, num_workers=1, launcher=launcher)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert str(caught.value.__cause__) == "Bound: here"


def test_leaving_by_sys_exit_is_a_failure(launcher):
    with pytest.raises(TaskFailedError, match="SystemExit") as caught:
        run(lambda: sys.exit(3), num_workers=1, launcher=launcher)
    assert isinstance(caught.value.__cause__, SystemExit)


def test_ranks_that_disagree_are_told_what_about(launcher):
    """LOG-103: a lone collective on one rank."""

    def work():
        import numpy as np

        from sparkdl_ring import current

        comm = current()
        if comm.rank == 0:
            comm.broadcast_(np.ones(3), name="early stop")
        comm.allreduce(np.ones(5), name="gradient")

    with pytest.raises(TaskFailedError, match="early stop") as caught:
        run(work, num_workers=2, launcher=launcher)
    assert isinstance(caught.value.__cause__, MismatchError)


def test_results_that_cannot_be_pickled_are_the_ranks_failure(launcher):
    with pytest.raises(TaskFailedError, match="cannot be pickled"):
        run(threading.Lock, num_workers=1, launcher=launcher)


def test_the_drivers_settings_reach_every_rank(launcher):
    def work():
        from sparkdl_ring import current

        return current().timeout_s, current().transports

    config = RingConfig(comm=CommConfig(timeout_s=17.0, transport="tcp"))
    assert run(work, num_workers=2, launcher=launcher, config=config) == [
        (17.0, {1: "tcp"}),
        (17.0, {0: "tcp"}),
    ]


def test_the_driver_is_called_while_ranks_run(launcher, tmp_path):
    """Progress: the ranks wait for a file that only the driver's own callback writes."""
    go = tmp_path / "go"
    calls: list[int] = []

    def on_poll():
        calls.append(threading.get_ident())
        if len(calls) == 3:
            go.touch()

    def work():
        while not go.exists():
            time.sleep(0.01)

    launch(launcher, work, 1, on_poll=on_poll, poll_s=0.05)
    assert len(calls) >= 3
    assert set(calls) == {threading.get_ident()}


def test_what_the_callback_raises_ends_the_ranks(launcher, tmp_path):
    started = tmp_path / "started"

    def on_poll():
        if started.exists():
            raise KeyError("stop")

    def work():
        started.touch()
        time.sleep(600)

    start = time.monotonic()
    with pytest.raises(KeyError, match="stop"):
        launch(launcher, work, 1, on_poll=on_poll, poll_s=0.05)
    assert time.monotonic() - start < 60


def test_a_missing_module_is_named_with_how_to_ship_it(launcher, tmp_path, monkeypatch):
    """LOG-066: importable on the driver only."""
    (tmp_path / "only_here_xyz.py").write_text("def work():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here_xyz

    monkeypatch.undo()
    (tmp_path / "only_here_xyz.py").unlink()
    with pytest.raises(TaskFailedError, match=r"'only_here_xyz'.*addPyFile") as caught:
        run(only_here_xyz.work, num_workers=2, launcher=launcher)
    assert isinstance(caught.value.__cause__, LaunchError)
    assert "ModuleNotFoundError" in caught.value.remote_traceback


@pytest.mark.parametrize("num_workers", [0, -1])
def test_no_ranks_are_refused(launcher, num_workers):
    with pytest.raises(ConfigError, match="num_workers"):
        run(print, num_workers=num_workers, launcher=launcher)


def test_an_unknown_launcher_is_refused():
    with pytest.raises(ConfigError, match="local, spark"):
        run(print, num_workers=1, launcher="slurm")


def test_a_rank_that_ends_early_does_not_hurt_the_others(launcher):
    """Rank 0 leaves while rank 1 still works on its own."""

    def work():
        from sparkdl_ring import current

        comm = current()
        comm.barrier()
        if comm.rank:
            time.sleep(0.5)
        return comm.rank

    config = RingConfig(launch=LaunchConfig(grace_s=1.0))
    assert run(work, num_workers=2, launcher=launcher, config=config) == [0, 1]
