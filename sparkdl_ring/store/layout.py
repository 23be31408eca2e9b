"""Where each thing lies in a store; pure functions from names to relative paths.

::

    runs/<run>/payload.pkl        model, loss, optimizer, metrics as given by the user
    runs/<run>/events/            progress, one file an epoch, written by rank 0
    runs/<run>/tasks/             arrival marks and failure records, one file a task
    runs/<run>/checkpoints/       state after each epoch
    runs/<run>/model.bin          the trained weights
    datasets/<dataset>/manifest.json   written last: without it the files beside it are no dataset
"""

from __future__ import annotations

from sparkdl_ring.errors import ConfigError


def run_dir(run_id: str) -> str:
    """Everything of one run."""
    return f"runs/{_name(run_id)}"


def payload_path(run_id: str) -> str:
    """What the driver hands to the tasks."""
    return f"{run_dir(run_id)}/payload.pkl"


def events_dir(run_id: str) -> str:
    """Progress events of a run."""
    return f"{run_dir(run_id)}/events"


def tasks_dir(run_id: str) -> str:
    """Arrival marks and failure records of a run."""
    return f"{run_dir(run_id)}/tasks"


def checkpoints_dir(run_id: str) -> str:
    """Checkpoints of a run."""
    return f"{run_dir(run_id)}/checkpoints"


def model_path(run_id: str) -> str:
    """The trained weights of a run."""
    return f"{run_dir(run_id)}/model.bin"


def dataset_dir(dataset_id: str) -> str:
    """Files of one materialised dataset."""
    return f"datasets/{_name(dataset_id)}"


def manifest_path(dataset_id: str) -> str:
    """The manifest of one materialised dataset."""
    return f"{dataset_dir(dataset_id)}/manifest.json"


def _name(name: str) -> str:
    if not name or "/" in name or name in (".", ".."):
        raise ConfigError(f"{name!r} cannot name a run or dataset: it must be one path segment")
    return name
