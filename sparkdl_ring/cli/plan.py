"""``sparkdl-ring plan``: what an allreduce will do, by the cost model that chooses its algorithm."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sparkdl_ring.comm.dtypes import DTYPES, dtype_named, op_code
from sparkdl_ring.errors import ConfigError

if TYPE_CHECKING:
    from sparkdl_ring._native import Forecast


def add_to(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the verb."""
    verb = verbs.add_parser("plan", help="which algorithm an allreduce takes, its steps, bytes and time")
    verb.add_argument("--ranks", type=int, required=True, help="ranks in all")
    verb.add_argument("--hosts", type=int, help="hosts they are spread over evenly (default: one for each)")
    verb.add_argument("--bytes", type=int, required=True, help="bytes of each rank's buffer")
    verb.add_argument("--dtype", choices=[d.name for d in DTYPES.values() if d.reducible], default="float32")
    verb.add_argument("--op", choices=["sum", "mean", "min", "max", "product"], default="sum")
    verb.add_argument("--compress", choices=["fp16", "bf16"], help="what float32 travels as between hosts")
    verb.add_argument("--alpha-us", type=float, default=30.0, help="microseconds of a message (30)")
    verb.add_argument("--mbit", type=float, default=1000.0, help="Mbit/s of a host's link, each way (1000)")
    verb.add_argument(
        "--simulate", action="store_true", help="also for 8 to 10,000 ranks, as many on each host"
    )
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the plan.

    Args:
        arguments: As parsed; see :func:`add_to`.

    Returns:
        0. Raises :class:`ConfigError` for numbers that make no plan.
    """
    hosts = arguments.ranks if arguments.hosts is None else arguments.hosts
    print(forecast(arguments, arguments.ranks, hosts).text, end="")
    if arguments.simulate:
        from sparkdl_ring.bench.model import SIMULATED_RANKS

        per_host = max(1, arguments.ranks // hosts)
        print(f"\n{'ranks':>6} {'hosts':>6} {'algorithm':>13} {'ms':>12} {'bytes a host':>14}")
        for ranks in SIMULATED_RANKS:
            made = forecast(arguments, ranks, max(1, ranks // per_host))
            row = f"{made.algorithm:>13} {made.seconds * 1e3:12.3f} {made.host_bytes:14.0f}"
            print(f"{ranks:6d} {max(1, ranks // per_host):6d} {row}")
    return 0


def forecast(arguments: argparse.Namespace, ranks: int, hosts: int) -> Forecast:
    """The forecast for ``ranks`` on ``hosts``, else as ``arguments`` say; raises :class:`ConfigError`."""
    from sparkdl_ring import _native

    dtype = dtype_named(arguments.dtype)
    if arguments.bytes < 0:
        raise ConfigError(f"--bytes must be 0 or more, got {arguments.bytes}")
    wire = dtype
    if arguments.compress:
        if dtype.name != "float32":
            raise ConfigError(f"--compress is for float32, not for {dtype.name}")
        wire = dtype_named({"fp16": "float16", "bf16": "bfloat16"}[arguments.compress])
    return _native.forecast(
        ranks,
        hosts,
        arguments.bytes,
        dtype.code,
        op_code(arguments.op, dtype),
        wire.code,
        arguments.alpha_us * 1e-6,
        arguments.mbit * 1e6 / 8,
    )
