"""NCCL by ctypes, without anything of ours in between: what our own path is measured against."""

from __future__ import annotations

import ctypes
import time

import numpy as np

_SUM, _FLOAT32 = 0, 7


class _Id(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_char * 128),)


class RawNccl:
    """One communicator of plain NCCL, blocking.

    Args:
        path: NCCL's file.
    """

    def __init__(self, path: str) -> None:
        self._lib = ctypes.CDLL(path)
        self._comm = ctypes.c_void_p()
        self._lib.ncclCommInitRank.argtypes = (ctypes.c_void_p, ctypes.c_int, _Id, ctypes.c_int)

    def make_id(self) -> np.ndarray:
        """The bytes that all ranks need."""
        made = _Id()
        self._check(self._lib.ncclGetUniqueId(ctypes.byref(made)))
        return np.frombuffer(bytes(made), np.uint8).copy()

    def connect(self, made: np.ndarray, rank: int, size: int) -> None:
        """Meets the other ranks."""
        name = _Id.from_buffer_copy(made.tobytes())
        self._check(self._lib.ncclCommInitRank(ctypes.byref(self._comm), size, name, rank))

    def allreduce(self, address: int, count: int, stream: int) -> None:
        """Sums float32 in place."""
        self._check(
            self._lib.ncclAllReduce(
                ctypes.c_void_p(address),
                ctypes.c_void_p(address),
                ctypes.c_size_t(count),
                _FLOAT32,
                _SUM,
                self._comm,
                ctypes.c_void_p(stream),
            )
        )

    def close(self) -> None:
        """Leaves."""
        self._check(self._lib.ncclCommDestroy(self._comm))

    def _check(self, code: int) -> None:
        if code != 0:
            raise RuntimeError(f"NCCL gives {code}")


def median_s(samples: list[float]) -> float:
    """The median."""
    return float(np.median(samples))


def timed(step: object, rounds: int) -> list[float]:
    """Seconds of each of ``rounds`` calls."""
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        step()  # type: ignore[operator]
        samples.append(time.perf_counter() - start)
    return samples
