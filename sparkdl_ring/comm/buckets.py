"""Which gradients share one allreduce: pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from sparkdl_ring.errors import ConfigError


def plan_buckets(sizes_bytes: Sequence[int], dtypes: Sequence[str], bucket_bytes: int) -> list[list[int]]:
    """Groups neighbours of one dtype into buckets of at most ``bucket_bytes``.

    Args:
        sizes_bytes: Size of each item, in the order in which the items become ready.
        dtypes: Dtype of each item; a bucket holds one dtype.
        bucket_bytes: Largest bucket; an item larger than that gets a bucket of its own.

    Returns:
        Indices of each bucket, ascending; buckets in the order in which their last item becomes ready. The
        plan depends on the arguments alone, so that every rank makes the same one.
    """
    if bucket_bytes <= 0:
        raise ConfigError(f"bucket_bytes must be positive, not {bucket_bytes}")
    if len(sizes_bytes) != len(dtypes):
        raise ConfigError(f"{len(sizes_bytes)} sizes but {len(dtypes)} dtypes")
    closed: list[list[int]] = []
    growing: dict[str, list[int]] = {}
    filled: dict[str, int] = {}
    for index, (size, dtype) in enumerate(zip(sizes_bytes, dtypes, strict=True)):
        if dtype in growing and filled[dtype] + size > bucket_bytes:
            closed.append(growing.pop(dtype))
            filled[dtype] = 0
        growing.setdefault(dtype, []).append(index)
        filled[dtype] = filled.get(dtype, 0) + size
    return sorted([*closed, *growing.values()], key=lambda bucket: bucket[-1])
