"""What only local processes can show: output, orphans, interruption, grandchildren."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sparkdl_ring.comm import current
from sparkdl_ring.config import environment
from sparkdl_ring.errors import ConfigError, TaskFailedError
from sparkdl_ring.launch import LaunchOptions, run
from sparkdl_ring.launch.local import LocalLauncher

pytestmark = [pytest.mark.multi]
PATIENCE_S = 20.0
ROOT = Path(__file__).resolve().parents[2]


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_output_comes_line_by_line_with_its_rank():
    lines = []

    def work():
        import sys

        from sparkdl_ring import rank

        sys.stdout.write(f"hello from {rank()}\n")
        sys.stderr.write("warn\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(b"\xff" + b"x" * 20_000 + b"\nno newline at the end")

    launcher = LocalLauncher(output=lambda rank, stream, line: lines.append((rank, stream, line)))
    launcher.run(work, (), {}, 2, LaunchOptions())
    for rank in range(2):
        assert (rank, "stdout", f"hello from {rank}") in lines
        assert (rank, "stderr", "warn") in lines
        assert (rank, "stdout", "no newline at the end") in lines
    assert max(len(line) for _, _, line in lines) <= 8192


def test_output_goes_to_our_own_streams(capfd):
    run(lambda: sys.stdout.write("one\ntwo\n"), num_workers=1, launcher="local")
    assert capfd.readouterr().out.splitlines() == ["[rank 0] one", "[rank 0] two"]


def test_the_last_words_of_a_crash_are_told():
    def work():
        import ctypes

        ctypes.string_at(0)

    with pytest.raises(TaskFailedError, match=r"SIGSEGV[\s\S]*Segmentation fault[\s\S]*in work"):
        run(work, num_workers=1, launcher="local")


@dataclass
class AtUnpickling:
    """An argument that is replaced by what ``look`` returns while the call is unpickled."""

    look: Callable[[], Any]

    def __reduce__(self) -> Any:
        return self.look, ()


@pytest.mark.parametrize(
    ("mask", "seen"),
    [
        ("2,3", [("2", "2", "2"), ("3", "3", "3")]),
        ("0", [("0", "0", "")] * 2),  # too few: all see it, and the ring stages what they reduce there
    ],
)
def test_each_rank_sees_a_gpu_of_its_own_before_anything_is_unpickled(monkeypatch, mask, seen):
    """LOG-147: the ranks of a host take the visible GPUs in turn."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)

    def look():
        from sparkdl_ring import config

        return config.environment().get("CUDA_VISIBLE_DEVICES")

    def work(at_unpickling):
        from sparkdl_ring import current

        return at_unpickling, look(), current().world.gpu

    assert run(work, AtUnpickling(look), num_workers=2, launcher="local") == seen


SCRIPT = """
import os, subprocess, sys
from pathlib import Path
from sparkdl_ring import run, rank

folder = Path(sys.argv[1])

def work():
    child = subprocess.Popen(["sleep", "600"])
    (folder / f"child-{rank()}").write_text(str(child.pid))
    (folder / f"pid-{rank()}").write_text(str(os.getpid()))
    child.wait()

run(work, num_workers=2, launcher="local")
"""


def start_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        env={**environment(), "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    files = [tmp_path / f"pid-{rank}" for rank in range(2)]
    wait_until(lambda: all(f.exists() and f.read_text() for f in files), "the ranks did not start")
    return parent, [int(f.read_text()) for f in [*files, *tmp_path.glob("child-*")]]


@pytest.mark.parametrize("stopped", [False, True])
def test_ranks_die_with_their_parent(tmp_path, stopped):
    parent, pids = start_script(tmp_path)
    if stopped:
        os.kill(pids[0], signal.SIGSTOP)
    parent.kill()
    parent.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not any(map(is_running, pids)), "orphans are left")


def test_ctrl_c_ends_everything_soon(tmp_path):
    parent, pids = start_script(tmp_path)
    os.kill(pids[0], signal.SIGSTOP)
    start = time.monotonic()
    parent.send_signal(signal.SIGINT)
    _, errors = parent.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - start < 5
    assert b"KeyboardInterrupt" in errors
    wait_until(lambda: not any(map(is_running, pids)), "orphans are left")


def test_runs_side_by_side_do_not_meet(tmp_path):
    """LOG-108: two drivers, same time, same host."""

    def work(tag):
        from sparkdl_ring import current

        return current().allgather_object(tag)

    answers = {}

    def one(tag):
        answers[tag] = run(work, tag, num_workers=2, launcher="local")

    threads = [threading.Thread(target=one, args=(tag,)) for tag in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert answers == {tag: [[tag, tag]] * 2 for tag in "ab"}


def test_settings_of_a_run_may_be_given_by_name():
    found = run(lambda: current().timeout_s, num_workers=1, launcher="local", config={"comm.timeout_s": 12})
    assert found == [12.0]
    with pytest.raises(ConfigError, match=r"comm\.transport must be one of"):
        run(print, num_workers=1, launcher="local", config={"comm.transport": "udp"})


def test_a_folder_for_traces_that_cannot_be_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TaskFailedError) as failure:
        run(print, num_workers=1, launcher="local", config={"comm.timeline": str(tmp_path / "file")})
    assert "cannot be made a folder" in str(failure.value.__cause__)
