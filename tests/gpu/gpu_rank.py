"""One rank of the GPU check: plays the section that is named and prints its figures as lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from cuda import Gpu, Unavailable
from raw_nccl import RawNccl, median_s, timed

from sparkdl_ring._native import DeviceCommunicator
from sparkdl_ring.comm import Communicator, connect_from_env
from sparkdl_ring.comm.device import _package_folder
from sparkdl_ring.comm.dtypes import DTYPES, OPS
from sparkdl_ring.config import environment, resolve
from sparkdl_ring.errors import CollectiveError

FLOAT32, SUM, MEAN = 5, 0, 1
TYPES = {name: getattr(ml_dtypes, name, name) for name in DTYPES if DTYPES[name].reducible}
REDUCERS = {"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "product": np.prod}
# Means by NCCL are scaled in the element type before the sum, and the sum is rounded to it.
ROUNDING = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-6, "float64": 1e-14}
SIZES = (4, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20)
PATIENCE_S = 60.0


class Bench:
    """A device, its collectives and a stream.

    Args:
        comm: The host ring.
        mode: ``nccl`` or ``staged``.
        checked: Whether calls are compared over the host ring.
    """

    def __init__(self, comm: Communicator, mode: str, *, checked: bool = True) -> None:
        config = resolve().comm
        self.comm, self.gpu = comm, Gpu(0, config.cuda_path)
        may_share = environment().get("NCCL_MULTI_RANK_GPU_ENABLE") == "1"
        self.ring = DeviceCommunicator.connect(
            comm._native,
            0,
            mode,
            PATIENCE_S,
            config.nccl_path,
            _package_folder(),
            config.cuda_path,
            may_share,
            checked,
        )
        self.stream = self.gpu.stream()

    def submit(self, address: int, count: int, op: int = SUM) -> Any:
        """An allreduce of float32 in place."""
        return self.ring.allreduce(address, address, count, FLOAT32, op, self.stream, PATIENCE_S)

    def reduce(self, address: int, count: int) -> None:
        """The same, waited for by the host."""
        self.submit(address, count).synchronize(PATIENCE_S)

    def check(self, count: int) -> None:
        """Values of an allreduce, with upload, collective and download in the order of one stream alone."""
        address = self.gpu.alloc(max(count, 1) * 4)
        mine = (np.arange(count, dtype=np.float32) % 97) + self.comm.rank
        self.gpu.put(address, mine, self.stream)
        self.submit(address, count).order(self.stream, PATIENCE_S)
        got = self.gpu.get(address, mine, self.stream)
        size = self.comm.size
        np.testing.assert_array_equal(got, size * (mine - self.comm.rank) + size * (size - 1) / 2)

    def close(self) -> None:
        """Leaves."""
        self.ring.close(PATIENCE_S)


def nccl_file() -> str:
    """NCCL's file, as the native module looks for it."""
    folder = _package_folder()
    return resolve().comm.nccl_path or (f"{folder}/libnccl.so.2" if folder else "libnccl.so.2")


