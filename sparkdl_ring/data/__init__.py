"""Rows: from a DataFrame to Parquet with a manifest, and from there to batches on each rank."""

from sparkdl_ring.data.manifest import DataFile, Dataset
from sparkdl_ring.data.materialize import materialize
from sparkdl_ring.data.options import ReadOptions, Split
from sparkdl_ring.data.order import global_batches, rank_order
from sparkdl_ring.data.publish import Materialized
from sparkdl_ring.data.reader import Batch, Batches, open_batches
from sparkdl_ring.data.schema import ColumnSpec
from sparkdl_ring.data.shards import RowRange, num_steps, plan
from sparkdl_ring.data.spark_types import check_columns

__all__ = [
    "materialize",
    "Materialized",
    "Split",
    "check_columns",
    "Dataset",
    "DataFile",
    "ColumnSpec",
    "open_batches",
    "ReadOptions",
    "Batches",
    "Batch",
    "plan",
    "RowRange",
    "num_steps",
    "rank_order",
    "global_batches",
]
