"""What a fit leaves behind: all that a model needs besides its Params."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sparkdl_ring.data import ColumnSpec
from sparkdl_ring.job import EpochRecord
from sparkdl_ring.ml.outputs import OutputSpec
from sparkdl_ring.ml.persistence import Saved


@dataclass(frozen=True)
class Fitted:
    """A trained model and its story.

    Args:
        blobs: The model (and the output transform, where there is one) as bytes.
        features: Feature columns as they were trained on.
        outputs: What the model gives.
        history: One record an epoch.
        run_id: The run in the record, where there is one.
        size: Tasks it was trained with.
    """

    blobs: Mapping[str, bytes] = field(repr=False)
    features: tuple[ColumnSpec, ...]
    outputs: tuple[OutputSpec, ...]
    history: tuple[EpochRecord, ...]
    run_id: str | None
    size: int

    def to_saved(self) -> Saved:
        """Facts as JSON, the rest as bytes."""
        facts = {
            "features": [asdict(spec) for spec in self.features],
            "outputs": [asdict(spec) for spec in self.outputs],
            "history": [record.to_json() for record in self.history],
            "run_id": self.run_id,
            "size": self.size,
        }
        return Saved(facts, self.blobs)

    @classmethod
    def from_saved(cls, saved: Saved) -> Fitted:
        """The inverse of :meth:`to_saved`."""
        facts = saved.facts
        return cls(
            blobs=saved.blobs,
            features=tuple(ColumnSpec(**_shaped(spec)) for spec in facts["features"]),
            outputs=tuple(OutputSpec(**_shaped(spec)) for spec in facts["outputs"]),
            history=tuple(EpochRecord.from_json(record) for record in facts["history"]),
            run_id=facts["run_id"],
            size=facts["size"],
        )


def _shaped(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {**spec, "shape": tuple(spec["shape"])}
