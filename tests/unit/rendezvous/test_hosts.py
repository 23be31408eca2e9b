"""Addresses are chosen by route, never by name: LOG-109, LOG-111."""

from __future__ import annotations

import pytest

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.rendezvous.hosts import choose_address, host_id, is_loopback, strip_port
from sparkdl_ring.rendezvous.interfaces import own_interfaces

A = {"lo": ["127.0.0.1"], "docker0": ["172.17.0.1"], "eno1": ["10.0.0.1"]}
B = {"lo": ["127.0.0.1"], "docker0": ["172.17.0.1"], "enp3s0": ["10.0.0.2"]}
POD = {"lo": ["127.0.0.1"], "eth0": ["172.29.1.25"]}


def routes(table):
    return lambda peer: table.get(peer, table.get("default"))


def test_the_route_to_the_peers_decides():
    peers = ("10.0.0.1", "10.0.0.2")
    assert choose_address("", peers, A, routes({"10.0.0.2": "10.0.0.1"})) == "10.0.0.1"
    assert choose_address("", peers, B, routes({"10.0.0.1": "10.0.0.2"})) == "10.0.0.2"


def test_one_setting_serves_hosts_whose_interfaces_have_other_names():
    assert choose_address("enp3s0,eno1", ("10.0.0.2",), A, routes({})) == "10.0.0.1"
    assert choose_address("enp3s0,eno1", ("10.0.0.1",), B, routes({})) == "10.0.0.2"
    assert choose_address("10.0.0.2", (), B, routes({})) == "10.0.0.2"


def test_an_unknown_interface_is_refused_with_those_present():
    with pytest.raises(ConfigError, match=r"eth9.*lo \(127.0.0.1\), docker0 .*, eno1 \(10.0.0.1\)"):
        choose_address("eth9", (), A, routes({}))


def test_an_address_that_is_not_ours_is_never_published():
    """Spark reports the node's address, the pod owns another one."""
    assert choose_address("", ("10.42.0.0",), POD, routes({"default": "172.29.1.25"})) == "172.29.1.25"


@pytest.mark.parametrize("peers", [(), ("127.0.0.1",), ("localhost",), ("127.0.1.1", "::1"), ("10.0.0.1",)])
def test_loopback_only_when_all_ranks_are_here(peers):
    assert choose_address("", peers, A, routes({"default": "10.0.0.1"})) == "127.0.0.1"


def test_link_local_addresses_come_last():
    interfaces = {"eth0": ["fe80::1", "fd00::5", "10.1.1.1"]}
    assert choose_address("eth0", (), interfaces, routes({})) == "10.1.1.1"


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("10.0.0.1:7077", "10.0.0.1"),
        ("[fd00::5]:7077", "fd00::5"),
        ("fd00::5", "fd00::5"),
        ("worker-1.local:80", "worker-1.local"),
        ("worker-1", "worker-1"),
    ],
)
def test_ports_are_stripped_from_the_right(text, host):
    assert strip_port(text) == host


def test_this_host_has_loopback_and_a_stable_identity():
    addresses = [a for found in own_interfaces().values() for a in found]
    assert any(is_loopback(a) for a in addresses)
    assert host_id() == host_id()
