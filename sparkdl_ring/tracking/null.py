"""The tracker that records nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkdl_ring.job import EpochRecord
from sparkdl_ring.tracking.api import DatasetRecord, ModelRecord, Status


class NullTracker:
    """Takes everything, keeps nothing."""

    def start(
        self,
        run_name: str,
        params: Mapping[str, Any],
        tags: Mapping[str, str],
        datasets: Sequence[DatasetRecord] = (),
    ) -> str | None:
        return None

    def log_epoch(self, record: EpochRecord) -> None:
        pass

    def set_tags(self, tags: Mapping[str, str]) -> None:
        pass

    def log_model(self, record: ModelRecord) -> str | None:
        return None

    def finish(self, status: Status) -> None:
        pass
