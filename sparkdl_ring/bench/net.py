"""The ring and torch's gloo between the hosts of a lab, beside the bound of the wire."""

from __future__ import annotations

import csv
import inspect
import io
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl_ring.bench import condition
from sparkdl_ring.bench.api import KB, MB
from sparkdl_ring.bench.baseline import has_torch
from sparkdl_ring.bench.lab import Lab, Wire
from sparkdl_ring.bench.lab_ranks import play_all
from sparkdl_ring.bench.model import LinkSpeed, forecast
from sparkdl_ring.bench.report import aligned, size_text
from sparkdl_ring.comm import Communicator
from sparkdl_ring.comm.regroup import regroup
from sparkdl_ring.config import CommConfig, scoped_environment
from sparkdl_ring.errors import ConfigError, RingError

if TYPE_CHECKING:
    Contender = Callable[["np.ndarray[Any, Any]"], None]

SIZES = (4, 64 * KB, MB, 16 * MB, 64 * MB)
CONTENDERS = ("ring", "ring-bf16", "gloo")
COLUMNS = (
    "hosts", "per_host", "bytes", "contender", "samples",
    "median_us", "min_us", "bound_us", "share", "gloo_ratio", "model_us",
)  # fmt: skip
_NETWORK = "10.77.0.0/16"
_TIMEOUT_S = 120.0
_MAX_CALLS = 200
_SAMPLE_S = 0.1
_RUN_S = 3600.0
_MESSAGES = 50


@dataclass(frozen=True)
class NetPlan:
    """One run of the bench between hosts.

    Args:
        hosts: Numbers of hosts, one lab each.
        per_host: Numbers of ranks on each host.
        sizes: Bytes of the float32 buffer.
        contenders: ``ring``; ``ring-bf16``: compressed on the wire; ``ring-tls``; ``ring-streams2``,
            ``ring-streams4``; ``gloo``. What this build or machine lacks is left out.
        rounds: How often everything is measured, interleaved.
        wire: What connects the hosts.
    """

    hosts: tuple[int, ...] = (2, 3, 4)
    per_host: tuple[int, ...] = (1,)
    sizes: tuple[int, ...] = SIZES
    contenders: tuple[str, ...] = CONTENDERS
    rounds: int = 5
    wire: Wire = field(default_factory=Wire)


@dataclass(frozen=True)
class NetRow:
    """What came of one contender at one size; times are the maximum over the ranks.

    Args:
        hosts: Hosts.
        per_host: Ranks on each.
        num_bytes: The buffer.
        contender: See :class:`NetPlan`.
        num_samples: Calls timed.
        median_s: Seconds of one call, the median.
        min_s: The least.
        bound_s: Seconds that the bytes need on the wire; 0 where nothing bounds it.
        gloo_ratio: How many times longer gloo took in the same run; 0 where it was not run.
        model_s: What the cost model says with the wire's rate and the message time of this run; 0 where it
            knows nothing of the contender or the wire.
    """

    hosts: int
    per_host: int
    num_bytes: int
    contender: str
    num_samples: int
    median_s: float
    min_s: float
    bound_s: float
    gloo_ratio: float = 0.0
    model_s: float = 0.0

    @property
    def share(self) -> float:
        """The bound as a share of the median: 1 is a wire that is never idle."""
        return self.bound_s / self.median_s


def bound_s(hosts: int, num_bytes: int, wire: Wire, contender: str) -> float:
    """Seconds that one host's wire needs for ``2 (h-1)/h`` of the buffer, halved where the wire has bf16."""
    if wire.rate_mbit <= 0 or hosts < 2:
        return 0.0
    on_the_wire = num_bytes / 2 if contender == "ring-bf16" else num_bytes
    return 2 * (hosts - 1) / hosts * on_the_wire / wire.bytes_per_s


