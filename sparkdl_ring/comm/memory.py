"""Memory that the ranks of one host reach at each other, so that they reduce it in place."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from sparkdl_ring._native import address_of
from sparkdl_ring.comm.buffers import Array, is_dense, operand
from sparkdl_ring.comm.dtypes import dtype_named
from sparkdl_ring.errors import ConfigError

if TYPE_CHECKING:
    from sparkdl_ring._native import Communicator as NativeCommunicator
    from sparkdl_ring._native import Window


class SharedMemory:
    """The shared arrays of one communicator.

    Args:
        native: The connected native communicator.
    """

    def __init__(self, native: NativeCommunicator) -> None:
        self._native = native
        self._adopted: dict[int, tuple[Window, Any]] = {}
        self._made: WeakValueDictionary[int, _Memory] = WeakValueDictionary()

    def empty(self, shape: Sequence[int], dtype: Any, timeout_s: float) -> Array:
        """A new array; its memory lives as long as any view of it."""
        kind = np.dtype(dtype)
        dtype_named(kind.name)
        num_bytes = prod(shape) * kind.itemsize
        window = self._native.allocate(num_bytes, timeout_s, f"empty {tuple(shape)} {kind.name}")
        memory = _Memory(window)
        if num_bytes:
            self._made[window.address] = memory
        octets: Array = np.asarray(memory)
        shaped: Array = octets.view(kind).reshape(shape)
        return shaped

    def adopt(self, array: Any, timeout_s: float) -> bool:
        """Shares the memory of ``array``, which is kept alive; false where that cannot be had."""
        view = self._memory(array)
        address = address_of(view)
        if address in self._adopted:
            raise ConfigError("the array is adopted already: release it first")
        window = self._native.adopt(address, view.nbytes, timeout_s, "adopt")
        if window is not None:
            self._adopted[address] = (window, array)
        return window is not None

    def release(self, array: Any, timeout_s: float) -> None:
        """Ends what :meth:`adopt` or :meth:`empty` began."""
        address = address_of(self._memory(array))
        adopted, made = self._adopted.pop(address, None), self._made.pop(address, None)
        if adopted is not None:
            self._native.release(adopted[0], timeout_s, "release")
        elif made is not None:
            self._native.release(made.window, timeout_s, "release")
        else:
            raise ConfigError("the array was not adopted or made by this communicator")

    def forget(self) -> None:
        """Lets go of adopted arrays, whose pages stay shared until their owner frees them."""
        self._adopted.clear()

    def _memory(self, array: Any) -> Array:
        view = operand(array).writable()
        if not is_dense(view):
            raise ConfigError("only arrays in C order can be adopted")
        return view


class _Memory:
    """A window's bytes by NumPy's array interface; the view keeps this object, and so the window, alive."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.__array_interface__ = {
            "version": 3,
            "data": (window.address, False),
            "shape": (window.bytes,),
            "typestr": "|u1",
        }
