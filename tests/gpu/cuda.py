"""The little of the CUDA driver that the check needs, by ctypes."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

_PTX = """
.version {version}
.target {target}
.address_size 64
.visible .entry spin(.param .u64 cycles)
{{
    .reg .u64 %rd<4>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [cycles];
    mov.u64 %rd2, %clock64;
AGAIN:
    mov.u64 %rd3, %clock64;
    sub.u64 %rd3, %rd3, %rd2;
    setp.lt.u64 %p1, %rd3, %rd1;
    @%p1 bra AGAIN;
    ret;
}}
"""
_TARGETS = (("6.0", "sm_50"), ("7.0", "sm_75"), ("7.8", "sm_90"), ("8.6", "sm_100"))


class Unavailable(Exception):
    """Why something cannot be checked here."""


class Gpu:
    """One device with its primary context current in this thread.

    Args:
        device: Number among the visible ones.
        path: The driver's file; empty lets the loader find it.
    """

    def __init__(self, device: int = 0, path: str = "") -> None:
        try:
            self._lib = ctypes.CDLL(path or "libcuda.so.1")
        except OSError as error:
            raise Unavailable(f"no CUDA driver: {error}") from None
        code = self._lib.cuInit(0)
        if code != 0:
            raise Unavailable(f"no GPU: cuInit gives {code}")
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if count.value <= device:
            raise Unavailable(f"no GPU: {count.value} devices are visible")
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", name, 128, handle)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self.call("cuCtxPushCurrent_v2", context)
        self.name = (
            f"{name.value.decode()} (CUDA driver {version.value // 1000}.{version.value % 1000 // 10})"
        )
        self._kept: list[Any] = []
        self._spin: ctypes.c_void_p | None = None
        self._cycles_per_s = 0.0

    def call(self, function: str, *arguments: Any) -> None:
        """Calls the driver; raises when it says no."""
        if not hasattr(self._lib, function):
            raise Unavailable(f"the driver has no {function}")
        code = getattr(self._lib, function)(*arguments)
        if code != 0:
            raise RuntimeError(f"{function} gives {code}")

    def stream(self) -> int:
        """A new stream that does not wait for the default one."""
        handle = ctypes.c_void_p()
        self.call("cuStreamCreateWithPriority", ctypes.byref(handle), 1, 0)
        return int(handle.value or 0)

    def alloc(self, num_bytes: int) -> int:
        """Device memory, until the process ends."""
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(num_bytes))
        return int(pointer.value)

    def put(self, address: int, values: np.ndarray, stream: int) -> None:
        """Queues a copy to the device; the values are kept."""
        self._kept.append(values)
        self._copy(address, values.ctypes.data, values.nbytes, stream)

    def get(self, address: int, like: np.ndarray, stream: int) -> np.ndarray:
        """What is on the device behind all that is queued on the stream."""
        values = np.empty_like(like)
        self._copy(values.ctypes.data, address, values.nbytes, stream)
        self.sync(stream)
        return values

    def _copy(self, to: int, source: int, num_bytes: int, stream: int) -> None:
        self.call(
            "cuMemcpyAsync",
            ctypes.c_uint64(to),
            ctypes.c_uint64(source),
            ctypes.c_size_t(num_bytes),
            ctypes.c_void_p(stream),
        )

    def sync(self, stream: int) -> None:
        """Waits for all that is queued on the stream."""
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))
        self._kept.clear()

    def spin(self, seconds: float, stream: int) -> None:
        """Queues a kernel of one thread that takes about so long."""
        if self._spin is None:
            self._spin = self._load()
            self._launch(10_000_000, stream)
            self.sync(stream)  # loaded now
            start = time.perf_counter()
            self._launch(50_000_000, stream)
            self.sync(stream)
            self._cycles_per_s = 50_000_000 / (time.perf_counter() - start)
        self._launch(int(seconds * self._cycles_per_s), stream)

    def _load(self) -> ctypes.c_void_p:
        module, function, last = ctypes.c_void_p(), ctypes.c_void_p(), ""
        for version, target in _TARGETS:
            text = _PTX.format(version=version, target=target).encode()
            try:
                self.call("cuModuleLoadData", ctypes.byref(module), text)
                self.call("cuModuleGetFunction", ctypes.byref(function), module, b"spin")
            except RuntimeError as error:
                last = str(error)
                continue
            return function
        raise Unavailable(f"the driver takes no kernel of ours: {last}")

    def _launch(self, cycles: int, stream: int) -> None:
        value = ctypes.c_uint64(cycles)
        pointers = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(value), ctypes.c_void_p))
        shape: Sequence[int] = (1, 1, 1, 1, 1, 1, 0)
        self.call("cuLaunchKernel", self._spin, *shape, ctypes.c_void_p(stream), pointers, None)
