"""The record of a run: figures from tasks to the driver, and from the driver to MLflow."""

from typing import TYPE_CHECKING, Any

from sparkdl_ring.tracking.api import ColumnInfo, DatasetRecord, ModelRecord, Status, Tracker
from sparkdl_ring.tracking.null import NullTracker
from sparkdl_ring.tracking.progress import read_events, write_event
from sparkdl_ring.tracking.tags import run_tags, transport_tags, version_tags

if TYPE_CHECKING:
    from sparkdl_ring.tracking.mlflow import MLflowTracker

__all__ = [
    "ColumnInfo",
    "DatasetRecord",
    "ModelRecord",
    "Status",
    "Tracker",
    "NullTracker",
    "MLflowTracker",
    "read_events",
    "write_event",
    "run_tags",
    "transport_tags",
    "version_tags",
]


def __getattr__(name: str) -> Any:
    if name == "MLflowTracker":  # loaded on first use: it needs the mlflow extra
        from sparkdl_ring.tracking.mlflow import MLflowTracker

        return MLflowTracker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
