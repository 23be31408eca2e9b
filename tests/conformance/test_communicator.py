"""One suite of collective semantics, run over every transport; ranks are threads."""

from __future__ import annotations

import array
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import psutil
import pytest
import torch
from rings import connected

from sparkdl_ring.comm import Communicator
from sparkdl_ring.errors import CollectiveError, ConfigError, MismatchError, PeerLostError

DTYPES = ["float32", "float64", "float16", "bfloat16", "int32", "int64", "int16", "uint16", "uint64"]
REDUCERS = {"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "product": np.prod}
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-6, "float64": 1e-14}


def values(dtype: str, count: int, rank: int) -> np.ndarray:
    """Small numbers, different in every place and on every rank, that products do not overflow."""
    drawn = np.random.default_rng(1000 + rank).integers(1, 5, count)
    return drawn.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def close_to(result: Any, expected: np.ndarray, dtype: str) -> None:
    got = np.asarray(result).astype(np.float64)
    if "int" in dtype:
        expected = np.trunc(expected)
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE.get(dtype, 0), atol=0)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_allreduce_equals_a_float64_reference(make_ring, size):
    ring = make_ring(size)
    for dtype in DTYPES:
        for op, reducer in REDUCERS.items():
            for count in (0, 1, 3, 1000):
                results = ring.each(lambda c, d=dtype, o=op, n=count: c.allreduce(values(d, n, c.rank), o))
                stacked = np.stack([values(dtype, count, r).astype(np.float64) for r in range(size)])
                for result in results:
                    assert result.dtype == values(dtype, 0, 0).dtype
                    close_to(result, reducer(stacked, axis=0), dtype)


@pytest.mark.parametrize("size", [2, 3])
def test_large_odd_counts(make_ring, size):
    count = 1_000_007
    ring = make_ring(size)
    results = ring.each(lambda c: c.allreduce(values("float32", count, c.rank), "sum"))
    expected = sum(values("float64", count, r) for r in range(size))
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("size", [1, 2])
def test_strided_input_is_reduced_in_its_own_memory(make_ring, size):
    """LOG-089: a transposed view, a column slice and channels-last memory, in place and out of place."""

    def play(comm):
        base = np.arange(6.0).reshape(2, 3) + 10 * comm.rank
        fresh = comm.allreduce(base.T)
        comm.allreduce_(base.T)
        wide = np.arange(12.0).reshape(4, 3) + 10 * comm.rank
        comm.allreduce_(wide[:, 0])
        image = torch.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
        image = image + 10 * comm.rank
        comm.allreduce_(image)
        return fresh, base.T, wide, image

    shift = 5 * (size - 1)
    expected = np.array([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]) + shift
    for rank, (fresh, view, wide, image) in enumerate(make_ring(size).each(play)):
        np.testing.assert_array_equal(fresh, expected)
        np.testing.assert_array_equal(view, expected)
        assert view.strides == (8, 24)
        untouched = np.arange(12.0).reshape(4, 3) + 10 * rank
        np.testing.assert_array_equal(wide[:, 1:], untouched[:, 1:])
        np.testing.assert_array_equal(wide[:, 0], np.arange(0.0, 12.0, 3.0) + shift)
        assert image.is_contiguous(memory_format=torch.channels_last)
        np.testing.assert_array_equal(image.numpy(), np.arange(24.0).reshape(1, 2, 3, 4) + shift)


def test_async_in_place_on_strided_memory(make_ring):
    def play(comm):
        arrays = [(np.arange(6.0).reshape(2, 3) + comm.rank * (i + 1)).T for i in range(5)]
        works = [comm.allreduce_async_(a, "sum", name=f"a{i}") for i, a in enumerate(arrays)]
        for work in reversed(works):
            work.wait()
        assert all(work.done() for work in works)
        return arrays

    for arrays in make_ring(2).each(play):
        for i, result in enumerate(arrays):
            np.testing.assert_array_equal(result, (2 * np.arange(6.0).reshape(2, 3) + i + 1).T)


