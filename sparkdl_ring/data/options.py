"""What a caller asks of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sparkdl_ring.errors import ConfigError

SourceName = Literal["petastorm", "arrow"]


@dataclass(frozen=True)
class ReadOptions:
    """One epoch of batches. All ranks must pass the same.

    Args:
        columns: User names of the wanted columns, in the wanted order.
        batch_size: Rows of one rank's batch.
        seed: Seed of the run.
        epoch: Counted from 0; each has its own order.
        shuffle: Off reads in file order.
        spread_tail: Merge a last batch of exactly one row into the one before it (batch statistics need two).
        source: ``petastorm``, or ``arrow`` for plain pyarrow. Both give the same rows in the same order.
    """

    columns: tuple[str, ...]
    batch_size: int
    seed: int = 0
    epoch: int = 0
    shuffle: bool = True
    spread_tail: bool = False
    source: SourceName = "petastorm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.batch_size < 1:
            raise ConfigError(f"batch_size is {self.batch_size}: it must be at least 1")
        if self.epoch < 0:
            raise ConfigError(f"epoch is {self.epoch}: it is counted from 0")
        if self.source not in ("petastorm", "arrow"):
            raise ConfigError(f"source is {self.source!r}: it must be 'petastorm' or 'arrow'")


@dataclass(frozen=True)
class Split:
    """How rows are kept apart for validation.

    Args:
        validation: ``None`` keeps none; a fraction between 0 and 1 draws that share of rows; a string names
            a boolean or integer column, whose rows that are true (not 0) are kept for validation.
        seed: Decides the draw.
    """

    validation: float | str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        share = self.validation
        fits = share is None or (isinstance(share, float) and 0.0 < share < 1.0)
        if not fits and not (isinstance(share, str) and share):
            raise ConfigError(f"validation is {share!r}: give a fraction between 0 and 1, or a column's name")

    @property
    def column(self) -> str | None:
        """The column that decides, where there is one."""
        return self.validation if isinstance(self.validation, str) else None
