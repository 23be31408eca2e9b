"""Shared fixtures, and the leak police: a test that leaves a thread, child, socket or segment fails."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SETTLE_S = 5.0

# Timings belong to benchmarks: a slow machine must not fail a property.
settings.register_profile("ring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ring")


def _segments() -> set[str]:
    return {p.name for p in Path("/dev/shm").iterdir()} if Path("/dev/shm").is_dir() else set()


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            found.update(int(pid) for pid in (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _sockets() -> set[str]:
    found = set()
    for fd in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(fd)
        except OSError:
            continue
        if target.startswith("socket:") or "memfd:" in target:
            found.add(target)
    return found


def _threads() -> set[str]:
    return {t.name for t in threading.enumerate() if t.is_alive() and not t.name.startswith("pydevd")}


@pytest.fixture(autouse=True)
def leak_police(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compares threads, children, sockets and segments before and after each test."""
    if request.node.get_closest_marker("spark"):
        # The session's own gateway keeps sockets and threads open; segments must still be gone.
        before_shm = _segments()
        yield
        _settle(lambda: _segments() - before_shm, "shared-memory segments")
        return
    probes = {"threads": _threads, "children": _children, "sockets": _sockets, "segments": _segments}
    before = {name: probe() for name, probe in probes.items()}
    yield
    for name, probe in probes.items():
        _settle(lambda probe=probe, name=name: probe() - before[name], name)


def _settle(left_over: object, what: str) -> None:
    deadline = time.monotonic() + _SETTLE_S
    left = left_over()  # type: ignore[operator]
    while left and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)  # waits for what is already ending, not for an event a test depends on
        left = left_over()  # type: ignore[operator]
    assert not left, f"test left {what} behind: {sorted(map(str, left))}"


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """One local Spark session for the whole run, four slots."""
    from sparkdl_ring.launch.session import local_session

    session = local_session(slots=4, app_name="sparkdl_ring-tests")
    yield session
    session.stop()
