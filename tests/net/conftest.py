"""Hosts in network namespaces; skipped with the reason where there can be none."""

from __future__ import annotations

import pytest

from sparkdl_ring.bench.lab import Lab, Wire, why_not


def pytest_collection_modifyitems(items):
    ours = [item for item in items if "netns" in item.keywords]
    problem = why_not() if ours else ""
    if problem:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=problem))


@pytest.fixture(scope="module")
def lab():
    """Four hosts at 1 Gbit/s."""
    with Lab(4) as hosts:
        yield hosts


@pytest.fixture(scope="module")
def far_lab():
    """Two hosts a millisecond apart that lose one frame in a thousand."""
    with Lab(2, Wire(1000, delay_ms=1.0, loss=0.001)) as hosts:
        yield hosts