def net(plan: NetPlan, tell: Callable[[str], None] = print) -> list[NetRow]:
    """Measures everything in the plan.

    Args:
        plan: What to measure.
        tell: Takes a line on progress.

    Raises:
        ConfigError: This process cannot make network namespaces.
    """
    rows: list[NetRow] = []
    for hosts in plan.hosts:
        with Lab(hosts, plan.wire) as lab:
            for per_host in plan.per_host:
                places = [host for host in range(hosts) for _ in range(per_host)]
                begin = time.monotonic()
                with tempfile.TemporaryDirectory(prefix="sparkdl-ring-net-") as folder:
                    config = CommConfig(timeout_s=_TIMEOUT_S, interface=_NETWORK)
                    found = play_all(lab, places, measure, plan, folder, config=config, timeout_s=_RUN_S)
                rows += _rows(plan, hosts, per_host, found)
                tell(f"{hosts} hosts, {per_host} rank(s) each: {time.monotonic() - begin:.0f} s")
    return rows


Times = dict[tuple[int, str], list[float]]
ALPHA = (0, "message")
"""Where the times of a barrier are: nothing but one message from each host to each other one."""
_NOTHING: np.ndarray[Any, Any] = np.zeros(0, np.float32)


def measure(comm: Communicator, plan: NetPlan, folder: str) -> Times:
    """Runs in every rank; seconds of each call by size and contender."""
    times: Times = {}
    with ExitStack() as stack:
        contenders = _line_up(comm, plan, folder, stack)
        alphas = times.setdefault(ALPHA, [])
        for _ in range(plan.rounds):
            alphas += [_time(comm, lambda _: comm.barrier(), _NOTHING) for _ in range(_MESSAGES)]
            for num_bytes in plan.sizes:
                buffer = np.zeros(max(1, num_bytes // 4), np.float32)
                for name, call in contenders.items():
                    times.setdefault((num_bytes, name), []).extend(_sample(comm, name, call, buffer))
    return times


def _sample(comm: Communicator, name: str, call: Contender, buffer: np.ndarray[Any, Any]) -> list[float]:
    buffer.fill(comm.rank + 1.0)
    first = _time(comm, call, buffer)
    expected = comm.size * (comm.size + 1) / 2
    if not np.allclose(buffer[:: max(1, buffer.size // 1000)], expected, rtol=0.02):
        raise RingError(f"{name} gave {buffer[0]} where {expected} was right: no time of it counts")
    num_calls = comm.broadcast_object(max(2, min(_MAX_CALLS, int(_SAMPLE_S / max(first, 1e-6)))))
    buffer.fill(0.0)
    return [_time(comm, call, buffer) for _ in range(num_calls)]


def _time(comm: Communicator, call: Contender, buffer: np.ndarray[Any, Any]) -> float:
    comm.barrier()
    begin = time.perf_counter()
    call(buffer)
    return time.perf_counter() - begin


def _line_up(comm: Communicator, plan: NetPlan, folder: str, stack: ExitStack) -> dict[str, Contender]:
    found: dict[str, Contender] = {}
    for name in plan.contenders:
        if name == "gloo":
            if has_torch():
                found[name] = stack.enter_context(_gloo(comm, folder))
            continue
        config = _config_of(name)
        if config is None or (name == "ring-bf16" and not _compresses()):
            continue
        group = regroup(comm, config)
        assert group is not None
        found[name] = _ring(stack.enter_context(group), "bf16" if name == "ring-bf16" else None)
    return found


def _config_of(name: str) -> CommConfig | None:
    """The settings of a contender; ``None`` where this build does not know one."""
    changes: dict[str, dict[str, Any]] = {
        "ring": {},
        "ring-bf16": {},
        "ring-tls": {"tls": True},
        "ring-streams2": {"streams": 2},
        "ring-streams4": {"streams": 4},
    }
    if name not in changes:
        raise ConfigError(f"contender {name} is not known; known: {', '.join([*changes, 'gloo'])}")
    base = CommConfig(timeout_s=_TIMEOUT_S, interface=_NETWORK)
    if not changes[name].keys() <= {item.name for item in fields(CommConfig)}:
        return None
    return replace(base, **changes[name])


def _compresses() -> bool:
    return "compress" in inspect.signature(Communicator.allreduce_).parameters


def _ring(comm: Communicator, compress: str | None) -> Contender:
    more: dict[str, Any] = {"compress": compress} if compress else {}

    def call(buffer: np.ndarray[Any, Any]) -> None:
        comm.allreduce_(buffer, "sum", name="bench", timeout_s=_TIMEOUT_S, **more)

    return call


@contextmanager
def _gloo(comm: Communicator, folder: str) -> Iterator[Contender]:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(max(1, condition.num_cores() // comm.size))
    meeting = (Path(folder) / "gloo").as_uri()
    with scoped_environment({"GLOO_SOCKET_IFNAME": "eth0"}):
        dist.init_process_group("gloo", init_method=meeting, rank=comm.rank, world_size=comm.size)
    try:
        yield lambda buffer: dist.all_reduce(torch.from_numpy(buffer))
    finally:
        dist.destroy_process_group()


def _rows(plan: NetPlan, hosts: int, per_host: int, by_rank: Sequence[Times]) -> list[NetRow]:
    slowest = {
        key: [max(together) for together in zip(*(times[key] for times in by_rank), strict=True)]
        for key in by_rank[0]
    }
    link = LinkSpeed(median(slowest.pop(ALPHA)), plan.wire.bytes_per_s)
    rows = []
    for (num_bytes, name), seconds in slowest.items():
        bound = bound_s(hosts, num_bytes, plan.wire, name)
        other = slowest.get((num_bytes, "gloo"))
        ratio = median(other) / median(seconds) if other else 0.0
        model = model_s(hosts, per_host, num_bytes, name, link)
        figures = (len(seconds), median(seconds), min(seconds), bound, ratio, model)
        rows.append(NetRow(hosts, per_host, num_bytes, name, *figures))
    return rows


def model_s(hosts: int, per_host: int, num_bytes: int, contender: str, link: LinkSpeed) -> float:
    """Seconds that the cost model gives a contender; 0 where it knows none."""
    wire_dtype = {"ring": "float32", "ring-bf16": "bfloat16"}.get(contender)
    if wire_dtype is None or link.bytes_per_s <= 0 or hosts < 2:
        return 0.0
    return float(forecast(hosts * per_host, hosts, num_bytes, link, wire_dtype).seconds)


def to_csv(rows: Sequence[NetRow]) -> str:
    """One line for each row; times in microseconds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        times = [f"{seconds * 1e6:.1f}" for seconds in (row.median_s, row.min_s, row.bound_s)]
        model = f"{row.model_s * 1e6:.1f}"
        place = (row.hosts, row.per_host, row.num_bytes, row.contender, row.num_samples)
        writer.writerow([*place, *times, f"{row.share:.3f}", f"{row.gloo_ratio:.3f}", model])
    return text.getvalue()


def table(rows: Sequence[NetRow]) -> str:
    """A block for each number of hosts and ranks: milliseconds, share of the wire bound, times gloo."""
    blocks = []
    for hosts, per_host in dict.fromkeys((row.hosts, row.per_host) for row in rows):
        group = [row for row in rows if (row.hosts, row.per_host) == (hosts, per_host)]
        title = (
            f"{hosts} hosts, {per_host} rank(s) each; ms: median (share of the wire bound) x faster than gloo"
            " [model / measured]"
        )
        blocks.append(f"{title}\n{_block(group)}")
    return "\n\n".join(blocks)


def _block(group: Sequence[NetRow]) -> str:
    names = list(dict.fromkeys(row.contender for row in group))
    cells = {(row.num_bytes, row.contender): _cell(row) for row in group}
    lines = [["bytes", *names]]
    for num_bytes in dict.fromkeys(row.num_bytes for row in group):
        lines.append([size_text(num_bytes), *(cells.get((num_bytes, name), "-") for name in names)])
    return aligned(lines)


def _cell(row: NetRow) -> str:
    share = f" ({row.share:.2f})" if row.bound_s > 1e-6 else ""
    faster = f" {row.gloo_ratio:.2f}x" if row.gloo_ratio and row.contender != "gloo" else ""
    modelled = f" [{row.model_s / row.median_s:.2f}]" if row.model_s else ""
    return f"{row.median_s * 1e3:.3f}{share}{faster}{modelled}"
