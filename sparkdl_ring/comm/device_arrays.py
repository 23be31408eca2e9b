"""Arrays in the memory of a GPU, by what they can do: nothing of a framework is imported.

Understood are tensors like torch's (``data_ptr``, ``device.index``), ``__cuda_array_interface__`` and DLPack.
The stream is the one on which the array's framework would queue its next kernel.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sparkdl_ring.comm.buffers import is_negated
from sparkdl_ring.comm.dtypes import DType, dtype_named
from sparkdl_ring.errors import ConfigError

LEGACY_STREAM = 1  # CUDA's name for the default stream, which all blocking streams wait for
_DLPACK_CUDA = (2, 13)  # device memory, managed memory


@dataclass(frozen=True)
class DeviceArray:
    """The caller's device memory.

    Args:
        address: Of the first element.
        shape: The caller's shape.
        dtype: Element type.
        device: Number among the visible devices; -1 where only the driver can tell.
        stream: The caller's current stream, as an integer.
        owner: Keeps the memory alive.
        like: Makes an array of the caller's kind and the given shape on the same device.
        refusal: Why it may not be written; empty when it may.
    """

    address: int
    shape: tuple[int, ...]
    dtype: DType
    device: int
    stream: int
    owner: Any
    like: Callable[[tuple[int, ...]], Any]
    refusal: str = ""

    @property
    def count(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def writable(self) -> DeviceArray:
        """Itself; raises :class:`ConfigError` when it may not be written."""
        if self.refusal:
            raise ConfigError(self.refusal)
        return self


def on_device(array: Any) -> bool:
    """True for an array in the memory of a GPU. Cheap for NumPy arrays."""
    if isinstance(array, np.ndarray | np.generic):
        return False
    if is_tensor(array):
        return bool(array.device.type == "cuda")
    if hasattr(array, "__cuda_array_interface__"):
        return True
    return hasattr(array, "__dlpack_device__") and int(array.__dlpack_device__()[0]) in _DLPACK_CUDA


def device_array(array: Any) -> DeviceArray:
    """Looks at ``array`` as dense device memory, without a copy.

    Raises:
        ConfigError: Its dtype or its layout cannot be used; the message names it.
    """
    if is_tensor(array):
        return _from_tensor(array)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_interface(array)
    return _from_dlpack(array)


def is_tensor(array: Any) -> bool:
    """True for what can do what torch's tensors can."""
    return all(hasattr(array, name) for name in ("data_ptr", "element_size", "is_contiguous", "new_empty"))


def current_stream(array: Any, device: int) -> int:
    """The stream on which the framework of ``array`` queues now, as an integer."""
    for kind in type(array).__mro__:
        framework = sys.modules.get(kind.__module__.partition(".")[0])
        current = getattr(getattr(framework, "cuda", None), "current_stream", None)
        if current is not None:
            return int(current(device).cuda_stream)
    return LEGACY_STREAM


def _from_tensor(tensor: Any) -> DeviceArray:
    layout = str(tensor.layout)
    if layout != "torch.strided":
        raise ConfigError(f"the tensor has layout {layout}: use .to_dense()")
    if not tensor.is_contiguous():
        raise ConfigError("the tensor on a device is not contiguous: use .contiguous()")
    if is_negated(tensor):
        raise ConfigError("the tensor is negated lazily, its memory holds the other sign: use .resolve_neg()")
    device = int(tensor.device.index or 0)
    refusal = ""
    if tensor.requires_grad and not tensor.is_leaf:
        refusal = "the tensor is part of an autograd graph, which would miss the change: use .detach()"
    return DeviceArray(
        address=int(tensor.data_ptr()),
        shape=tuple(int(n) for n in tensor.shape),
        dtype=dtype_named(str(tensor.dtype).rpartition(".")[2]),
        device=device,
        stream=current_stream(tensor, device),
        owner=tensor,
        like=lambda shape: tensor.detach().new_empty(shape),
        refusal=refusal,
    )


def _from_interface(array: Any) -> DeviceArray:
    interface = array.__cuda_array_interface__
    address, read_only = interface["data"]
    shape = tuple(int(n) for n in interface["shape"])
    dtype = _dtype_of(array, interface["typestr"])
    _check_dense(shape, interface.get("strides"), dtype.size_bytes)
    if interface.get("mask") is not None:
        raise ConfigError("masked arrays are not supported: the mask would be lost")
    stream = interface.get("stream")
    return DeviceArray(
        address=int(address),
        shape=shape,
        dtype=dtype,
        device=-1,
        stream=LEGACY_STREAM if stream is None else int(stream),
        owner=array,
        like=lambda shape: _empty_like(array, shape),
        refusal="the array is read-only: use the variant that returns a new array" if read_only else "",
    )


def _dtype_of(array: Any, typestr: str) -> DType:
    """By the array's own dtype, which names what NumPy lacks; else by the type string."""
    own = getattr(array, "dtype", None)
    name = getattr(own, "name", None) or (str(own) if own is not None else np.dtype(typestr).name)
    return dtype_named(name.rpartition(".")[2])


def _check_dense(shape: tuple[int, ...], strides: Iterable[int] | None, step: int) -> None:
    if strides is None or 0 in shape:
        return
    for extent, stride in zip(reversed(shape), reversed(tuple(strides)), strict=True):
        if extent > 1 and stride != step:
            raise ConfigError("the array on a device is not in C order: copy it first")
        step *= extent


def _empty_like(array: Any, shape: tuple[int, ...]) -> Any:
    namespace = getattr(array, "__array_namespace__", None)
    if namespace is None:
        raise ConfigError(
            f"a new {type(array).__name__} cannot be made here: give out=, or use the variant in place"
        )
    return namespace().empty(shape, dtype=array.dtype)


class _Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_DLPACK_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


def _from_dlpack(array: Any) -> DeviceArray:
    # The producer makes the default stream wait. The capsule, never consumed, frees the memory.
    capsule = array.__dlpack__(stream=LEGACY_STREAM)
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(pointer_of(capsule, b"dltensor"))
    if tensor.lanes != 1 or tensor.code not in _DLPACK_KINDS:
        raise ConfigError(f"DLPack type code {tensor.code} with {tensor.lanes} lanes is not supported")
    kind = _DLPACK_KINDS[tensor.code]
    dtype = dtype_named(kind if kind == "bool" else f"{kind}{tensor.bits}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = [tensor.strides[i] * dtype.size_bytes for i in range(tensor.ndim)] if tensor.strides else None
    _check_dense(shape, strides, dtype.size_bytes)
    return DeviceArray(
        address=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        dtype=dtype,
        device=int(tensor.device_id),
        stream=LEGACY_STREAM,
        owner=(array, capsule),
        like=lambda shape: _empty_like(array, shape),
    )