def figures(bench: Bench) -> Iterator[dict[str, Any]]:
    """Time and bandwidth by size, after checking the values."""
    for count in (1, 1000, 3_000_001):
        bench.check(count)
    yield {"values": "right", "way": bench.ring.reason}
    most = bench.gpu.alloc(SIZES[-1])
    for size in SIZES:
        rounds = 200 if size <= 1 << 20 else 10
        timed(lambda s=size: bench.reduce(most, s // 4), 3)
        spent = median_s(timed(lambda s=size: bench.reduce(most, s // 4), rounds))
        yield {"bytes": size, "us": round(spent * 1e6, 1), "GB/s": round(size / spent / 1e9, 2)}


def kinds(bench: Bench) -> Iterator[dict[str, Any]]:
    """Every type and operation, a grouped launch and registered memory, by value."""
    count, size, rank, ring = 1000, bench.comm.size, bench.comm.rank, bench.ring
    address = bench.gpu.alloc(count * 8)
    ring.register_buffer(address, count * 8)
    for name, kind in TYPES.items():
        values = [(np.arange(count) % 7 + r + 1).astype(kind) for r in range(size)]
        for op, code in OPS.items():
            bench.gpu.put(address, values[rank], bench.stream)
            work = ring.allreduce(address, address, count, DTYPES[name].code, code, bench.stream, PATIENCE_S)
            work.order(bench.stream, PATIENCE_S)
            got = bench.gpu.get(address, values[rank], bench.stream).astype(np.float64)
            exact = REDUCERS[op](np.stack([v.astype(np.float64) for v in values]), axis=0)
            exact = np.trunc(exact) if "int" in name else exact
            np.testing.assert_allclose(got, exact, rtol=ROUNDING.get(name, 0), err_msg=f"{name} {op}")
    members, given = [], []
    for i, name in enumerate(("float32", "int64", "float16")):
        mine = np.full(10 + i, rank + 1, name)
        place = bench.gpu.alloc(mine.nbytes)
        bench.gpu.put(place, mine, bench.stream)
        members.append((place, place, mine.size, DTYPES[name].code))
        given.append(mine)
    ring.grouped_allreduce(members, SUM, bench.stream, PATIENCE_S).order(bench.stream, PATIENCE_S)
    for (place, *_), mine in zip(members, given, strict=True):
        got = bench.gpu.get(place, mine, bench.stream)
        np.testing.assert_array_equal(got, np.full_like(mine, size * (size + 1) // 2))
    yield {"types": len(TYPES), "operations": len(OPS), "grouped": "right", "way": ring.reason}


def large(bench: Bench) -> Iterator[dict[str, Any]]:
    """LOG-096: more elements than 32 bits count, with marks around the border."""
    count = (1 << 31) + 8
    try:
        address = bench.gpu.alloc(count)
    except RuntimeError as error:
        raise Unavailable(f"2 GiB of device memory are not free: {error}") from None
    places = (0, (1 << 31) - 1, 1 << 31, count - 1)
    mark = np.ones(1, np.uint8)
    for place in places:
        bench.gpu.put(address + place, mark + place % 7, bench.stream)
    work = bench.ring.allreduce(address, address, count, DTYPES["uint8"].code, SUM, bench.stream, PATIENCE_S)
    work.order(bench.stream, PATIENCE_S)
    for place in places:
        got = bench.gpu.get(address + place, mark, bench.stream)
        np.testing.assert_array_equal(got, bench.comm.size * (mark + place % 7))
    yield {"elements": count, "marks": "right"}


def against_raw(bench: Bench) -> Iterator[dict[str, Any]]:
    """Ours and plain NCCL in turns, in the same process."""
    raw = RawNccl(nccl_file())
    made = raw.make_id() if bench.comm.rank == 0 else np.zeros(128, np.uint8)
    bench.comm.broadcast_(made, root=0)
    raw.connect(made, bench.comm.rank, bench.comm.size)
    most = bench.gpu.alloc(SIZES[-1])

    def plain(count: int) -> None:
        raw.allreduce(most, count, bench.stream)
        bench.gpu.sync(bench.stream)

    for size in SIZES:
        ours, theirs = [], []
        for turn in range(9):
            rounds = 50 if size <= 1 << 20 else 3
            bench.comm.barrier()
            first = timed(lambda s=size: bench.reduce(most, s // 4), rounds)
            bench.comm.barrier()
            second = timed(lambda s=size: plain(s // 4), rounds)
            if turn > 0:
                ours += first
                theirs += second
        a, b = median_s(ours), median_s(theirs)
        yield {
            "bytes": size,
            "ours us": round(a * 1e6, 1),
            "raw us": round(b * 1e6, 1),
            "ratio": round(a / b, 3),
        }
    raw.close()


def launches(bench: Bench) -> Iterator[dict[str, Any]]:
    """What a call costs the host, ours (compared and not) and plain."""
    address = bench.gpu.alloc(64)
    raw = RawNccl(nccl_file())
    raw.connect(raw.make_id(), 0, 1)

    def burst(step: Callable[[], Any]) -> float:
        timed(step, 50)
        samples = timed(step, 200)
        bench.gpu.sync(bench.stream)
        return round(median_s(samples) * 1e6, 2)

    yield {
        "submit us": burst(lambda: bench.submit(address, 1)),
        "submit and order us": burst(lambda: bench.submit(address, 1).order(bench.stream)),
        "mean us": burst(lambda: bench.submit(address, 1, MEAN)),
        "raw us": burst(lambda: raw.allreduce(address, 1, bench.stream)),
    }
    bench.submit(address, 1).synchronize(PATIENCE_S)
    raw.close()


def streams(bench: Bench) -> Iterator[dict[str, Any]]:
    """Order on the device without the host: late data is waited for, and the host is not held up."""
    count = 1 << 20
    address, mine = bench.gpu.alloc(count * 4), np.full(count, 3, np.float32)
    bench.gpu.put(address, np.zeros(count, np.float32), bench.stream)
    bench.gpu.sync(bench.stream)
    bench.check(10)
    for _ in range(5):
        bench.gpu.spin(0.05, bench.stream)
        bench.gpu.put(address, mine, bench.stream)
        start = time.perf_counter()
        work = bench.submit(address, count)
        held_s = time.perf_counter() - start
        early = work.done()
        work.order(bench.stream, PATIENCE_S)
        got = bench.gpu.get(address, mine, bench.stream)
        np.testing.assert_array_equal(got, 3 * bench.comm.size)
        assert not early, "done before its data was there"
        yield {"host held for us": round(held_s * 1e6, 1), "kernel before it ms": 50}


def overlap(bench: Bench) -> Iterator[dict[str, Any]]:
    """A collective and a kernel of the user at the same time."""
    count = 32 << 20
    address = bench.gpu.alloc(count * 4)

    def collective() -> None:
        bench.submit(address, count).order(bench.stream, PATIENCE_S)
        bench.gpu.sync(bench.stream)

    timed(collective, 3)
    alone = median_s(timed(collective, 9))

    def kernel() -> None:
        bench.gpu.spin(alone, bench.stream)
        bench.gpu.sync(bench.stream)

    timed(kernel, 2)
    computing = median_s(timed(kernel, 9))

    def both() -> None:
        work = bench.submit(address, count)
        bench.gpu.spin(alone, bench.stream)
        work.order(bench.stream, PATIENCE_S)
        bench.gpu.sync(bench.stream)

    together = median_s(timed(both, 9))
    hidden = (alone + computing - together) / min(alone, computing)
    yield {
        "collective ms": round(alone * 1e3, 2),
        "kernel ms": round(computing * 1e3, 2),
        "both ms": round(together * 1e3, 2),
        "hidden": round(hidden, 2),
    }


def loss(bench: Bench) -> Iterator[dict[str, Any]]:
    """The last rank is killed; the others must know who within the deadline."""
    bench.check(1000)
    if bench.comm.rank == bench.comm.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    start = time.perf_counter()
    try:
        bench.reduce(bench.gpu.alloc(64), 16)
    except CollectiveError as error:
        seen = error
    else:
        raise AssertionError("the loss of a rank went unnoticed")
    assert seen.rank == bench.comm.size - 1, seen
    after_ms = round((time.perf_counter() - start) * 1e3, 1)
    yield {"raised": type(seen).__name__, "blamed": seen.rank, "after ms": after_ms}


SECTIONS: dict[str, Callable[[Bench], Iterator[dict[str, Any]]]] = {
    section.__name__: section
    for section in (figures, kinds, large, against_raw, launches, streams, overlap, loss)
}


def main() -> None:
    section, mode, checked = sys.argv[1:4]
    comm = connect_from_env()
    bench = Bench(comm, mode, checked=checked == "checked")
    try:
        for line in SECTIONS[section](bench):
            if comm.rank == 0:
                sys.stdout.write(json.dumps(line) + "\n")
                sys.stdout.flush()
    except Unavailable as reason:
        sys.stdout.write(json.dumps({"skipped": str(reason)}) + "\n")
    if section != "loss":
        bench.close()
    comm.close()


if __name__ == "__main__":
    main()
