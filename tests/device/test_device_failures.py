"""What goes wrong with devices: every rank raises one typed error, soon, and no process is left."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.multi
STAGED = {"SPARKDL_RING_COMM_DEVICE": "staged"}


@pytest.mark.parametrize("way", [{}, STAGED], ids=["nccl", "staged"])
def test_a_killed_rank_is_named_by_all(run_ranks, way):
    reports = run_ranks("killed", 3, way)
    assert reports[1]["exit"] == -9
    for report in (reports[0], reports[2]):
        assert (report.get("kind"), report.get("blamed")) == ("PeerLostError", 1), report


@pytest.mark.parametrize("way", [{}, STAGED], ids=["nccl", "staged"])
def test_an_abort_reaches_every_rank(run_ranks, way):
    for report in run_ranks("aborted", 3, way):
        assert report.get("kind") == "CollectiveError", report
        assert "had enough" in report["text"]
        assert report["blamed"] == 1


@pytest.mark.parametrize("way", [{}, STAGED], ids=["nccl", "staged"])
def test_ranks_that_disagree_get_a_mismatch(run_ranks, way):
    for report in run_ranks("mismatch", 2, way):
        assert report.get("kind") == "MismatchError", report
        assert "float32 x 2" in report["text"]
        assert "float32 x 3" in report["text"]


def test_host_memory_here_and_a_device_there_is_a_mismatch(run_ranks):
    for report in run_ranks("host_and_device"):
        assert report.get("kind") == "MismatchError", report


def test_an_error_in_the_background_of_one_rank_ends_all(run_ranks):
    reports = run_ranks("twice", 3, by_rank={1: {"FAKE_NCCL_FAIL": "AllReduce:2:1:async"}})
    for report in reports:
        assert report.get("kind") == "CollectiveError", report
        assert report["blamed"] == 1
        assert "unhandled cuda error" in report["text"]
        assert "cuda:1" in report["text"]


def test_an_echo_of_a_remote_error_gives_way_to_the_first_cause(run_ranks):
    by_rank = {0: {"FAKE_NCCL_FAIL": "AllReduce:2:6:async"}, 1: {"FAKE_NCCL_FAIL": "AllReduce:2:3:async"}}
    for report in run_ranks("twice", 2, by_rank=by_rank):
        assert "internal error" in report["text"], report
        assert report["blamed"] == 1


def test_a_rank_whose_init_fails_ends_all(run_ranks):
    reports = run_ranks("twice", 2, by_rank={1: {"FAKE_NCCL_FAIL": "CommInitRankConfig:1:2"}})
    for report in reports:
        assert report.get("kind") == "CollectiveError", report
        assert "unhandled system error" in report["text"]


def test_an_init_that_hangs_ends_by_its_deadline(run_ranks):
    common = {"SPARKDL_RING_COMM_CONNECT_TIMEOUT_S": "3"}
    reports = run_ranks("twice", 2, common, {1: {"FAKE_NCCL_HANG": "CommInitRankConfig"}})
    for report in reports:
        assert report.get("kind") in ("RendezvousTimeoutError", "CollectiveError"), report
        assert "NCCL" in report["text"]


def test_other_versions_of_nccl_on_the_ranks_are_staged(run_ranks):
    reports = run_ranks("every_collective", 2, by_rank={1: {"FAKE_NCCL_VERSION": "22107"}})
    for report in reports:
        assert "has NCCL 2.21.7, rank 0" in report["reasons"][0], report


def test_nccl_that_must_be_but_cannot(run_ranks):
    common = {"SPARKDL_RING_COMM_DEVICE": "nccl", "SPARKDL_RING_COMM_NCCL_PATH": "/nowhere/libnccl.so.2"}
    for report in run_ranks("twice", 2, common):
        assert report.get("kind") == "ConfigError", report
        assert "which cannot be" in report["text"]
        assert "/nowhere/libnccl.so.2" in report["text"]
