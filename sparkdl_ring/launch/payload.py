"""The user's function and results as bytes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cloudpickle

from sparkdl_ring.errors import ConfigError, LaunchError

MAX_CALL_BYTES = 64 << 20


def encode_call(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], limit_bytes: int = MAX_CALL_BYTES
) -> bytes:
    """The call as bytes.

    Raises:
        ConfigError: It cannot be pickled, or is larger than ``limit_bytes``.
    """
    try:
        data = cloudpickle.dumps((fn, tuple(args), dict(kwargs)))
    except Exception as error:
        name = getattr(fn, "__qualname__", repr(fn))
        raise ConfigError(
            f"{name} and its arguments cannot be pickled: {error}. Open files, sessions and connections "
            "inside the function instead of passing them"
        ) from error
    if len(data) > limit_bytes:
        raise ConfigError(
            f"the function with its arguments takes {len(data) / 1e6:.1f} MB, over the limit of "
            f"{limit_bytes / 1e6:.0f} MB: write large data to the store and pass its path"
        )
    return bytes(data)


def decode_call(data: bytes) -> Callable[[], Any]:
    """The call, ready to be made.

    Raises:
        LaunchError: A module it needs is not installed here; the message says how to ship it.
    """
    try:
        fn, args, kwargs = pickle.loads(data)
    except ModuleNotFoundError as error:
        raise LaunchError(missing_module_text(error.name or str(error))) from error
    return lambda: fn(*args, **kwargs)


def encode_result(value: Any) -> bytes:
    """A rank's result as bytes.

    Raises:
        LaunchError: It cannot be pickled.
    """
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise LaunchError(
            f"the result of type {type(value).__name__} cannot be pickled: {error}. Return plain data, "
            "or write it to the store and return its path"
        ) from error


def decode_result(data: bytes, rank: int) -> Any:
    """The inverse of :func:`encode_result`, on the driver."""
    try:
        return pickle.loads(data)
    except Exception as error:
        raise LaunchError(
            f"the result of rank {rank} cannot be unpickled here: {error}", rank=rank
        ) from error


def missing_module_text(module: str) -> str:
    """What to do about a module that tasks cannot import."""
    if module.partition(".")[0] == "sparkdl_ring":
        return f"module {module!r} is missing in the tasks: install sparkdl-ring on every host"
    return (
        f"module {module!r} is missing in the tasks. Install it on every host, or ship it: "
        "spark.sparkContext.addPyFile(path), spark.addArtifacts(path, pyfile=True) on Spark Connect, "
        "spark-submit --py-files, or cloudpickle.register_pickle_by_value(module) before the call"
    )