def test_scalars_keep_their_shape(make_ring):
    """LOG-092."""

    def play(comm):
        x = np.array(comm.rank + 0.5)
        return comm.allreduce(x), comm.allgather(x), comm.broadcast(x, 1), comm.allreduce(torch.tensor(x))

    for mean, gathered, sent, tensor in make_ring(2).each(play):
        assert (mean.shape, float(mean)) == ((), 1.0)
        np.testing.assert_array_equal(gathered, [0.5, 1.5])
        assert (sent.shape, float(sent)) == ((), 1.5)
        assert (tuple(tensor.shape), float(tensor)) == ((), 1.0)


def test_sixteen_bit_sums_are_taken_in_float32(make_ring):
    """LOG-082: 256 and seven ones; the mean does not depend on who holds the large one."""
    ring = make_ring(8)
    for holder in range(8):
        results = ring.each(
            lambda c, h=holder: c.allreduce(
                torch.tensor([256.0 if c.rank == h else 1.0], dtype=torch.bfloat16)
            )
        )
        assert [float(r) for r in results] == [33.0] * 8  # 263 / 8, rounded once; in bfloat16 it were 32


def test_compressed_values_are_averaged_after_they_have_travelled(make_ring, transport):
    """LOG-084: what float16 cannot hold becomes infinite, on all ranks; on one host nothing travels."""

    def play(comm):
        x = np.array([1.0 if comm.rank == 0 else 1e-4, 70_000.0, 70_000.0 * comm.rank], np.float32)
        return comm.allreduce(x, "mean", compress="fp16")

    for result in make_ring(2).each(play):
        assert result.dtype == np.float32
        assert 0.5 <= result[0] <= 0.5001
        beyond = [np.inf, np.inf] if transport == "tcp" else [70_000.0, 35_000.0]
        assert result[1:].tolist() == beyond


def test_every_kind_of_array_comes_back_as_it_was_given(make_ring):
    def play(comm):
        tensor = comm.allreduce(torch.ones(3, dtype=torch.bfloat16) * (comm.rank + 1), "sum")
        given = array.array("d", [1.0, 2.0])
        comm.allreduce_(given, "sum")
        out = np.zeros(2)
        assert comm.allreduce(given, "max", out=out) is out
        return tensor, given, out, comm.allreduce(np.float64(2.0), "product")

    for tensor, given, out, scalar in make_ring(2).each(play):
        assert tensor.dtype is torch.bfloat16
        assert tensor.tolist() == [3.0, 3.0, 3.0]
        assert list(given) == [2.0, 4.0] == out.tolist()
        assert float(scalar) == 4.0


def test_gathered_rows_may_differ(make_ring):
    def play(comm):
        rows = np.full((2 * comm.rank, 3), comm.rank, np.int64)
        flags = np.array([comm.rank == 1])
        return comm.allgather(rows), comm.allgather(flags), comm.allgather(np.uint8([comm.rank] * 3)[::2])

    for rows, flags, octets in make_ring(3).each(play):
        np.testing.assert_array_equal(rows, np.repeat([[1] * 3, [2] * 3], [2, 4], axis=0))
        assert flags.tolist() == [False, True, False]
        assert octets.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("rows", [0, 1, 5, 6])
def test_reducescatter_deals_larger_parts_first(make_ring, rows):
    def play(comm):
        return comm.reducescatter(np.arange(rows * 2.0).reshape(rows, 2) + comm.rank, "sum")

    parts = make_ring(3).each(play)
    assert [len(p) for p in parts] == [len(p) for p in np.array_split(np.arange(rows), 3)]
    np.testing.assert_array_equal(np.concatenate(parts), 3 * np.arange(rows * 2.0).reshape(rows, 2) + 3)


