"""Which GPU is a rank's own: LOG-147. The expectations are physical devices, as the host counts."""

from __future__ import annotations

import sys
from collections import namedtuple
from types import SimpleNamespace

import pytest

from sparkdl_ring.errors import ConfigError, LaunchError
from sparkdl_ring.launch.device import (
    Choice,
    Grant,
    Seat,
    choose,
    granted_by_spark,
    host_gpus,
    identity,
    refuse_used_cuda,
    visible_in,
)

Info = namedtuple("Info", "address")
ALONE = Seat()
A, B = "GPU-aaaaaaaa-0000-1111-2222-333333333333", "GPU-bbbbbbbb-0000-1111-2222-333333333333"
MIG = "MIG-cccccccc-0000-1111-2222-333333333333"
UNTOLD = ("",) * 4


def chosen(mask, addresses, known=UNTOLD, near=ALONE, host=ALONE):
    environ = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    choice = choose(Grant(tuple(addresses), near, host), environ, known)
    return choice.gpu, choice.changes.get("CUDA_VISIBLE_DEVICES")


@pytest.mark.parametrize(
    ("mask", "addresses", "physical"),
    [("2,3", ["3"], "3"), (None, ["1"], "1"), ("3", ["3"], "3"), (" 2 , 3 ", ["2"], "2")],
)
def test_the_schedulers_number_is_the_hosts(mask, addresses, physical):
    assert chosen(mask, addresses) == (physical, physical)


def test_the_ranks_of_one_executor_take_its_gpus_in_turn():
    addresses = ["4", "5", "6", "7"]
    found = [chosen(None, addresses, ("",) * 8, near=Seat(i, 4), host=Seat(i, 4)) for i in range(4)]
    assert [gpu for gpu, _ in found] == addresses


def test_tasks_with_gpus_of_their_own_take_one_of_them():
    """Two for each task: whatever the place on the executor, it is one of the own ones."""
    assert chosen(None, ["0", "1"], near=Seat(0, 2))[0] == "0"
    assert chosen(None, ["2", "3"], near=Seat(1, 2))[0] == "3"


@pytest.mark.parametrize(
    ("mask", "address", "physical"),
    [
        (f"{A},{B}", B, (B, B)),
        (f"{A},{B}", "1", (B, B)),
        ("GPU-aaaa,GPU-bbbb", B, (B, "GPU-bbbb")),
        ("GPU-aaaa,GPU-bbbb", "0", (A, "GPU-aaaa")),
        ("0,1", B, (B, "1")),
        (None, "1", (B, "1")),
        (None, B, (B, B)),
        (MIG, MIG, (MIG, MIG)),
    ],
)
def test_uuids_and_numbers_are_one_device(mask, address, physical):
    assert chosen(mask, [address], (A, B)) == physical


def test_uuids_are_compared_where_the_driver_tells_none():
    assert chosen(f"{A},{B}", [B]) == (B, B)
    assert chosen("GPU-bbbb", [B]) == ("GPU-bbbb", "GPU-bbbb")
    with pytest.raises(ConfigError, match=r"GPU 1.*as far as the driver tells"):
        chosen(f"{A},{B}", ["1"])


@pytest.mark.parametrize(
    ("mask", "address"), [("2,3", "1"), ("2,3", "4"), ("", "0"), ("-1", "0"), ("2,-1,3", "3"), (A, B)]
)
def test_what_the_mask_hides_is_refused(mask, address):
    with pytest.raises(ConfigError, match=rf"GPU {address}.*CUDA_VISIBLE_DEVICES"):
        chosen(mask, [address])


def test_a_number_that_the_host_has_not_is_refused():
    with pytest.raises(ConfigError, match=r"GPU 4, but this host has 4 \(0 to 3\)"):
        chosen(None, ["4"])
    assert chosen(None, ["4"], ()) == ("4", "4")  # nothing is known of the host: the scheduler is believed


def test_an_address_that_cuda_does_not_know_is_refused():
    with pytest.raises(ConfigError, match=r"'0:1'.*MIG-<uuid>"):
        chosen(None, ["0:1"])


