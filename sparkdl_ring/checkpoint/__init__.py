"""State after each epoch, kept in the store so that a fit can go on where it stopped."""

from sparkdl_ring.checkpoint.api import Checkpoint, Marker
from sparkdl_ring.checkpoint.reader import latest, read
from sparkdl_ring.checkpoint.writer import CheckpointWriter

__all__ = ["Checkpoint", "CheckpointWriter", "Marker", "latest", "read"]
