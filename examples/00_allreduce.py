"""Three processes add up their arrays: the smallest use of the ring.

Run: python examples/00_allreduce.py
"""

from __future__ import annotations

import numpy as np

import sparkdl_ring


def work(scale: float) -> tuple[float, dict[int, str]]:
    """Runs in every rank; the ranks are connected when it starts."""
    ring = sparkdl_ring.current()
    mine = np.full(4, scale * ring.rank)
    total = ring.allreduce(mine, op="sum")
    return float(total[0]), ring.transports


def main() -> None:
    results = sparkdl_ring.run(work, 10.0, num_workers=3, launcher="local")
    for rank, (total, transports) in enumerate(results):
        print(f"rank {rank}: sum is {total:g}, peers reached by {transports}")
    assert [total for total, _ in results] == [30.0] * 3


if __name__ == "__main__":
    main()
