"""Addresses are chosen by route, never by name: LOG-109, LOG-111."""

from __future__ import annotations

import pytest

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.rendezvous.addresses import is_loopback
from sparkdl_ring.rendezvous.hosts import choose_address, host_id, meeting_address, network_id
from sparkdl_ring.rendezvous.interfaces import own_interfaces

A = {"lo": ["127.0.0.1"], "docker0": ["172.17.0.1"], "eno1": ["10.0.0.1"]}
B = {"lo": ["127.0.0.1"], "docker0": ["172.17.0.1"], "enp3s0": ["10.0.0.2"]}
POD = {"lo": ["127.0.0.1"], "eth0": ["172.29.1.25"]}
SIX = {"lo": ["127.0.0.1", "::1"], "eth0": ["fe80::1%eth0", "fd00::5", "10.1.1.1"], "ib0": ["fe80::2%ib0"]}


def routes(table):
    return lambda peer: table.get(peer, table.get("default"))


def names(**table):
    return lambda name: table.get(name.replace("-", "_"), [])


def choose(setting, peers, interfaces, route=None, resolve=None):
    return choose_address(setting, peers, interfaces, route or routes({}), resolve or names())


def test_the_route_to_the_peers_decides():
    peers = ("10.0.0.1", "10.0.0.2")
    assert choose("", peers, A, routes({"10.0.0.2": "10.0.0.1"})) == "10.0.0.1"
    assert choose("", peers, B, routes({"10.0.0.1": "10.0.0.2"})) == "10.0.0.2"


def test_one_setting_serves_hosts_whose_interfaces_have_other_names():
    assert choose("enp3s0,eno1", ("10.0.0.2",), A) == "10.0.0.1"
    assert choose("enp3s0,eno1", ("10.0.0.1",), B) == "10.0.0.2"
    assert choose("10.0.0.2", (), B) == "10.0.0.2"


def test_a_network_serves_all_hosts():
    assert choose("10.0.0.0/24", (), A) == "10.0.0.1"
    assert choose("10.0.0.0/24", (), B) == "10.0.0.2"
    assert choose("192.168.0.0/16, 172.16.0.0/12", (), B) == "172.17.0.1"
    assert choose("fd00::/8", (), SIX) == "fd00::5"


def test_an_unknown_interface_is_refused_with_those_present():
    with pytest.raises(ConfigError, match=r"eth9.*lo \(127.0.0.1\), docker0 .*, eno1 \(10.0.0.1\)"):
        choose("eth9", (), A)


@pytest.mark.parametrize("setting", ["10.0.0.9", "10.9.0.0/16", "10.0.0.0/99", "node-9.cluster", ","])
def test_what_is_not_here_is_refused(setting):
    with pytest.raises(ConfigError, match="present"):
        choose(setting, (), A)


def test_the_name_of_this_host_stands_for_its_address():
    resolve = names(**{"node_1.cluster": ["127.0.1.1", "10.0.0.1"]})
    assert choose("node-1.cluster", (), A, resolve=resolve) == "10.0.0.1"


def test_an_address_that_is_not_ours_is_never_published():
    """Spark reports the node's address, the pod owns another one."""
    assert choose("", ("10.42.0.0",), POD, routes({"default": "172.29.1.25"})) == "172.29.1.25"


def test_the_own_name_that_is_loopback_leads_nobody_astray():
    """LOG-111: the host's own name is 127.0.1.1, the others' are addresses."""
    resolve = names(node_a=["127.0.1.1"], node_b=["10.0.0.2"])
    assert choose("", ("node-a", "node-b"), A, routes({"10.0.0.2": "10.0.0.1"}), resolve) == "10.0.0.1"
    assert choose("", ("node-a",), A, routes({}), resolve) == "127.0.0.1"


def test_names_without_an_address_are_asked_for_their_route():
    assert choose("", ("ghost",), A, routes({"default": "10.0.0.1"})) == "10.0.0.1"


@pytest.mark.parametrize("peers", [(), ("127.0.0.1",), ("localhost",), ("127.0.1.1", "::1"), ("10.0.0.1",)])
def test_loopback_only_when_all_ranks_are_here(peers):
    assert choose("", peers, A, routes({"default": "10.0.0.1"})) == "127.0.0.1"


def test_link_local_addresses_come_last():
    assert choose("eth0", (), SIX) == "10.1.1.1"
    assert choose("ib0", (), SIX) == "fe80::2%ib0"
    assert choose("fe80::1", (), SIX) == "fe80::1%eth0"


def test_this_host_has_loopback_and_a_stable_identity():
    addresses = [a for found in own_interfaces().values() for a in found]
    assert any(is_loopback(a) for a in addresses)
    assert host_id() == host_id()
    assert host_id("rack-7") == "rack-7"
    assert host_id().startswith(network_id().split("/")[0])


def meeting(name, setting="", across_hosts=True, interfaces=A, **known):
    return meeting_address(name, setting, across_hosts, interfaces, names(**known))


def test_rank_0_listens_on_the_address_that_its_name_means():
    assert meeting("10.0.0.1") == "10.0.0.1"
    assert meeting("node-0", node_0=["10.0.0.1"]) == "10.0.0.1"
    assert meeting("node-0", "docker0", node_0=["127.0.1.1", "10.0.0.1"]) == "10.0.0.1"
    assert meeting("fe80::1%eth0", interfaces=SIX) == "fe80::1%eth0"


def test_rank_0_stays_on_loopback_where_all_are_on_its_host_or_it_is_told_to():
    assert meeting("node-0", across_hosts=False, node_0=["127.0.1.1"]) == "127.0.1.1"
    assert meeting("localhost", localhost=["127.0.0.1"]) == "127.0.0.1"
    assert meeting("127.0.0.1", "eno1") == "127.0.0.1"


def test_a_name_that_is_loopback_at_home_takes_the_interface_or_is_refused():
    assert meeting("node-0", "10.0.0.0/8", node_0=["127.0.1.1"]) == "10.0.0.1"
    with pytest.raises(ConfigError, match=r"'node-0' is 127\.0\.1\.1 on its own host.*comm\.interface"):
        meeting("node-0", node_0=["127.0.1.1"])
    with pytest.raises(ConfigError, match="present"):
        meeting("node-0", "eth9", node_0=["127.0.1.1"])


def test_an_address_behind_a_gateway_takes_the_interface():
    assert meeting("203.0.113.7", "eno1") == "10.0.0.1"
    assert meeting("203.0.113.7") == "203.0.113.7"  # and cannot be bound, which is said then


def test_a_name_without_an_address_is_refused():
    with pytest.raises(ConfigError, match="'node-9' is not known"):
        meeting("node-9")
