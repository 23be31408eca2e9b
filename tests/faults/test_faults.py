"""Random faults, a few of the many that ``make faults`` plays; and the harness sees what it looks for."""

from __future__ import annotations

import dataclasses
import os

import faultcases
import playing
import pytest
from crew import Crew
from run_faults import play_all, summary

pytestmark = [pytest.mark.multi]
SEED, COUNT = 2026, 60


@pytest.fixture
def crew():
    crew = Crew()
    yield crew
    crew.close()


def custom(**changes):
    plain = faultcases.Fault(0, 7, 2, "shm", "small", "sleep_short", 1, 0.0, 3)
    return dataclasses.replace(plain, **changes)


@pytest.mark.parametrize("part", range(3))
def test_random_faults(part):
    numbers = range(part * COUNT // 3, (part + 1) * COUNT // 3)
    outcomes = play_all(SEED, numbers, num_crews=2)
    assert len(outcomes) == len(numbers)
    assert not any(outcome.complaints for outcome in outcomes), summary(outcomes)


def test_every_phase_kind_and_transport_is_drawn():
    drawn = [faultcases.fault(1, number) for number in range(1000)]
    assert {(f.phase, f.kind) for f in drawn} == {
        (p, k) for p, kinds in faultcases.KINDS.items() for k in kinds
    }
    assert {f.transport for f in drawn} == set(faultcases.TRANSPORTS)
    assert drawn == [faultcases.fault(1, number) for number in range(1000)]


def test_a_wrong_result_is_seen(crew):
    outcome = playing.Play(crew, custom(kind="lie")).run()
    assert any("wrong result" in text for text in outcome.complaints)


def test_a_leak_is_seen(crew):
    outcome = playing.Play(crew, custom(kind="leak")).run()
    assert any("leaks" in text and "descriptors" in text for text in outcome.complaints)


def test_a_hang_is_seen(crew, monkeypatch):
    monkeypatch.setattr(playing, "MARGIN_S", 0.5)
    outcome = playing.Play(crew, custom(kind="hang")).run()
    assert "HANG" in outcome.complaints[0]


def test_an_innocent_death_is_seen(crew):
    fault = custom(kind="pause", victim=0)
    play = playing.Play(crew, fault)
    os.kill(play._hands[1].pid, 9)
    assert any("process of rank 1 has ended" in text for text in play.run().complaints)
