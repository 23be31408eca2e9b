"""Any array as plain memory: NumPy arrays, torch CPU tensors, DLPack objects and buffers.

Everything becomes an :class:`Operand`: a NumPy view of the caller's own memory plus its element type.
torch is recognised by what its tensors can do and is never imported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sparkdl_ring.comm.dtypes import DTYPES, DType, dtype_named
from sparkdl_ring.errors import ConfigError

Array = npt.NDArray[Any]
Like = Callable[[tuple[int, ...]], tuple[Any, Array]]

# NumPy's own types, in this machine's byte order: the quick way.
_NATIVE = {np.dtype(d.name): d for d in DTYPES.values() if not d.plain}


class Operand:
    """The caller's memory.

    Args:
        view: The memory as an array with the caller's shape and strides (bfloat16 as two plain bytes).
        dtype: Element type.
        like: Makes a result of the caller's kind and the given shape, with the view to fill it through.
        tensor_grad: Whether autograd of the caller's framework watches this memory and would miss a change.
    """

    __slots__ = ("_like", "dtype", "tensor_grad", "view")

    def __init__(
        self, view: Array, dtype: DType, like: Like | None = None, tensor_grad: bool = False
    ) -> None:
        self.view = view
        self.dtype = dtype
        self._like = like
        self.tensor_grad = tensor_grad

    @property
    def shape(self) -> tuple[int, ...]:
        """The caller's shape."""
        return self.view.shape

    def like(self, shape: tuple[int, ...]) -> tuple[Any, Array]:
        """A new array of the caller's kind, and the view to fill it through."""
        if self._like is not None:
            return self._like(shape)
        fresh: Array = np.empty(shape, self.view.dtype)
        return fresh, fresh

    def dense(self) -> Array:
        """The memory in C order: the view itself where it is so already, else a copy."""
        return self.view if is_dense(self.view) else np.array(self.view, order="C", copy=True)

    def writable(self) -> Array:
        """The view, after checking that it may be written.

        Raises:
            ConfigError: It is read-only, its elements share memory, or autograd would miss the change.
        """
        flags = self.view.flags
        if not flags.writeable:
            raise ConfigError("the array is read-only: use the variant that returns a new array, or copy it")
        if not flags.c_contiguous and any(
            n > 1 and stride == 0 for n, stride in zip(self.view.shape, self.view.strides, strict=True)
        ):
            raise ConfigError(
                "elements of the array share memory (an expanded or broadcast view): copy it first"
            )
        if self.tensor_grad:
            raise ConfigError(
                "the tensor is part of an autograd graph, which would miss the change: use .detach()"
            )
        return self.view


def is_dense(view: Array) -> bool:
    """True when the memory can be handed over by its first address and a count."""
    flags = view.flags
    return bool(flags.c_contiguous and flags.aligned)


def operand(array: Any) -> Operand:
    """Looks at ``array`` as plain memory, without a copy.

    Raises:
        ConfigError: Its kind, dtype, byte order or device cannot be used; the message names it.
    """
    if type(array) is np.ndarray:
        known = _NATIVE.get(array.dtype)
        if known is not None:
            return Operand(array, known)
    if isinstance(array, np.ma.MaskedArray):
        raise ConfigError("masked arrays are not supported: the mask would be lost; use .filled() first")
    if isinstance(array, np.ndarray | np.generic):
        return _from_numpy(np.asarray(array))
    if _is_torch(array):
        return _from_torch(array)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array)
    return _from_buffer(array)


def result_in(out: Any, source: Operand) -> tuple[Any, Array]:
    """``out`` and the view to fill it through, after checking that it fits ``source``."""
    given = operand(out)
    if (given.shape, given.dtype) != (source.shape, source.dtype):
        raise ConfigError(
            f"out has shape {given.shape} and dtype {given.dtype.name}, "
            f"the array has {source.shape} and {source.dtype.name}"
        )
    return out, given.writable()


