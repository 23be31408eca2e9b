"""What runs in each Spark task of a materialisation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.options import Split
from sparkdl_ring.data.report import Report
from sparkdl_ring.data.schema import ColumnSpec
from sparkdl_ring.data.split import Pin, Splitter
from sparkdl_ring.data.writer import PartitionWriter
from sparkdl_ring.errors import StoreError
from sparkdl_ring.store import Store, layout


@dataclass(frozen=True)
class WriteTask:
    """Writes partitions; called by Spark with the record batches of one. Pickles.

    Args:
        store: Where to.
        name: Name of the dataset.
        columns: The wanted columns, as far as the schema tells.
        split: Which rows are kept apart.
        config: Sizes of row groups.
        pin: A row whose side is fixed.
    """

    store: Store
    name: str
    columns: tuple[ColumnSpec, ...]
    split: Split = field(default_factory=Split)
    config: DataConfig = field(default_factory=DataConfig)
    pin: Pin | None = None

    @property
    def ids(self) -> tuple[str, str]:
        """Names of the training and of the validation dataset."""
        return self.name, f"{self.name}.validation"

    @property
    def folders(self) -> tuple[str, str]:
        """Where their files go."""
        return layout.dataset_dir(self.ids[0]), layout.dataset_dir(self.ids[1])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes the partition of this Spark task and yields its report."""
        from pyspark import TaskContext

        context = TaskContext.get()
        report = self.write(context.partitionId() if context is not None else 0, batches)
        yield pa.RecordBatch.from_pydict({"report": [report.to_json()]})

    def write(self, partition: int, batches: Iterator[pa.RecordBatch]) -> Report:
        """Writes one partition.

        Args:
            partition: Its number.
            batches: The columns in order, then the validation column if one decides.
        """
        splitter = Splitter(self.split, partition, self.pin)
        writer = PartitionWriter(self.store, self.folders, self.columns, splitter, self.config)
        try:
            return writer.write(partition, batches)
        except StoreError as error:  # goes to the driver as a value, so that it is raised there as itself
            return Report(partition, error=str(error))

    def discard(self) -> None:
        """Removes all that tasks wrote."""
        for folder in self.folders:
            self.store.delete(folder, recursive=True)
