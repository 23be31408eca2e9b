"""Collectives on arrays in device memory, ranks as processes, through the real dlopen of fake libraries."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.multi

STAGED = {"SPARKDL_RING_COMM_DEVICE": "staged"}
SLOW = {"FAKE_CUDA_DELAY_US": "200", "FAKE_NCCL_SLOW": "2"}


@pytest.mark.parametrize("way", [{}, SLOW, STAGED], ids=["nccl", "nccl slow", "staged"])
def test_every_collective(run_ranks, way):
    size = 3
    reports = run_ranks("every_collective", size, way)
    rows = [[float(r), float(r)] for r in range(size) for _ in range(r + 1)]
    for rank, report in enumerate(reports):
        assert report.get("values"), report
        part = [[0.0, 3.0, 6.0], [9.0, 12.0, 15.0], [18.0, 21.0]][rank]
        assert report["values"] == [[1.0, 2.0], [6], [1, 3], [1, 1], [2.0], rows, part]
        assert ("staged" if way is STAGED else "NCCL 2.32.3 (setting: ") in report["reasons"][0]


def test_tensors_bring_the_stream_of_their_framework(run_ranks):
    for report in run_ranks("tensors"):
        assert report.get("values") == [[3.0] * 3] * 2, report
        assert report["done"]
        for host, device in report["refused"]:  # LOG-083: one table of types for both paths
            assert host == device
            assert "dtype" in host


def test_ranks_that_share_a_device_are_staged_and_say_so_once(run_ranks):
    reports = run_ranks("every_collective", 2, {"DEVICE": "0"})
    for report in reports:
        assert "share one GPU" in report["reasons"][0]
        assert report["stderr"].count("share one GPU") == 1


def test_a_device_may_be_set_up_again_and_again_without_a_trace(run_ranks):
    for report in run_ranks("again_and_again"):
        assert report["threads"][-1] <= report["threads"][1] + 1, report


def test_a_forked_child_is_refused_and_harms_nothing(run_ranks):
    for report in run_ranks("forked"):
        assert report.get("child") == 1, report
