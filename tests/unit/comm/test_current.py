"""The communicator of a process that nobody launched, and the slot."""

from __future__ import annotations

import numpy as np
import pytest

import sparkdl_ring
from sparkdl_ring.comm import clear, in_process, set_current
from sparkdl_ring.errors import ConfigError


def test_nobody_launched_this_process():
    comm = sparkdl_ring.current()
    assert (comm.rank, comm.size, sparkdl_ring.rank(), sparkdl_ring.size()) == (0, 1, 0, 1)
    np.testing.assert_array_equal(comm.allreduce(np.arange(3.0)), np.arange(3.0))
    assert sparkdl_ring.current() is comm


def test_the_slot_can_be_set_and_cleared():
    with in_process(1)[0] as comm:
        set_current(comm)
        try:
            assert sparkdl_ring.current() is comm
        finally:
            clear()
    assert sparkdl_ring.current() is not comm


def test_a_communicator_must_fit_its_place():
    with in_process(1)[0] as comm, pytest.raises(ConfigError):
        type(comm)(comm._native, sparkdl_ring.World(1, 2))
