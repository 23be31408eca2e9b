"""A process that is killed or stopped in the middle of an allreduce is named by all others, in time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkdl_ring import config

pytestmark = pytest.mark.multi

SIZE = 3
DEADLINE_S = 1.0
ROOT = Path(__file__).parents[2]


def hear(rank: subprocess.Popen[str]) -> dict[str, Any]:
    assert rank.stdout is not None
    line = rank.stdout.readline()
    assert line, f"rank ended with {rank.wait()}"
    heard: dict[str, Any] = json.loads(line)
    return heard


def start_all(transport: str, *more: str) -> list[subprocess.Popen[str]]:
    environment = {**config.environment(), "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("native_rank.py")),
                transport,
                str(r),
                str(DEADLINE_S),
                *more,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for r in range(SIZE)
    ]
    addresses = json.dumps([hear(rank)["address"] for rank in started])
    for rank in started:
        assert rank.stdin is not None
        rank.stdin.write(addresses + "\n")
        rank.stdin.flush()
    return started


@pytest.fixture(params=["shm", "tcp", "tls"])
def ranks(request: pytest.FixtureRequest) -> Iterator[list[subprocess.Popen[str]]]:
    started = start_all(request.param)
    assert all(hear(rank)["up"] for rank in started)
    yield started
    for rank in started:
        rank.kill()
        rank.communicate()


@pytest.mark.parametrize(
    ("signal_number", "kind", "within_s"),
    [(signal.SIGKILL, "PeerLostError", 5.0), (signal.SIGSTOP, "CollectiveTimeoutError", DEADLINE_S + 5.0)],
)
def test_the_bad_process_is_named(
    ranks: list[subprocess.Popen[str]], signal_number: signal.Signals, kind: str, within_s: float
) -> None:
    start = time.monotonic()
    os.kill(ranks[-1].pid, signal_number)
    for rank in ranks[:-1]:
        failure = hear(rank)
        assert (failure["kind"], failure["rank"]) == (kind, SIZE - 1), failure["text"]
        assert rank.wait(timeout=10) == 0
    assert time.monotonic() - start < within_s


@pytest.mark.parametrize("transport", ["shm", "tcp", "tls"])
def test_a_killed_process_is_named_although_a_child_that_it_forked_lives_on(transport: str) -> None:
    started = start_all(transport, "forks")
    children = [hear(rank)["child"] for rank in started]
    try:
        started[-1].kill()
        for rank in started[:-1]:
            failure = hear(rank)
            assert (failure["kind"], failure["rank"]) == ("PeerLostError", SIZE - 1), failure["text"]
        os.kill(children[-1], 0)  # it still lives
    finally:
        for rank, child in zip(started, children, strict=True):
            rank.kill()
            os.kill(child, signal.SIGKILL)
            rank.communicate()


IN_A_FORKED_CHILD = """
import os
from sparkdl_ring import _native, errors

pair = _native.inproc_group(2)
work = pair[0].barrier(30.0)
child = os.fork()
if child == 0:
    refused = 0
    for call in (work.wait, lambda: pair[0].barrier(1.0)):
        try:
            call()
        except errors.CollectiveError as error:
            refused += "fork" in str(error)
    pair[0].abort("not ours")
    pair[0].close()
    del pair, work
    os._exit(refused)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
pair[1].barrier(30.0).wait()
work.wait()
"""


def test_a_forked_child_is_refused_and_harms_nothing() -> None:
    environment = {**config.environment(), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", IN_A_FORKED_CHILD], env=environment, check=True, timeout=60)


ON_CTRL_C = """
import os, signal, threading
from sparkdl_ring import _native

listeners = [_native.Listener("127.0.0.1") for _ in range(2)]
addresses = [listener.address for listener in listeners]
pair = _native.inproc_group(2)
for blocked in (
    lambda: listeners[0].connect(0, addresses, "run", 0, b"s" * 32, 60.0),
    pair[0].barrier(60.0).wait,
):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        blocked()
    except KeyboardInterrupt:
        continue
    raise SystemExit("not interrupted")
"""


def test_ctrl_c_ends_meeting_and_waiting() -> None:
    environment = {**config.environment(), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", ON_CTRL_C], env=environment, check=True, timeout=30)


IN_A_BLOCKING_CALL = """
import os, signal, threading
from sparkdl_ring import _native, errors

for queued in (False, True):
    pair = _native.inproc_group(2)
    if queued:
        pair[0].barrier(60.0, "first")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        pair[0].run_barrier(60.0)
    except KeyboardInterrupt:
        pass
    else:
        raise SystemExit("not interrupted")
    try:
        pair[1].run_barrier(60.0, "first" if queued else "")
        pair[1].run_barrier(60.0)  # the other rank had come to the first one
    except errors.CollectiveError as error:
        assert "rank 0 was interrupted" in str(error), error
    else:
        raise SystemExit("the peer does not know")
"""


def test_ctrl_c_in_a_blocking_call_ends_the_ring_for_all() -> None:
    environment = {**config.environment(), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", IN_A_BLOCKING_CALL], env=environment, check=True, timeout=30)
