"""Where bytes rest: a folder behind a URL (local disk, S3, GCS, ABFS, HDFS, DBFS, memory)."""

from sparkdl_ring.store import layout
from sparkdl_ring.store.api import Store, open_store

__all__ = ["Store", "open_store", "layout"]
