"""The names of the package resolve when they are used."""

from __future__ import annotations

import pytest

import sparkdl_ring
from sparkdl_ring import comm, errors, launch, store, world


def test_public_names_are_those_of_their_rooms():
    assert sparkdl_ring.run is launch.run
    assert sparkdl_ring.current is comm.current
    assert sparkdl_ring.Communicator is comm.Communicator
    assert sparkdl_ring.World is world.World
    assert sparkdl_ring.open_store is store.open_store
    assert sparkdl_ring.errors is errors
    assert set(sparkdl_ring.__all__) <= set(dir(sparkdl_ring))


def test_other_names_do_not_exist():
    with pytest.raises(AttributeError, match="no attribute 'horovod_run'"):
        _ = sparkdl_ring.horovod_run