def test_broadcast_from_every_root(make_ring):
    def play(comm):
        parameter = torch.nn.Parameter(torch.full((2, 2), float(comm.rank)))
        comm.broadcast_(parameter, root=2)
        strided = np.full((3, 2), comm.rank, np.float32).T
        comm.broadcast_(strided, root=1)
        frozen = np.array([comm.rank])
        frozen.flags.writeable = comm.rank != 0
        comm.broadcast_(frozen, root=0)
        return parameter.detach().numpy(), strided, frozen

    for parameter, strided, frozen in make_ring(3).each(play):
        assert (parameter == 2).all()
        assert (strided == 1).all()
        assert frozen.tolist() == [0]


def test_objects(make_ring):
    for everyone, text in make_ring(3).each(play_objects):
        assert [item["rank"] for item in everyone] == [0, 1, 2]
        assert everyone[2]["f"](1) == 3
        assert text == "xxx"


def play_objects(comm):
    rank = comm.rank
    everyone = comm.allgather_object({"rank": rank, "f": lambda x: x + rank})
    return everyone, comm.broadcast_object("x" * 3 if rank == 1 else threading.Lock(), root=1)


@pytest.mark.parametrize("size", [1, 2])
def test_what_cannot_be_used_is_refused_before_anything_is_sent(make_ring, size):
    """LOG-083, LOG-098: the same checks for one rank as for many, and the ring works on afterwards."""
    read_only = np.ones(3)
    read_only.flags.writeable = False
    graph = torch.ones(3, requires_grad=True) * 2
    refused: dict[str, Callable[[Communicator], Any]] = {
        "float8_e5m2": lambda c: c.allreduce(np.ones(3, ml_dtypes.float8_e5m2)),
        "complex64": lambda c: c.allreduce(torch.ones(3, dtype=torch.complex64)),
        "float8_e4m3 is not supported": lambda c: c.broadcast(np.ones(3, ml_dtypes.float8_e4m3)),
        "bool": lambda c: c.allreduce(np.ones(3, bool)),
        "object": lambda c: c.allgather(np.array([None])),
        "big-endian": lambda c: c.allreduce(np.ones(3, ">f8")),
        r"\[\('a'": lambda c: c.allreduce(np.ones(3, [("a", "f4"), ("b", "f4")])),
        "datetime64": lambda c: c.allgather(np.array(["2020-01-01"], "M8[D]")),
        "masked": lambda c: c.allreduce(np.ma.masked_array([1.0], [True])),
        "read-only": lambda c: c.allreduce_(read_only),
        "share memory": lambda c: c.allreduce_(torch.ones(1).expand(3)),
        "autograd": lambda c: c.allreduce_(graph),
        "list": lambda c: c.allreduce([1.0, 2.0]),
        "operation 'avg'": lambda c: c.allreduce(np.ones(3), "avg"),
        "root 3": lambda c: c.broadcast(np.ones(3), root=3),
        "int32 cannot be scaled": lambda c: c.allreduce(np.ones(3, np.int32), "sum", prescale=0.5),
        "must be finite": lambda c: c.allreduce(np.ones(3), prescale=float("inf")),
        "float64 cannot travel as": lambda c: c.allreduce(np.ones(3), compress="bf16"),
        "compress='zip'": lambda c: c.allreduce(np.ones(3, np.float32), compress="zip"),
        "int64 cannot be scaled": lambda c: c.grouped_allreduce([np.ones(3, int)], prescale=0.5),
        "do not deal 3 rows": lambda c: c.alltoall(np.ones(3), [1] * c.size + [1]),
        "axis to deal": lambda c: c.alltoall(np.array(1.0)),
        "rank 7 is outside": lambda c: c.new_group([7]),
        "given twice": lambda c: c.new_group([0, 0]),
        "out has": lambda c: c.allreduce(np.ones(3), out=np.ones(4)),
        "axis": lambda c: c.reducescatter(np.array(1.0)),
    }
    ring = make_ring(size)
    for text, call in refused.items():
        with pytest.raises(ConfigError, match=text):
            ring.each(call)
    assert [float(r) for r in ring.each(lambda c: c.allreduce(np.array(1.0), "sum"))] == [size] * size


