"""Where the fake libraries are, and arrays in the memory of the fake devices."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "native" / "fake_nccl"
LIBRARIES = {
    "cuda": ("libcuda.so.1", ["fake_cuda.cc"], 0),
    "nccl": ("libnccl.so.2", ["fake_nccl.cc", "communicator.cc", "world.cc"], 0),
    "bare": ("libnccl.so.2", ["fake_nccl.cc", "communicator.cc", "world.cc"], 1),
}


def build_fakes() -> Path:
    """Compiles the fakes once for each state of their sources; returns their folder."""
    digest = hashlib.sha256()
    for path in sorted([*SOURCES.glob("*.cc"), *SOURCES.glob("*.h"), ROOT / "native/ring/nccl/abi.h"]):
        digest.update(path.read_bytes())
    folder = ROOT / "build" / "fakes" / digest.hexdigest()[:16]
    for name, (soname, sources, partial) in LIBRARIES.items():
        target = folder / name / soname
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(f".{os.getpid()}")
        compiler = shutil.which("c++") or "g++"
        flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{ROOT / 'native'}"]
        link = [f"-Wl,-soname,{soname}", "-pthread", "-ldl"]
        files = [str(SOURCES / source) for source in sources]
        define = f"-DFAKE_NCCL_PARTIAL={partial}"
        subprocess.run([compiler, *flags, define, *files, "-o", str(draft), *link], check=True, timeout=110)
        draft.replace(target)
    return folder


@functools.cache
def driver(path: str) -> ctypes.CDLL:
    """The fake driver, with device 0 and up usable in this thread."""
    library = ctypes.CDLL(path)
    assert library.cuInit(0) == 0
    return library


def current(path: str, device: int) -> ctypes.CDLL:
    """The driver, after making ``device`` this thread's current one."""
    library, context = driver(path), ctypes.c_void_p()
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    library.cuCtxPushCurrent_v2(context)
    return library


@dataclass
class Memory:
    """One block of fake device memory, seen as an array."""

    address: int
    view: np.ndarray
    path: str

    @classmethod
    def like(cls, values: np.ndarray, device: int, path: str) -> Memory:
        library, pointer = current(path, device), ctypes.c_uint64()
        assert library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(values.nbytes, 1))) == 0
        buffer = (ctypes.c_uint8 * max(values.nbytes, 1)).from_address(pointer.value)
        view = np.frombuffer(buffer, values.dtype, values.size).reshape(values.shape)
        view[...] = values
        return cls(pointer.value, view, path)

    def __del__(self) -> None:
        driver(self.path).cuMemFree_v2(ctypes.c_uint64(self.address))


class FakeArray:
    """An array that shows itself by ``__cuda_array_interface__`` alone, as CuPy's or Numba's do."""

    def __init__(self, values: Any, device: int, path: str) -> None:
        self.memory = Memory.like(np.asarray(values), device, path)
        self.device_number, self.path = device, path
        self.dtype, self.shape = self.memory.view.dtype, self.memory.view.shape

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        view = self.memory.view
        return {
            "version": 3,
            "shape": view.shape,
            "typestr": view.dtype.str,
            "data": (self.memory.address, False),
            "strides": None,
            "stream": None,
        }

    def __array_namespace__(self) -> Any:
        return types.SimpleNamespace(
            empty=lambda shape, dtype: FakeArray(np.zeros(shape, dtype), self.device_number, self.path)
        )

    def copy(self) -> FakeArray:
        return FakeArray(self.memory.view.copy(), self.device_number, self.path)

    def read(self) -> list[Any]:
        """The values; only when nothing is queued that writes them."""
        return self.memory.view.tolist()


def fake_framework(stream: int) -> types.ModuleType:
    """A module like torch with a current stream, and the tensors of it."""
    framework = types.ModuleType("fake_framework")
    framework.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        current_stream=lambda device: types.SimpleNamespace(cuda_stream=stream)
    )
    sys.modules["fake_framework"] = framework
    return framework


class FakeTensor:
    """A tensor that can do what torch's CUDA tensors can, as far as it is needed."""

    layout = "torch.strided"
    requires_grad = False
    is_leaf = True

    def __init__(self, values: Any, device: int, path: str) -> None:
        self.memory = Memory.like(np.asarray(values), device, path)
        self.path = path
        self.device = types.SimpleNamespace(type="cuda", index=device)
        self.shape = self.memory.view.shape
        self.dtype = f"torch.{self.memory.view.dtype.name}"

    def data_ptr(self) -> int:
        return self.memory.address

    def element_size(self) -> int:
        return int(self.memory.view.itemsize)

    def is_contiguous(self) -> bool:
        return True

    def detach(self) -> FakeTensor:
        return self

    def clone(self) -> FakeTensor:
        return FakeTensor(self.memory.view.copy(), self.device.index, self.path)

    def new_empty(self, shape: tuple[int, ...]) -> FakeTensor:
        return FakeTensor(np.zeros(shape, self.memory.view.dtype), self.device.index, self.path)

    def read(self) -> list[Any]:
        """The values; only when nothing is queued that writes them."""
        return self.memory.view.tolist()


FakeTensor.__module__ = "fake_framework"
