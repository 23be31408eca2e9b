"""The same launcher over Spark Connect, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sparkdl_ring.config import environment

pytestmark = [pytest.mark.multi, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    result = subprocess.run(
        [
            sys.executable,
            str(ROOT / "tests" / "spark" / "connect_session.py"),
            str(tmp_path_factory.mktemp("c")),
        ],
        env={**environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return json.loads(result.stdout)


@pytest.mark.timeout(300)
def test_results_come_by_rank(answer):
    expected = [[0, [0.5, 0.5], 5_000_000], [1, [0.5, 0.5], 5_000_000]]
    assert answer["results"] == expected
    assert answer["afterwards"] == expected


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["raise", "raise_without_board"])
def test_an_exception_arrives_as_it_was(answer, name):
    found = answer[name]
    assert found["rank"] == 1
    assert found["cause"] == repr(ValueError('it\'s "bad"\n\\ \u00e9'))
    assert "in fail" in found["text"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["exit", "exit_without_board"])
def test_a_crashed_rank_is_named(answer, name):
    assert answer[name]["rank"] == 1
    assert "exited unexpectedly" in answer[name]["text"]


@pytest.mark.timeout(300)
def test_an_interruption_cancels_the_job_and_slots_are_checked(answer):
    assert answer["interrupted_s"] < 5
    assert "num_workers is 3" in answer["refused"]
