"""Pieces by plain pyarrow, one after the other in the calling thread: the reference and the opt-out."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.decode import Piece, PieceReader
from sparkdl_ring.data.schema import Columns, ColumnSpec
from sparkdl_ring.store import Store


def read_pieces(
    store: Store, pieces: Sequence[Piece], columns: Mapping[str, ColumnSpec], config: DataConfig
) -> Generator[Columns, None, None]:
    """Yields the rows of each piece, in order. See :class:`sparkdl_ring.data.reader.Source`."""
    del config  # nothing to set: no threads
    with PieceReader(store, columns) as reader:
        for piece in pieces:
            yield reader.read(piece)