def _from_numpy(array: Array) -> Operand:
    dtype = array.dtype
    if dtype.byteorder == ">" or (dtype.byteorder == "=" and not np.little_endian):
        raise ConfigError(f"dtype {dtype.str} is big-endian: use .astype({dtype.newbyteorder('=').name!r})")
    known = dtype_named(dtype.name if dtype.fields is None and dtype.subdtype is None else str(dtype))

    def like(shape: tuple[int, ...]) -> tuple[Array, Array]:
        fresh = np.empty(shape, dtype=dtype)
        return fresh, _plain(fresh, known)

    return Operand(_plain(array, known), known, like)


def _plain(array: Array, dtype: DType) -> Array:
    """Types that NumPy may lack as plain words, so that no operation here needs to know them."""
    return array.view(dtype.plain) if dtype.plain else array


def _is_torch(array: Any) -> bool:
    return all(hasattr(array, name) for name in ("data_ptr", "element_size", "is_contiguous", "new_empty"))


def is_negated(tensor: Any) -> bool:
    """True where the memory holds the other sign: torch negates some views lazily."""
    is_neg = getattr(tensor, "is_neg", None)
    return is_neg is not None and bool(is_neg())


def _from_torch(tensor: Any) -> Operand:
    device = tensor.device.type
    if device != "cpu":
        raise ConfigError(
            f"the tensor is on device {device}; this communicator reduces host memory: use .cpu()"
        )
    dtype = _torch_dtype(tensor.dtype, tensor.layout)
    is_lazy = is_negated(tensor)
    if is_lazy:
        tensor = tensor.resolve_neg()

    def like(shape: tuple[int, ...]) -> tuple[Any, Array]:
        fresh = tensor.detach().new_empty(shape)
        return fresh, _torch_view(fresh, dtype)

    watched = bool(tensor.requires_grad and not tensor.is_leaf)
    view = _torch_view(tensor, dtype)
    if is_lazy:
        view.flags.writeable = False  # a copy: what is written there would be lost
    return Operand(view, dtype, like, tensor_grad=watched)


@cache
def _torch_dtype(dtype: Any, layout: Any) -> DType:
    if str(layout) != "torch.strided":
        raise ConfigError(f"the tensor has layout {layout}: use .to_dense()")
    return dtype_named(str(dtype).removeprefix("torch."))


def _torch_view(tensor: Any, dtype: DType) -> Array:
    return np.asarray(_Memory(tensor, dtype))


class _Memory:
    """A tensor's memory by NumPy's array interface; the view keeps this object, and so the tensor, alive."""

    def __init__(self, tensor: Any, dtype: DType) -> None:
        self._tensor = tensor
        interface = {
            "version": 3,
            "data": (tensor.data_ptr(), False),
            "shape": tuple(tensor.shape),
            "typestr": dtype.typestr,
        }
        if not tensor.is_contiguous():
            interface["strides"] = tuple(stride * dtype.size_bytes for stride in tensor.stride())
        self.__array_interface__ = interface


def _from_dlpack(array: Any) -> Operand:
    device, _ = array.__dlpack_device__()
    if int(device) != 1:
        raise ConfigError(
            f"the array is on DLPack device type {int(device)}, not in host memory: copy it first"
        )
    try:
        view = np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError) as error:
        raise ConfigError(f"{type(array).__name__} cannot be used through DLPack: {error}") from error
    plain = _from_numpy(view)
    namespace = getattr(array, "__array_namespace__", None)
    if namespace is None:
        return plain

    def like(shape: tuple[int, ...]) -> tuple[Any, Array]:
        fresh = namespace().empty(shape, dtype=array.dtype)
        filled = np.from_dlpack(fresh)
        return (fresh, filled) if filled.flags.writeable else plain.like(shape)

    return Operand(plain.view, plain.dtype, like)


def _from_buffer(array: Any) -> Operand:
    try:
        memory = memoryview(array)
    except TypeError:
        raise ConfigError(
            f"{type(array).__name__} is not an array: give a NumPy array, a torch tensor, or anything with "
            "DLPack or the buffer protocol (allgather_object and broadcast_object take any object)"
        ) from None
    return _from_numpy(np.asarray(memory))