@pytest.mark.parametrize(
    ("zero", "other"),
    [
        (np.ones((2, 3)), np.ones((3, 2))),
        (np.ones((100, 4)), np.ones((200, 4))),
        (np.ones(1), np.ones(2)),
        (np.ones(4, np.float32), np.ones(4, np.float64)),
    ],
)
def test_ranks_that_disagree_all_get_a_mismatch(make_ring, zero, other):
    """LOG-093: all ranks name both sides, nothing is half written, and the ring is closed."""

    def play(comm):
        mine = (zero if comm.rank == 0 else other).copy()
        with pytest.raises(MismatchError) as caught:
            comm.allreduce(mine, name="grad")
        with pytest.raises(CollectiveError):
            comm.barrier()
        return str(caught.value), mine

    for (text, mine), given in zip(make_ring(2).each(play), (zero, other), strict=True):
        for rank, side in enumerate((zero, other)):
            label = f"grad {side.shape}" if side.ndim > 1 else "grad"
            assert f"rank {rank} on " in text
            assert f"'{label}' ({side.dtype} x {side.size}, mean)" in text
        np.testing.assert_array_equal(mine, given)


def test_different_names_are_a_mismatch(make_ring):
    failures = make_ring(2).failures(lambda c: c.allreduce(np.ones(3), name=f"layer{c.rank}"))
    assert all(isinstance(f, MismatchError) for f in failures), failures


def test_gathered_shapes_that_disagree_are_a_mismatch(make_ring):
    failures = make_ring(2).failures(lambda c: c.allgather(np.ones((2, 3 + c.rank))))
    assert all(isinstance(f, MismatchError) for f in failures), failures


def test_an_abort_reaches_all_peers_with_its_reason(make_ring):
    def play(comm):
        if comm.rank == 1:
            comm.abort("ValueError: bad row")
            return
        comm.allreduce(np.ones(1000))

    failures = make_ring(3).failures(play)
    for rank in (0, 2):
        assert isinstance(failures[rank], CollectiveError), failures
        assert failures[rank].rank == 1
        assert "bad row" in str(failures[rank])


def test_a_rank_that_leaves_is_missed_at_once(make_ring):
    def play(comm):
        if comm.rank == 1:
            comm.close()
            return
        comm.barrier()

    failures = make_ring(2).failures(play)
    assert isinstance(failures[0], PeerLostError), failures
    assert failures[0].rank == 1


def test_connecting_again_and_again_never_fails(transport, tmp_path):
    """LOG-108: four ranks of one host, fifty times; ports are never guessed."""
    for attempt in range(50):
        ring = connected(transport, 4, tmp_path / str(attempt))
        try:
            assert ring.each(lambda c: int(c.allreduce(np.array(c.rank), "sum"))) == [6] * 4
        finally:
            ring.close()


@pytest.mark.slow
@pytest.mark.skipif(psutil.virtual_memory().available < 6 << 30, reason="needs 6 GB of memory")
def test_more_than_two_gigabytes(make_ring):
    """LOG-096: offsets are counted in 64 bits, in what is moved and in what is reduced."""
    count = 2**31 + 8
    marks = [0, 2**31 - 1, 2**31, count - 1]
    ring = make_ring(2)

    def play(comm):
        data = np.zeros(count, np.uint8)
        if comm.rank == 0:
            data[marks] = [1, 2, 3, 4]
        comm.broadcast_(data, timeout_s=100)
        moved = data[marks].tolist(), int(np.count_nonzero(data))
        comm.allreduce_(data, "sum", timeout_s=100)
        return moved, data[marks].tolist(), int(np.count_nonzero(data))

    expected = (([1, 2, 3, 4], 4), [2, 4, 6, 8], 4)
    assert [future.result(timeout=110) for future in ring.start(play)] == [expected] * 2
