"""Arrays of every kind as plain memory."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest
import torch

from sparkdl_ring.comm.buffers import is_dense, operand
from sparkdl_ring.comm.dtypes import DTYPES, dtype_named, op_code
from sparkdl_ring.errors import ConfigError


class OnlyDlpack:
    """A foreign array: nothing but DLPack."""

    def __init__(self, array, device=1):
        self._array, self._device = array, device

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (self._device, 0)


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_and_torch_name_the_same_types(name):
    from_numpy = operand(np.zeros(3, getattr(ml_dtypes, name, name)))
    from_torch = operand(torch.zeros(3, dtype=getattr(torch, name)))
    assert from_numpy.dtype == from_torch.dtype == DTYPES[name]
    assert from_numpy.view.itemsize == from_torch.view.itemsize == DTYPES[name].size_bytes


@pytest.mark.parametrize(
    "array",
    [np.zeros((2, 3)), torch.zeros(2, 3, dtype=torch.bfloat16), OnlyDlpack(np.zeros(4)), bytearray(8)],
    ids=["numpy", "torch", "dlpack", "buffer"],
)
def test_the_view_is_the_callers_own_memory(array):
    given = operand(array)
    given.view[...] = 1
    again = operand(array).view
    assert (again == 1).all()
    assert is_dense(again)


def test_strides_of_tensors_are_kept():
    tensor = torch.arange(6.0).reshape(2, 3).T
    view = operand(tensor).view
    np.testing.assert_array_equal(view, tensor.numpy())
    assert view.strides == (4, 12)
    assert not is_dense(view)
    assert operand(tensor).dense().flags.c_contiguous
    assert operand(torch.empty(0, 3)).shape == (0, 3)
    assert operand(torch.tensor(2.0)).shape == ()


def test_unaligned_memory_is_copied():
    raw = np.zeros(9, np.uint8)
    crooked = raw[1:].view(np.float64)
    assert not is_dense(crooked)
    assert is_dense(operand(crooked).dense())


def test_a_view_keeps_its_tensor_alive():
    tensor = torch.ones(3)
    alive = weakref.ref(tensor)
    view = operand(tensor).view
    del tensor
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


def test_results_are_of_the_kind_that_was_given():
    fresh, view = operand(torch.zeros(2, dtype=torch.bfloat16)).like((3, 2))
    assert (fresh.dtype, tuple(fresh.shape), view.dtype) == (torch.bfloat16, (3, 2), np.uint16)
    fresh, _ = operand(np.zeros(2, ml_dtypes.bfloat16)).like((4,))
    assert fresh.dtype == ml_dtypes.bfloat16
    parameter = torch.nn.Parameter(torch.zeros(2))
    fresh, _ = operand(parameter).like((2,))
    assert not fresh.requires_grad
    assert not operand(parameter).tensor_grad
    assert operand(parameter * 2).tensor_grad


def test_memory_elsewhere_is_refused():
    with pytest.raises(ConfigError, match="device meta"):
        operand(torch.zeros(3, device="meta"))
    with pytest.raises(ConfigError, match="to_dense"):
        operand(torch.zeros(3, 3).to_sparse())
    with pytest.raises(ConfigError, match="device type 2"):
        operand(OnlyDlpack(np.zeros(3), device=2))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_that_numpy_lacks_are_plain_words(name):
    plain = {1: np.uint8, 2: np.uint16}[DTYPES[name].size_bytes]
    ones = np.ones((2, 3), getattr(ml_dtypes, name))
    from_numpy, from_torch = operand(ones), operand(torch.ones(2, 3).to(getattr(torch, name)))
    assert from_numpy.view.dtype == from_torch.view.dtype == plain
    np.testing.assert_array_equal(from_numpy.view, from_torch.view)
    for given, kind in ((from_numpy, ones.dtype), (from_torch, getattr(torch, name))):
        fresh, view = given.like((3,))
        view[...] = given.view[0]
        assert (fresh.dtype, view.dtype) == (kind, plain)
        assert (np.asarray(fresh.tolist(), float) == 1).all()


@pytest.mark.parametrize(
    ("name", "instead"), [("bool", "cast to uint8"), ("float8_e4m3fn", "float16"), ("float8_e5m2", "float16")]
)
def test_booleans_and_8_bit_floats_only_travel(name, instead):
    assert not DTYPES[name].reducible
    with pytest.raises(ConfigError, match=f"{name} cannot be reduced, only moved: .*{instead}"):
        op_code("sum", DTYPES[name])


@pytest.mark.parametrize("name", ["complex64", "float8_e4m3fnuz", "float128"])
def test_other_types_are_refused_with_the_list(name):
    with pytest.raises(ConfigError, match=f"{name} is not supported.*uint64"):
        dtype_named(name)


def test_everything_else_can_be_reduced():
    moved = {"bool", "float8_e4m3fn", "float8_e5m2"}
    assert all(op_code("mean", dtype) == 1 for name, dtype in DTYPES.items() if name not in moved)
