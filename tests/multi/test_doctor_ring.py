"""``sparkdl-ring doctor --ring`` between processes of this host."""

from __future__ import annotations

import re
import socket
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.multi]
CLI = [sys.executable, "-m", "sparkdl_ring.cli", "doctor"]
WAIT = ["--wait", "40"]


def start(*words):
    pipe = subprocess.PIPE
    return subprocess.Popen([*CLI, *words, *WAIT], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def printed_until(leader, pattern):
    """What the leader prints up to the line that matches; and that match."""
    while line := leader.stdout.readline():
        if found := re.search(pattern, line):
            return found
    raise AssertionError(leader.communicate())


def test_the_printed_commands_and_the_code_are_enough():
    leader = start("--ring", "localhost,localhost,localhost", "--port", str(free_port()))
    commands = [printed_until(leader, r"sparkdl-ring doctor (--join .*)").group(1).split() for _ in range(2)]
    code = printed_until(leader, r"code that they ask for: (\w+)").group(1)
    assert not any(code in word for words in commands for word in words)
    agents = [start(*words) for words in commands]
    for agent in agents:
        agent.stdin.write(code + "\n")
        agent.stdin.flush()
    for agent in agents:
        out, err = agent.communicate(timeout=60)
        assert agent.returncode == 0, err
        assert "measured 3 link(s)" in out
        assert code not in out + err
    out, err = leader.communicate(timeout=60)
    assert leader.returncode in (0, 1), err  # 1: one link was much slower than the others just then
    assert re.search(r"0 - 1 +shm +\d+ +[\d.]+ +[\d.]+ +same machine", out)


def test_another_code_is_refused():
    port = str(free_port())
    leader = start("--ring", "localhost,localhost", "--port", port)
    printed_until(leader, "code")
    agent = start("--join", f"127.0.0.1:{port}", "--place", "1/2")
    _, err = agent.communicate("not-the-code\n", timeout=60)
    assert agent.returncode == 1
    assert "secret" in err
    leader.kill()
    leader.communicate()
