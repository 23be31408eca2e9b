"""Every collective of the native module over every transport, against a float64 reference.

Work is asynchronous, so one test thread submits for all ranks and then waits.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from sparkdl_ring import _native
from sparkdl_ring.errors import (
    CollectiveError,
    CollectiveTimeoutError,
    ConfigError,
    MismatchError,
    PeerLostError,
    RendezvousTimeoutError,
)

Array = npt.NDArray[np.generic]
Group = list[_native.Communicator]

TRANSPORTS = ("inproc", "shm", "tcp")
SIZES = (1, 2, 3, 4)
COUNTS = (0, 1, 3, 1000)
LARGE = 1_000_007
TIMEOUT_S = 60.0

DTYPES: dict[str, tuple[int, np.dtype[np.generic]]] = {
    "uint8": (0, np.dtype(np.uint8)),
    "int32": (1, np.dtype(np.int32)),
    "int64": (2, np.dtype(np.int64)),
    "float16": (3, np.dtype(np.float16)),
    "bfloat16": (4, np.dtype(ml_dtypes.bfloat16)),
    "float32": (5, np.dtype(np.float32)),
    "float64": (6, np.dtype(np.float64)),
    "bool": (7, np.dtype(np.bool_)),
    "int8": (8, np.dtype(np.int8)),
    "int16": (9, np.dtype(np.int16)),
    "uint16": (10, np.dtype(np.uint16)),
    "uint32": (11, np.dtype(np.uint32)),
    "uint64": (12, np.dtype(np.uint64)),
    "float8_e4m3fn": (13, np.dtype(ml_dtypes.float8_e4m3fn)),
    "float8_e5m2": (14, np.dtype(ml_dtypes.float8_e5m2)),
}
MOVED = ("bool", "float8_e4m3fn", "float8_e5m2")
REDUCIBLE = [name for name in DTYPES if name not in MOVED]
OPS = {"sum": 0, "mean": 1, "min": 2, "max": 3, "product": 4}
# Half a unit in the last place; float32 and float64 are rounded at each of up to three steps of the ring.
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-22, "float64": 2.0**-51}
REFERENCE: dict[str, Callable[..., npt.NDArray[np.float64]]] = {
    "sum": np.sum,
    "mean": np.mean,
    "min": np.min,
    "max": np.max,
    "product": np.prod,
}


def connect(size: int, transport: str) -> Group:
    """A group of ``size`` ranks in this process."""
    if transport == "inproc":
        return _native.inproc_group(size)
    listeners = [_native.Listener("127.0.0.1", transport) for _ in range(size)]
    addresses = [listener.address for listener in listeners]
    secret = secrets.token_bytes(32)
    with ThreadPoolExecutor(size) as pool:
        meetings = [
            pool.submit(listener.connect, rank, addresses, "run", 0, secret, TIMEOUT_S)
            for rank, listener in enumerate(listeners)
        ]
        return [meeting.result() for meeting in meetings]


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=SIZES)
def group(request: pytest.FixtureRequest, transport: str) -> Iterator[Group]:
    ranks = connect(request.param, transport)
    yield ranks
    for rank in ranks:
        rank.close()


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def values(name: str, op: str, rank: int, count: int) -> Array:
    """Values that differ by rank and index and are exact in the dtype; products stay small."""
    mixed = np.arange(count, dtype=np.int64) * 5 + rank * 3
    if name == "bool":
        return (mixed % 3 == 0).astype(bool)
    if op == "product":
        exact = (mixed % 4) / (2 if "float" in name else 1)
    elif name.startswith("uint"):
        exact = mixed % 61
    else:
        exact = (mixed % 61 - 30) / (4 if "float" in name else 1)
    return exact.astype(DTYPES[name][1])


def reduced(name: str, op: str, inputs: list[Array]) -> npt.NDArray[np.float64]:
    result = REFERENCE[op](np.stack([x.astype(np.float64) for x in inputs]), axis=0)
    return result if "float" in name else np.trunc(result)  # a mean of integers rounds toward zero


def assert_reduced(name: str, op: str, inputs: list[Array], outputs: list[Array]) -> None:
    expected = reduced(name, op, inputs)
    np.testing.assert_allclose(outputs[0].astype(np.float64), expected, rtol=ROUNDING.get(name, 0), atol=0)
    for other in outputs[1:]:
        assert other.tobytes() == outputs[0].tobytes(), "ranks hold different bits"


def wait_all(works: list[_native.Work]) -> None:
    for work in works:
        work.wait()


def allreduce(group: Group, name: str, op: str, count: int) -> None:
    inputs = [values(name, op, rank, count) for rank in range(len(group))]
    outputs = [np.empty_like(x) for x in inputs]
    code = DTYPES[name][0]
    wait_all(
        [
            rank.allreduce(address(x), address(y), count, code, OPS[op], TIMEOUT_S)
            for rank, x, y in zip(group, inputs, outputs, strict=True)
        ]
    )
    assert_reduced(name, op, inputs, outputs)


@pytest.mark.parametrize("name", REDUCIBLE)
def test_allreduce_equals_the_reference(group: Group, name: str) -> None:
    for op in OPS:
        for count in COUNTS:
            allreduce(group, name, op, count)


@pytest.mark.parametrize("name", REDUCIBLE)
def test_allreduce_of_a_million_elements(group: Group, name: str) -> None:
    for op in ("sum", "mean"):
        allreduce(group, name, op, LARGE)


def test_allreduce_of_a_million_elements_with_the_other_ops(group: Group) -> None:
    for op in ("min", "max", "product"):
        allreduce(group, "float32", op, LARGE)


@pytest.mark.parametrize("name", REDUCIBLE)
def test_allreduce_in_place(group: Group, name: str) -> None:
    inputs = [values(name, "sum", rank, 1000) for rank in range(len(group))]
    buffers = [x.copy() for x in inputs]
    code = DTYPES[name][0]
    wait_all(
        [
            r.allreduce(address(x), address(x), 1000, code, 0, TIMEOUT_S)
            for r, x in zip(group, buffers, strict=True)
        ]
    )
    assert_reduced(name, "sum", inputs, buffers)


@pytest.mark.parametrize("name", DTYPES)
def test_allgather_of_rows_that_differ_by_rank(group: Group, name: str) -> None:
    code, dtype = DTYPES[name]
    counts = [1000 * rank + 1 for rank in reversed(range(len(group)))]
    inputs = [values(name, "sum", rank, counts[rank]) for rank in range(len(group))]
    outputs = [np.empty(sum(counts), dtype) for _ in group]
    wait_all(
        [
            rank.allgather(address(x), address(y), counts, code, TIMEOUT_S)
            for rank, x, y in zip(group, inputs, outputs, strict=True)
        ]
    )
    for output in outputs:
        assert output.tobytes() == np.concatenate(inputs).tobytes()


@pytest.mark.parametrize("name", DTYPES)
def test_broadcast_from_every_root(group: Group, name: str) -> None:
    for root in range(len(group)):
        for count in (0, 1, 100_003):
            buffers = [values(name, "sum", rank, count) for rank in range(len(group))]
            expected = buffers[root].tobytes()
            wait_all(
                [
                    rank.broadcast(address(x), count, DTYPES[name][0], root, TIMEOUT_S)
                    for rank, x in zip(group, buffers, strict=True)
                ]
            )
            assert all(x.tobytes() == expected for x in buffers)


@pytest.mark.parametrize("name", REDUCIBLE)
def test_reducescatter_gives_each_rank_its_part(group: Group, name: str) -> None:
    code, dtype = DTYPES[name]
    counts = [500 * rank + 2 for rank in range(len(group))]
    inputs = [values(name, "mean", rank, sum(counts)) for rank in range(len(group))]
    outputs = [np.empty(count, dtype) for count in counts]
    wait_all(
        [
            rank.reducescatter(address(x), address(y), counts, code, OPS["mean"], TIMEOUT_S)
            for rank, x, y in zip(group, inputs, outputs, strict=True)
        ]
    )
    assert_reduced(name, "mean", inputs, [np.concatenate(outputs)])


def test_transports_are_told_by_peer(group: Group, transport: str) -> None:
    for rank, communicator in enumerate(group):
        peers = [peer for peer in range(len(group)) if peer != rank]
        assert communicator.transports == dict.fromkeys(peers, transport)
        assert (communicator.rank, communicator.size) == (rank, len(group))


def test_wrong_arguments_are_refused_and_harm_nothing(group: Group) -> None:
    one = np.zeros(1)
    for name in MOVED:
        with pytest.raises(ConfigError, match=f"{name} cannot be reduced; cast"):
            group[0].allreduce(address(one), address(one), 1, DTYPES[name][0], 0, TIMEOUT_S)
    with pytest.raises(ConfigError, match="root 7"):
        group[0].broadcast(address(one), 1, 6, 7, TIMEOUT_S)
    with pytest.raises(ConfigError, match="dtype code 15"):
        group[0].broadcast(address(one), 1, 15, 0, TIMEOUT_S)
    with pytest.raises(ConfigError, match="op code -1"):
        group[0].allreduce(address(one), address(one), 1, 6, -1, TIMEOUT_S)
    wait_all([rank.barrier(TIMEOUT_S) for rank in group])


def test_bfloat16_mean_does_not_depend_on_who_holds_what() -> None:
    group = _native.inproc_group(8)
    for place in range(8):
        buffers = [np.full(1, 256.0 if r == place else 1.0, ml_dtypes.bfloat16) for r in range(8)]
        wait_all(
            [
                r.allreduce(address(x), address(x), 1, 4, 1, TIMEOUT_S)
                for r, x in zip(group, buffers, strict=True)
            ]
        )
        assert [float(x[0]) for x in buffers] == [33.0] * 8


def test_integer_sums_wrap_and_integer_means_do_not() -> None:
    group = _native.inproc_group(2)
    for name, value in (("uint8", 200), ("int64", 2**62), ("int32", 2**31 - 1)):
        code, dtype = DTYPES[name]
        for op, expected in (("mean", value), ("sum", None)):
            buffers = [np.full(1, value, dtype) for _ in group]
            wrapped = buffers[0] + buffers[1]
            wait_all(
                [
                    r.allreduce(address(x), address(x), 1, code, OPS[op], TIMEOUT_S)
                    for r, x in zip(group, buffers, strict=True)
                ]
            )
            assert buffers[1][0] == (wrapped[0] if expected is None else expected)


@pytest.fixture(params=TRANSPORTS)
def pair(request: pytest.FixtureRequest) -> Iterator[Group]:
    ranks = connect(2, request.param)
    yield ranks
    for rank in ranks:
        rank.close()


def test_disagreement_reaches_both_sides(pair: Group) -> None:
    buffer = np.zeros(8, np.float32)
    works = [
        pair[0].allreduce(address(buffer), address(buffer), 8, 5, 0, TIMEOUT_S, "weight (8,)"),
        pair[1].allreduce(address(buffer), address(buffer), 4, 5, 0, TIMEOUT_S, "weight (4,)"),
    ]
    for work in works:
        with pytest.raises(MismatchError, match=r"(?s)weight \(.,\).*weight \(.,\)") as caught:
            work.wait()
        assert caught.value.rank == 1  # of two, the higher number: both sides say the same


def test_a_rank_that_never_calls_is_named_at_the_deadline(pair: Group) -> None:
    work = pair[0].barrier(0.2, "end of epoch")
    with pytest.raises(TimeoutError) as impatient:
        work.wait(0.01)
    assert not isinstance(impatient.value, CollectiveError)  # the collective itself lives on
    with pytest.raises(CollectiveTimeoutError, match="end of epoch") as caught:
        work.wait()
    assert (caught.value.rank, work.done()) == (1, True)


def test_an_abort_reaches_the_peer_with_its_reason(pair: Group) -> None:
    work = pair[0].barrier(TIMEOUT_S)
    pair[1].abort("ValueError: bad row 7")
    with pytest.raises(CollectiveError, match="bad row 7") as caught:
        work.wait()
    assert caught.value.rank == 1
    with pytest.raises(CollectiveError, match="bad row 7"):
        pair[0].barrier(TIMEOUT_S)


def test_a_peer_that_left_is_lost_when_needed(pair: Group) -> None:
    pair[1].close()
    pair[1].close()
    with pytest.raises(PeerLostError) as caught:
        pair[0].barrier(TIMEOUT_S).wait()
    assert caught.value.rank == 1


def test_work_outlives_the_name_of_its_communicator() -> None:
    group = _native.inproc_group(2)
    works = [rank.barrier(TIMEOUT_S) for rank in group]
    del group
    wait_all(works)


def test_a_rank_that_never_comes_is_named() -> None:
    listeners = [_native.Listener("127.0.0.1") for _ in range(3)]
    addresses = [listener.address for listener in listeners]
    with pytest.raises(RendezvousTimeoutError, match="rank 1") as caught:
        listeners[0].connect(0, addresses, "run", 0, secrets.token_bytes(32), 0.2)
    assert caught.value.missing == (1, 2)
    for listener in listeners:
        listener.close()
