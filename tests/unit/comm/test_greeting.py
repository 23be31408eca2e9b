"""What ranks check before they connect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkdl_ring.comm.greeting import Greeting, check, greet, own_versions, placed
from sparkdl_ring.comm.select import explain
from sparkdl_ring.errors import LaunchError, RendezvousError
from sparkdl_ring.world import World

VERSIONS = {"sparkdl-ring": "0.1.0", "python": "3.11", "torch": "2.5"}


def greeting(rank, size=3, host="a", listen="127.0.0.1", **versions):
    return Greeting(rank, size, host, f"id-{host}", f"net-{host}", listen, "", {**VERSIONS, **versions})


def three(**changes):
    return [greeting(0, **changes), greeting(1, **changes), greeting(2, **changes)]


def test_equal_ranks_pass():
    check(three(), driver={**VERSIONS, "mlflow": "3.17"})


@pytest.mark.parametrize(
    ("changes", "driver", "cells"),
    [
        ({"torch": "2.3"}, None, ["torch", "2.3", "2.5"]),
        ({"sparkdl-ring": "0.2.0"}, None, ["sparkdl-ring", "0.1.0", "0.2.0"]),
        ({}, {**VERSIONS, "python": "3.10"}, ["driver", "python", "3.10", "3.11"]),
    ],
)
def test_versions_that_differ_are_told_in_one_table(changes, driver, cells):
    """LOG-153."""
    greetings = [*three()[:2], greeting(2, **changes)]
    with pytest.raises(LaunchError) as caught:
        check(greetings, driver)
    lines = str(caught.value).splitlines()
    assert all(cell in str(caught.value) for cell in cells)
    assert len(lines) == 2 + 3 + (driver is not None)
    assert "rank 2 (a)" in str(caught.value)


def test_a_package_that_some_ranks_lack_is_told():
    lacking = replace(greeting(1), versions={k: v for k, v in VERSIONS.items() if k != "torch"})
    with pytest.raises(LaunchError, match="rank 1"):
        check([greeting(0), lacking, greeting(2)], None)


def test_a_driver_without_torch_is_fine():
    check(three(), driver={"python": "3.11"})


def test_ranks_that_do_not_fit_are_told():
    with pytest.raises(RendezvousError, match="rank 1 of 4"):
        check([greeting(0), greeting(1, size=4), greeting(2)], None)


def test_two_hosts_with_one_address_are_told():
    """LOG-109: a container bridge has the same address everywhere."""
    bridge = "172.17.0.1"
    bridged = greeting(2, host="b", listen=bridge)
    greetings = [greeting(0, listen=bridge), greeting(1, listen="10.0.0.1"), bridged]
    with pytest.raises(RendezvousError, match=r"a, b .*172\.17\.0\.1.*comm\.interface"):
        check(greetings, None)


@pytest.mark.parametrize("gpu", ["0", "GPU-8932f937"])
def test_two_ranks_on_one_gpu_are_refused_unless_they_may(gpu):
    """LOG-147: the same name on another host is another GPU."""
    greetings = [
        replace(greeting(0, listen="10.0.0.1"), gpu=gpu),
        replace(greeting(1, host="b", listen="10.0.0.2"), gpu=gpu),
        replace(greeting(2, listen="10.0.0.1"), gpu="1"),
    ]
    check(greetings, None)
    shared = [*greetings[:2], replace(greetings[2], gpu=gpu)]
    with pytest.raises(LaunchError, match=rf"ranks 0 and 2 .*GPU {gpu} of host a.*share_gpus") as caught:
        check(shared, None)
    assert caught.value.rank == 2
    check(shared, None, share_gpus=True)
    check([replace(g, gpu="") for g in shared], None)


def test_local_places_come_from_the_hosts():
    greetings = [greeting(0), greeting(1, host="b", listen="10.0.0.2"), greeting(2)]
    world = placed(World(2, 3, run_id="r"), greetings)
    assert (world.local_rank, world.local_size, world.host, world.run_id) == (1, 2, "a", "r")


def test_a_greeting_travels():
    mine = greet(World(1, 3, gpu="2"), "id", "10.0.0.1", b"\x00\xff")
    assert Greeting.decode(mine.encode()) == mine
    assert (mine.address_bytes(), mine.gpu) == (b"\x00\xff", "2")
    assert own_versions().keys() >= {"python", "sparkdl-ring", "numpy"}
    with pytest.raises(RendezvousError):
        Greeting.decode(b'{"rank": 1}')


def test_the_choice_of_transport_is_explained():
    greetings = [greeting(0), greeting(1), greeting(2, host="b", listen="10.0.0.2")]
    reasons = explain(greetings, {1: "shm", 2: "tcp"}, {1: "same machine", 2: "different machines"})
    assert reasons == {
        1: "shm to host a: same machine",
        2: "tcp to host b at 10.0.0.2: different machines",
    }
