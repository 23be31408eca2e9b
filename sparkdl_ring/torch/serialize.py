"""Specs and trained models as bytes: torch's own archive, with cloudpickle for code that no file holds."""

from __future__ import annotations

import io
from dataclasses import fields
from typing import Any

import cloudpickle
import torch

from sparkdl_ring.errors import CheckpointError, ConfigError, MissingDependencyError
from sparkdl_ring.store import Store
from sparkdl_ring.torch.spec import TorchSpec


def dumps_spec(spec: TorchSpec) -> bytes:
    """The spec as bytes; lambdas, partials and local classes are fine.

    Raises:
        ConfigError: A part cannot be pickled; the message names it.
    """
    try:
        return _dumps(spec)
    except Exception as error:  # pickling runs any code
        raise ConfigError(f"{_culprit(spec)} cannot be sent to the tasks: {error}") from error


def loads_spec(data: bytes) -> TorchSpec:
    """The inverse of :func:`dumps_spec`.

    Raises:
        MissingDependencyError: It needs a module that this task does not have.
        ConfigError: The bytes are something else.
    """
    spec = _loads(data)
    if not isinstance(spec, TorchSpec):
        raise ConfigError(f"the payload is a {type(spec).__name__}, not a TorchSpec")
    return spec


def save_model(store: Store, path: str, module: torch.nn.Module) -> None:
    """Publishes a module with its weights.

    Raises:
        CheckpointError: It cannot be pickled.
        StoreError: The store refused.
    """
    try:
        data = _dumps(module)
    except Exception as error:  # pickling runs any code
        raise CheckpointError(f"the trained model cannot be saved: {error}") from error
    store.write(path, data)


def load_model(store: Store, path: str) -> torch.nn.Module:
    """The module that :func:`save_model` published, on the CPU.

    Raises:
        StoreError: It is not there.
        MissingDependencyError: It needs a module that is not installed here.
    """
    return loads_model(store.read(path), f"{store.url}/{path}")


def loads_model(data: bytes, origin: str = "the model's file") -> torch.nn.Module:
    """A module from the bytes that :func:`save_model` wrote, on the CPU.

    Args:
        data: The bytes.
        origin: Where they are from, for messages.

    Raises:
        CheckpointError: The bytes hold something else.
        MissingDependencyError: It needs a module that is not installed here.
    """
    module = _loads(data)
    if not isinstance(module, torch.nn.Module):
        raise CheckpointError(f"{origin} holds a {type(module).__name__}, not a torch.nn.Module")
    return module


def _dumps(value: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, pickle_module=cloudpickle)
    return file.getvalue()


def _loads(data: bytes) -> Any:
    try:
        # Code by design: tasks run what the user wrote. The store is as trusted as the job itself.
        return torch.load(io.BytesIO(data), map_location="cpu", weights_only=False)
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{error.name!r} is needed by the model and is not importable here: install it on the executors, "
            "ship it (spark.submit.pyFiles, addArtifact), or call "
            f"cloudpickle.register_pickle_by_value({error.name}) before fit"
        ) from error


def _culprit(spec: TorchSpec) -> str:
    for field in fields(spec):
        try:
            _dumps(getattr(spec, field.name))
        except Exception:  # noqa: BLE001 - only looking for the part that fails
            return field.name
    return "the spec"
