"""Where a fit stands, as the payload of a checkpoint: weights, buffers, optimizer, history."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

import torch

from sparkdl_ring.checkpoint import Checkpoint
from sparkdl_ring.errors import CheckpointError
from sparkdl_ring.job import EpochRecord


def pack(model: torch.nn.Module, optimizer: torch.optim.Optimizer, history: Sequence[EpochRecord]) -> bytes:
    """The state after the last epoch of ``history``.

    Random numbers need no place here: every epoch draws its own from (seed, epoch, rank).
    """
    state = {
        "model": model.state_dict(),
        "buffers": dict(model.named_buffers()),  # those that a state dict leaves out too
        "optimizer": optimizer.state_dict(),
        "history": [record.to_json() for record in history],
    }
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


def unpack(
    checkpoint: Checkpoint, model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> list[EpochRecord]:
    """Puts model and optimizer into the saved state; returns the history so far.

    Raises:
        CheckpointError: The state is that of another model or optimizer.
    """
    state = _load(checkpoint.state)
    try:
        model.load_state_dict(state["model"])
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(state["buffers"][name])
        optimizer.load_state_dict(state["optimizer"])
        return [EpochRecord.from_json(record) for record in state["history"]]
    except (KeyError, RuntimeError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"the checkpoint of epoch {checkpoint.epoch} does not fit this model and optimizer: {error}; "
            "fit under another run id or pass resume=False"
        ) from error


def _load(data: bytes) -> dict[str, Any]:
    try:
        state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        # An optimizer may keep objects of its own. The bytes match their checksum, and come from the same
        # store as the code that this task runs anyway.
        state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=False)
    if not isinstance(state, dict):
        raise CheckpointError(f"the checkpoint holds a {type(state).__name__}, not the state of a fit")
    return state
