"""Numpy columns to tensors: integers become int64, floats the dtype of the model, booleans stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from sparkdl_ring.errors import SchemaError


def float_dtype(model: torch.nn.Module) -> torch.dtype:
    """Dtype of the model's first floating parameter; torch's default when it has none."""
    found = (p.dtype for p in model.parameters() if p.is_floating_point())
    return next(found, torch.get_default_dtype())


def to_tensors(columns: Mapping[str, Any], names: Sequence[str], dtype: torch.dtype) -> list[torch.Tensor]:
    """The named columns as tensors, rows first.

    Args:
        columns: Arrays by name.
        names: Columns wanted, in order.
        dtype: Dtype of floats, see :func:`float_dtype`.

    Raises:
        SchemaError: A column is neither numbers nor booleans.
    """
    return [_to_tensor(columns[name], name, dtype) for name in names]


def _to_tensor(array: Any, name: str, dtype: torch.dtype) -> torch.Tensor:
    kind = array.dtype.kind
    if kind in "iu":
        return torch.from_numpy(_own(array.astype(np.int64, copy=False)))
    if kind == "f":
        return torch.from_numpy(_own(array)).to(dtype)
    if kind == "b":
        return torch.from_numpy(_own(array))
    raise SchemaError(
        f"column {name!r} has numpy dtype {array.dtype}: tensors hold numbers and booleans only"
    )


def _own(array: Any) -> Any:
    """Memory that a tensor may share: writable, in rows."""
    return np.require(array, requirements=["C", "W"])
