"""Addresses and names as text."""

from __future__ import annotations

import pytest

from sparkdl_ring.rendezvous.addresses import is_loopback, resolve, route_to, split_port, strip_port


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("10.0.0.1:7077", "10.0.0.1", 7077),
        ("[fd00::5]:7077", "fd00::5", 7077),
        ("[fd00::5]", "fd00::5", None),
        ("fd00::5", "fd00::5", None),
        ("fe80::5%eth0", "fe80::5%eth0", None),
        ("worker-1.local:80", "worker-1.local", 80),
        ("worker-1", "worker-1", None),
    ],
)
def test_ports_are_split_from_the_right(text, host, port):
    assert strip_port(text) == host
    assert split_port(text) == (host, port)


def test_names_resolve_to_numbers():
    assert any(is_loopback(address) for address in resolve("localhost"))
    assert resolve("192.0.2.1") == ["192.0.2.1"]
    assert resolve("no such name") == []
    assert resolve("x" * 70) == []


def test_the_way_to_loopback_is_loopback():
    assert route_to("127.0.0.1") == "127.0.0.1"
    assert route_to("no such name") is None
