"""The younger collectives on every transport: alltoall, grouped, scaled, groups of ranks, and the records."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from sparkdl_ring.comm import Communicator, Compression, in_process
from sparkdl_ring.config import CommConfig
from sparkdl_ring.errors import CollectiveError, ConfigError, MismatchError


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_alltoall_deals_uneven_rows(make_ring, size):
    def play(comm: Communicator) -> Any:
        splits = [comm.rank + peer for peer in range(size)]  # row p*100 + r goes from r to p
        rows = np.repeat([100 * peer + comm.rank for peer in range(size)], splits)
        even = comm.alltoall(torch.arange(2 * size) + 10 * comm.rank)
        return comm.alltoall(np.stack([rows, -rows], axis=1), splits, name="rows"), even

    for rank, ((got, coming), (even, counts)) in enumerate(make_ring(size).each(play)):
        counts_from = [peer + rank for peer in range(size)]
        expected = np.repeat([100 * rank + peer for peer in range(size)], counts_from)
        np.testing.assert_array_equal(got, np.stack([expected, -expected], axis=1))
        assert coming == counts_from
        assert even.tolist() == [10 * p + 2 * rank + i for p in range(size) for i in range(2)]
        assert counts == [2] * size


def test_alltoall_of_other_rows_is_a_mismatch(make_ring):
    failures = make_ring(2).failures(lambda c: c.alltoall(np.ones((2, 1 + c.rank))))
    assert all(isinstance(f, MismatchError) for f in failures), failures


@pytest.mark.parametrize("size", [1, 2, 3])
def test_grouped_allreduce_equals_single_ones(make_ring, size):
    shapes = [
        ((3,), "float32"),
        ((0,), "float32"),
        ((2, 5), "float32"),
        ((200_000,), "float32"),
        ((4,), "int64"),
    ]

    def play(comm: Communicator) -> Any:
        arrays = [np.full(shape, comm.rank + i + 1, dtype) for i, (shape, dtype) in enumerate(shapes)]
        strided = np.full((4, 3), 1.0 + comm.rank).T
        fresh = comm.grouped_allreduce([*arrays, strided, torch.tensor(2.0)], "sum", name="grads")
        single = [comm.allreduce(a, "sum") for a in [*arrays, strided]]
        assert comm.grouped_allreduce_(arrays, "sum") is arrays
        return fresh, [*single], arrays

    for fresh, single, arrays in make_ring(size).each(play):
        for a, b in zip(fresh[:-1], single, strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(arrays, single[:-1], strict=True):
            np.testing.assert_array_equal(a, b)
        assert float(fresh[-1]) == 2.0 * size


def test_grouped_members_that_differ_are_a_mismatch(make_ring):
    failures = make_ring(2).failures(
        lambda c: c.grouped_allreduce([np.ones(2 + c.rank), np.ones(3 - c.rank)])
    )
    assert all(isinstance(f, MismatchError) for f in failures), failures


def test_reducescatter_in_place_leaves_the_own_part(make_ring):
    def play(comm: Communicator) -> Any:
        data = np.arange(10.0).reshape(5, 2) + comm.rank
        part = comm.reducescatter_(data, "sum")
        assert np.shares_memory(part, data)
        return part

    parts = make_ring(2).each(play)
    np.testing.assert_array_equal(np.concatenate(parts), 2 * np.arange(10.0).reshape(5, 2) + 1)


def test_groups_of_ranks(make_ring):
    def play(comm: Communicator) -> Any:
        pair = comm.new_group([2, 0], name="pair")
        low = comm.new_group([0, 1])
        found: dict[str, Any] = {"none": (pair is None, low is None)}
        if pair is not None:
            found["pair"] = (pair.rank, pair.size, pair.allgather(np.array([comm.rank])).tolist())
            assert (pair.world.local_rank, pair.world.local_size) == (pair.rank, 2)
            inner = pair.new_group([1])
            found["inner"] = inner is not None and float(inner.allreduce(np.array(5.0)))
        if low is not None:
            found["low"] = low.broadcast_object(comm.rank, root=1)
            low.close()  # says nothing to the ring
        found["world"] = float(comm.allreduce(np.array(1.0), "sum"))
        return found

    assert make_ring(3).each(play) == [
        {"none": (False, False), "pair": (1, 2, [2, 0]), "inner": 5.0, "low": 1, "world": 3.0},
        {"none": (True, False), "low": 1, "world": 3.0},
        {"none": (False, True), "pair": (0, 2, [2, 0]), "inner": False, "world": 3.0},
    ]


def test_blocking_and_submitted_calls_keep_their_order(make_ring):
    def play(comm: Communicator) -> Any:
        value, other = np.ones(1), np.ones(100_000)
        for _ in range(10):
            works = [comm.allreduce_async_(value, "sum"), comm.allreduce_async_(other, "mean")]
            comm.allreduce_(value, "mean")  # after the sum
            assert all(work.done() for work in works)
        return float(value[0])

    assert make_ring(2).each(play) == [2.0**10] * 2


def received_bytes() -> dict[str, int]:
    """What the kernel has delivered to each TCP socket of this process, by socket."""
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            name = str(entry.readlink())
            if not name.startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry.name))) as copy:
                info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136)
        except OSError:  # closed meanwhile, or no TCP
            continue
        if len(info) == 136:
            found[name] = int(struct.unpack_from("Q", info, 128)[0])  # tcpi_bytes_received
    return found


def test_stats_and_recent_tell_what_was_done(make_ring, transport):
    """Two ranks exchange their values once: 32 bytes each way behind a header, as the kernel counts."""
    header_bytes = 248
    ring = make_ring(2)
    ring.each(lambda comm: comm.barrier())
    before = received_bytes()
    ring.each(lambda comm: comm.allreduce(np.ones(8, np.float32), name="loss"))
    after = received_bytes()
    on_wire = sum(after[name] - count for name, count in before.items() if name in after)
    assert on_wire == (2 * (header_bytes + 32) if transport == "tcp" else 0)
    for stats, recent in ring.each(lambda comm: (comm.stats(), comm.recent())):
        assert (stats["allreduce"]["calls"], stats["allreduce"]["bytes"]) == (1, 32)
        wired = {stats["allreduce"][way] for way in ("wire_sent_bytes", "wire_received_bytes")}
        assert wired == {32 if transport == "tcp" else 0}
        assert [(row["kind"], row["label"], row["state"]) for row in recent] == [
            ("barrier", "", "done"),
            ("allreduce", "loss", "done"),
        ]
        assert all(row["inline"] and row["end_ns"] >= row["start_ns"] for row in recent)


def test_an_abort_tells_the_last_collective_of_who_gave_up(make_ring):
    def play(comm: Communicator) -> None:
        comm.barrier(name="epoch 3")
        if comm.rank == 1:
            comm.abort("ValueError: bad row")
        else:
            comm.allreduce(np.ones(10))

    failures = make_ring(2).failures(play)
    assert "barrier #1 'epoch 3'" in str(failures[0])
    assert "bad row" in str(failures[0])


def test_a_dead_ring_still_tells_its_last_operations(make_ring):
    def play(comm: Communicator) -> Any:
        with pytest.raises(CollectiveError):
            comm.barrier(name=f"rank {comm.rank}")
        comm.close()
        return comm.recent()[-1]

    for rank, last in enumerate(make_ring(2).each(play)):
        assert (last["label"], last["state"]) == (f"rank {rank}", "failed")


def test_traces_are_chromes(tmp_path):
    """By a block, and by the setting."""
    comm = in_process(1, CommConfig(timeline=str(tmp_path / "all")))[0]
    with comm.trace(tmp_path / "block.json"):
        comm.allreduce(np.ones(4), name="in")
    comm.close()
    events = json.loads((tmp_path / "block.json").read_text())["traceEvents"]
    assert [e["name"] for e in events] == ["process_name", "allreduce in"]
    assert events[1]["args"]["bytes"] == 32
    assert events[1]["dur"] >= 0
    assert len(list((tmp_path / "all").iterdir())) == 1


def test_many_threads_may_share_a_ring_of_one():
    with in_process(1)[0] as comm:
        wrong: list[object] = []

        def play() -> None:
            for _ in range(50):
                if float(comm.allreduce(np.array(2.0))) != 2.0:
                    wrong.append(1)

        threads = [threading.Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_splits_must_fit():
    with in_process(1)[0] as comm, pytest.raises(ConfigError, match="do not deal"):
        comm.alltoall(np.ones(3), [-1])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_arrays_in_shared_memory_are_reduced_as_any_other(make_ring, size):
    def play(comm: Communicator) -> Any:
        shared = comm.empty((300, 500), "float32")
        flags, nothing = comm.empty(3, bool), comm.empty((0, 2))
        shared[:] = comm.rank + 1
        comm.allreduce_(shared, "sum")
        part = comm.allreduce(shared[10:20], "max")
        comm.allreduce_(shared[0, :], "mean")
        return shared, part, flags.dtype, nothing.shape

    total = size * (size + 1) / 2
    kept = make_ring(size).each(play)
    for shared, part, flags, nothing in kept:
        assert (shared == total).all()
        assert (part == total).all()
        assert (flags, nothing) == (np.dtype(bool), (0, 2))


def test_shared_memory_outlives_its_communicator(make_ring):
    ring = make_ring(2)
    arrays = ring.each(lambda c: c.empty(100_000, "int64"))
    ring.close()
    for rank, array in enumerate(arrays):
        array[:] = rank
        assert int(array.sum()) == 100_000 * rank


def test_foreign_memory_can_be_adopted_and_given_back(make_ring):
    def play(comm: Communicator) -> Any:
        data = np.full(200_000, comm.rank + 1.0)
        place = data.ctypes.data
        adopted = comm.adopt(data)
        comm.allreduce_(data, "sum")
        if adopted:
            with pytest.raises(ConfigError, match="adopted already"):
                comm.adopt(data)
            comm.release(data)
        comm.allreduce_(data, "sum")
        assert data.ctypes.data == place
        with pytest.raises(ConfigError, match="not adopted"):
            comm.release(data)
        return float(data[0]), bool((data == data[0]).all())

    assert make_ring(2).each(play) == [(6.0, True)] * 2


def test_parts_of_adopted_memory_are_summed_rightly(make_ring):
    """Adopting a slice of an adopted array once took the pages away from beneath the whole."""

    def play(comm: Communicator) -> Any:
        data = np.full(400_000, 1.0)
        inner = data[100_000:300_000]
        comm.adopt(data)
        inner_too = comm.adopt(inner)
        comm.allreduce_(data, "sum")
        whole = np.unique(data).tolist()
        comm.allreduce_(inner, "sum")
        if inner_too:
            comm.release(inner)
        comm.allreduce_(data, "sum")
        return whole, np.unique(inner).tolist(), np.unique(data[:100_000]).tolist()

    assert make_ring(2).each(play) == [([2.0], [8.0], [4.0])] * 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_factors_before_and_after(make_ring, size, dtype):
    """LOG-098: the same for a world of one."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)

    def play(comm: Communicator) -> Any:
        x = np.array([2.0, 4.0, 8.0], kind)
        group = comm.grouped_allreduce([x, x[:1]], "sum", prescale=0.5, postscale=2.0)
        return (
            comm.allreduce(x, "sum", prescale=0.5),
            comm.allreduce(x, "mean", prescale=0.5, postscale=4.0),
            comm.allreduce(x, "max", postscale=0.25),
            comm.reducescatter(np.tile(x, (comm.size, 1)), "sum", prescale=0.5)[0],
            *group,
        )

    base = np.array([2.0, 4.0, 8.0])
    expected = [size * base / 2, base * 2, base / 4, size * base / 2, size * base, size * base[:1]]
    for results in make_ring(size).each(play):
        for got, wanted in zip(results, expected, strict=True):
            assert got.dtype == kind
            np.testing.assert_array_equal(got.astype(np.float64), wanted)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_compression_rounds_and_error_feedback_makes_up_for_it(make_ring, size):
    def play(comm: Communicator) -> Any:
        exact = np.linspace(0.0, 1.0, 5000, dtype=np.float32) + comm.rank
        once = comm.allreduce(exact, "mean", compress="bf16")
        keep = Compression("bf16")
        total = np.zeros(exact.shape)
        for _ in range(64):
            total += comm.allreduce(exact, "mean", name="g", compress=keep)
        return once, total / 64

    truth = np.mean([np.linspace(0.0, 1.0, 5000) + rank for rank in range(size)], axis=0)
    for once, average in make_ring(size).each(play):
        assert np.abs(once - truth).max() <= 2.0**-7 * size
        assert np.abs(average - truth).max() <= np.abs(once - truth).max() + 1e-6
