"""Names of checkpoint files, and retention as a pure function."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.checkpoint.naming import expired, marked_epochs, marker_name, payload_name

A, B = "a" * 64, "b" * 64


def test_marked_epochs_come_newest_first_and_foreign_files_do_not_count():
    names = [marker_name(2), marker_name(10), payload_name(11, A), "notes.txt", "epoch-3.json"]
    assert marked_epochs(names) == [10, 2]


def test_the_newest_stay_and_markers_go_before_payloads():
    names = [f for e in range(4) for f in (payload_name(e, A), marker_name(e))]
    assert expired(names, keep=2) == [marker_name(0), marker_name(1), payload_name(0, A), payload_name(1, A)]


def test_a_payload_without_marker_and_a_replaced_one_are_left_overs():
    names = [payload_name(3, A), payload_name(3, B), marker_name(3), payload_name(4, A)]
    assert expired(names, keep=2, in_use=payload_name(3, B)) == [payload_name(3, A), payload_name(4, A)]


def test_foreign_files_are_left_alone():
    assert expired(["notes.txt", marker_name(1), payload_name(1, A)], keep=1) == []


@given(st.sets(st.integers(0, 10**6)), st.integers(1, 5))
def test_exactly_the_newest_survive(epochs, keep):
    names = [f for e in epochs for f in (payload_name(e, A), marker_name(e))]
    left = set(names) - set(expired(names, keep))
    newest = sorted(epochs)[-keep:]
    assert left == {f for e in newest for f in (payload_name(e, A), marker_name(e))}
