"""What suites of this folder share."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rings import Ring, connected


@pytest.fixture(scope="session")
def empty_mlflow_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with MLflow's tables: making them takes seconds, copying them none."""
    import mlflow

    path = tmp_path_factory.mktemp("mlflow") / "empty.db"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The ``noload`` loader strategy", DeprecationWarning)
        mlflow.MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def mlflow_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_mlflow_database: Path
) -> Iterator[None]:
    """MLflow with a database of its own, in a folder of its own."""
    import mlflow

    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_mlflow_database, tmp_path / "runs.db")
    before = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment("fits")
    yield
    while mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


@pytest.fixture(params=["inproc", "shm", "tcp"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make_ring(transport: str, tmp_path: Path) -> Iterator[Callable[[int], Ring]]:
    rings: list[Ring] = []

    def make(size: int) -> Ring:
        rings.append(connected(transport, size, tmp_path / str(len(rings))))
        return rings[-1]

    yield make
    for ring in rings:
        ring.close()