def test_a_number_counts_as_the_scheduler_counts():
    """nvidia-smi numbers by bus, CUDA by speed unless it is told; what the user set stays."""
    assert choose(Grant(("1",)), {}, UNTOLD).changes["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert "CUDA_DEVICE_ORDER" not in choose(Grant((A,)), {}, UNTOLD).changes
    own = {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    assert "CUDA_DEVICE_ORDER" not in choose(Grant(("1",)), own, UNTOLD).changes


def test_without_a_scheduler_ranks_take_the_visible_gpus_in_turn():
    four, second = Seat(1, 4), Seat(1, 2)
    assert chosen(None, [], (A, B, "", ""), near=ALONE, host=four) == (B, "1")
    assert chosen("2,3", [], near=second, host=four) == ("3", "3")
    assert chosen(f"{A},{B}", [], near=second, host=second) == (B, B)


def test_a_rank_alone_or_without_gpus_keeps_what_it_has():
    assert chosen(None, []) == ("", None)
    assert chosen("2,3", []) == ("", None)
    assert chosen(None, [], (), near=Seat(1, 2), host=Seat(1, 2)) == ("", None)
    assert chosen("", [], near=Seat(1, 2), host=Seat(1, 2)) == ("", None)


def test_too_few_gpus_without_a_scheduler_are_told_and_left_to_all(caplog):
    assert chosen("0", [], near=Seat(1, 2), host=Seat(1, 2)) == ("", None)
    assert "2 ranks see 1 GPU(s)" in caplog.text


def test_masks_are_read_as_cuda_reads_them():
    assert visible_in("2,3") == ["2", "3"]
    assert visible_in("2,-1,3") == ["2"]
    assert visible_in(f"{A}, {MIG},NoDevFiles,1") == [A, MIG]
    assert visible_in("") == visible_in("-1") == []


def test_names_become_whole_uuids_where_the_driver_tells_them():
    assert identity("1", (A, B)) == identity("GPU-bbbb", (A, B)) == B
    assert identity("2", (A, B)) == "2"
    assert identity("1", ("", "")) == "1"


def test_spark_tells_executor_and_host_of_each_task():
    """Two executors on one host, their tasks interleaved."""
    infos = [Info("h:1"), Info("h:2"), Info("h:1"), Info("g:1"), Info("h:2")]

    def context(rank, resources):
        return SimpleNamespace(
            partitionId=lambda: rank, getTaskInfos=lambda: infos, resources=lambda: resources
        )

    gpu = SimpleNamespace(addresses=["0", "1"])
    assert granted_by_spark(context(2, {"gpu": gpu})) == Grant(("0", "1"), Seat(1, 2), Seat(2, 4))
    assert granted_by_spark(context(3, {})) == Grant((), Seat(0, 1), Seat(0, 1))


def test_the_driver_tells_uuids_in_the_order_of_the_bus(tmp_path):
    for bus, uuid in (("0000:81:00.0", B), ("0000:01:00.0", A)):
        (tmp_path / "gpus" / bus).mkdir(parents=True)
        text = f"Model:\t\t Some GPU\nGPU UUID:\t {uuid}\nDevice Minor:\t 1\n"
        (tmp_path / "gpus" / bus / "information").write_text(text)
    assert host_gpus(tmp_path / "gpus", tmp_path) == (A, B)


def test_without_the_driver_gpus_are_counted(tmp_path):
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert host_gpus(tmp_path / "none", tmp_path) == ("", "")
    assert host_gpus(tmp_path / "none", tmp_path / "none") == ()


@pytest.fixture
def fake_torch(monkeypatch):
    def put(**facts):
        cuda = SimpleNamespace(**{name: lambda value=value: value for name, value in facts.items()})
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))

    return put


def test_a_mask_that_comes_too_late_is_refused(fake_torch):
    choice = Choice("3", {"CUDA_VISIBLE_DEVICES": "3"})
    fake_torch(is_initialized=False, _is_in_bad_fork=False)
    refuse_used_cuda(choice)
    fake_torch(is_initialized=True, _is_in_bad_fork=False)
    refuse_used_cuda(Choice())
    with pytest.raises(LaunchError, match="before GPU 3 was chosen"):
        refuse_used_cuda(choice)


def test_a_fork_of_a_process_that_used_cuda_is_refused(fake_torch):
    """LOG-150: is_initialized() says False there."""
    fake_torch(is_initialized=False, _is_in_bad_fork=True)
    with pytest.raises(LaunchError, match="fork"):
        refuse_used_cuda(Choice())
