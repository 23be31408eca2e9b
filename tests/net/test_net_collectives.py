"""Ranks on hosts of their own: every collective, over IPv4 and IPv6, one and two ranks a host."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sparkdl_ring.bench.lab import Lab, remove_stale
from sparkdl_ring.bench.lab_ranks import Cast, play_all
from sparkdl_ring.config import CommConfig
from sparkdl_ring.errors import CollectiveError, ConfigError, RendezvousError

from .plays import everything, sum_for_ever

pytestmark = [pytest.mark.netns, pytest.mark.multi]
CONFIG = CommConfig(timeout_s=20.0, connect_timeout_s=30.0)
ACROSS = [(0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 0, 1, 1), (0, 1, 0, 1)]


@pytest.mark.parametrize("hosts", ACROSS, ids=lambda hosts: "".join(map(str, hosts)))
def test_every_collective(lab, hosts):
    for rank, transports in enumerate(play_all(lab, hosts, everything, config=CONFIG)):
        for peer, name in transports.items():
            assert name == ("shm" if hosts[peer] == hosts[rank] else "tcp")


@pytest.mark.parametrize("interface", ["fd77::/64", "fe80::/10", "10.77.0.0/16", "lo0,eth0"])
def test_the_network_is_a_setting(lab, interface):
    play_all(lab, (0, 1, 2), everything, config=replace(CONFIG, interface=interface))


def test_the_way_to_ipv6_peers_is_ipv6(lab):
    with Cast(lab, (0, 1), CONFIG, peers=[lab.ipv6(host) for host in range(4)]) as cast:
        cast.start(everything)
        assert cast.results() == [{1: "tcp"}, {0: "tcp"}]


def test_ports_stay_in_their_range(lab):
    config = replace(CONFIG, port_range="40000-40003")
    play_all(lab, (0, 0, 1, 1), everything, config=replace(config, transport="tcp"))


@pytest.mark.parametrize("changes", [{"tls": True}, {"streams": 4}, {"tls": True, "streams": 2}], ids=str)
def test_what_carries_the_data_is_a_setting(lab, changes):
    play_all(lab, (0, 1, 1, 2), everything, config=replace(CONFIG, **changes))


def test_frames_that_are_late_and_lost_change_nothing(far_lab):
    play_all(far_lab, (0, 1), everything, config=CONFIG)


def test_loopback_of_another_host_is_refused_in_words(lab):
    with Cast(lab, (0, 1), CONFIG) as cast:
        cast.start(everything, rank1=replace(CONFIG, interface="127.0.0.1"))
        first, second = cast.results()
    for error in (first, second):
        assert isinstance(error, RendezvousError)
        assert "publishes 127.0.0.1" in str(error)
        assert "comm.interface" in str(error)


def test_an_address_of_no_interface_is_refused_with_those_present(lab):
    with Cast(lab, (0, 1), replace(CONFIG, connect_timeout_s=3.0)) as cast:
        cast.start(everything, rank1=replace(CONFIG, interface="192.0.2.9"))
        _, error = cast.results()
    assert isinstance(error, ConfigError)
    assert "eth0 (10.77.0.2" in str(error)


def wait_for(path):
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert path.exists()


@pytest.mark.parametrize("hosts", [(0, 1, 2), (0, 0, 1, 1)], ids=["one-a-host", "two-a-host"])
def test_a_killed_rank_is_named_by_all(lab, tmp_path, hosts):
    with Cast(lab, hosts, CONFIG) as cast:
        cast.start(sum_for_ever, str(tmp_path / "ready"))
        wait_for(tmp_path / "ready")
        os.kill(cast.processes[1].pid, signal.SIGKILL)
        outcomes = cast.results()
    assert outcomes[1] is None
    for rank in set(range(len(hosts))) - {1}:
        error, _ = outcomes[rank]
        assert isinstance(error, CollectiveError)
        assert error.rank == 1


def test_an_unplugged_host_ends_everybody_by_the_deadline(tmp_path):
    timeout_s = 3.0
    with Lab(3) as hosts, Cast(hosts, (0, 1, 2), replace(CONFIG, timeout_s=timeout_s)) as cast:
        cast.start(sum_for_ever, str(tmp_path / "ready"))
        wait_for(tmp_path / "ready")
        hosts.unplug(2)
        outcomes = cast.results(timeout_s=40.0)
    for error, seconds in outcomes:
        assert isinstance(error, CollectiveError)
        assert seconds < timeout_s + 10  # a bound of the promise, not a measurement


def test_nothing_is_left_behind():
    with Lab(2) as hosts:
        names = [hosts.namespace(0), hosts.namespace(1)]
        assert all((Path("/run/netns") / name).exists() for name in names)
    broken = Lab(2)
    with pytest.raises(ZeroDivisionError), broken:
        1 / 0  # noqa: B018
    names.append(broken.namespace(0))
    assert not any((Path("/run/netns") / name).exists() for name in names)


def test_what_a_killed_process_left_is_removed():
    name = "skr999999999-x"
    subprocess.run(["ip", "netns", "add", name], check=True)
    remove_stale()
    assert not (Path("/run/netns") / name).exists()
