"""Training steps of a multi-layer perceptron: torch's DDP over gloo beside the ring."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from sparkdl_ring.bench import baseline, condition
from sparkdl_ring.bench.api import Condition
from sparkdl_ring.comm import Communicator, current
from sparkdl_ring.errors import MissingDependencyError
from sparkdl_ring.launch import run
from sparkdl_ring.launch.local import LocalLauncher

_VIEWS = "-views"
_WARM_UP_STEPS = 2  # torch's DDP makes its buckets anew after the first
Step = Callable[[], None]


@dataclass(frozen=True)
class DdpPlan:
    """One run of the training bench.

    Args:
        num_ranks: Rank processes.
        width: Features of each layer.
        layers: Number of layers; 6 of width 2048 have 25.2 million parameters.
        batch: Rows of each rank in a step.
        rounds: How often each method takes its turn.
        steps: Steps of one turn.
        condition: As in the allreduce bench.
    """

    num_ranks: int = 2
    width: int = 2048
    layers: int = 6
    batch: int = 32
    rounds: int = 5
    steps: int = 4
    condition: Condition = "quiet"


@dataclass(frozen=True)
class DdpRow:
    """What came of one method; times are the maximum over the ranks.

    Args:
        method: ``none`` (no communication), ``gloo``, ``hook`` (torch's DDP, our hook) or ``ring`` (our DDP);
            ``-views``: the same with ``gradient_as_bucket_view=True``.
        num_steps: Steps measured.
        median_s: Seconds of a step, the median.
        min_s: The least.
        gloo_share: Its median as a share of gloo's, with bucket views where it has them itself.
    """

    method: str
    num_steps: int
    median_s: float
    min_s: float
    gloo_share: float


def ddp(plan: DdpPlan) -> list[DdpRow]:
    """Measures all methods in turns, in the same rank processes.

    Raises:
        MissingDependencyError: torch is not installed.
        TaskFailedError: A rank failed.
    """
    if not baseline.has_torch():
        raise MissingDependencyError('torch is not installed. Run: pip install "sparkdl-ring[torch]"')
    with (
        tempfile.TemporaryDirectory(prefix="sparkdl-ring-bench-") as folder,
        condition.busy_cores(plan.condition == "loaded"),
    ):
        by_rank = run(measure, plan, folder, num_workers=plan.num_ranks, launcher=LocalLauncher())
    slowest = {
        name: [max(together) for together in zip(*(times[name] for times in by_rank), strict=True)]
        for name in by_rank[0]
    }
    return [_row(name, times, slowest) for name, times in slowest.items()]


def _row(name: str, times: list[float], slowest: dict[str, list[float]]) -> DdpRow:
    base = median(slowest[f"gloo{_VIEWS}" if name.endswith(_VIEWS) else "gloo"])
    return DdpRow(name, len(times), median(times), min(times), median(times) / base)


def measure(plan: DdpPlan, folder: str) -> dict[str, list[float]]:
    """Runs in every rank; returns the seconds of this rank's steps by method."""
    comm = current()
    if plan.condition == "coscheduled":
        condition.raise_priority()
    with ExitStack() as stack:
        stack.enter_context(baseline.default_group(comm, folder))
        steps = _methods(plan, comm, stack)
        times: dict[str, list[float]] = {name: [] for name in steps}
        for number in range(plan.rounds):
            for name, step in steps.items():
                for _ in range(_WARM_UP_STEPS if number == 0 else 1):
                    step()
                times[name] += [_timed(plan, comm, step) for _ in range(plan.steps)]
        return times


def _timed(plan: DdpPlan, comm: Communicator, step: Step) -> float:
    comm.barrier()
    begin = time.perf_counter()
    step()
    seconds = time.perf_counter() - begin
    condition.rest(begin, plan.condition == "coscheduled")
    return seconds


def _methods(plan: DdpPlan, comm: Communicator, stack: ExitStack) -> dict[str, Step]:
    from torch.nn.parallel import DistributedDataParallel as TorchDdp

    import sparkdl_ring.torch as ours

    methods = {"none": _step(plan, _model(plan), lambda net: net)}

    def hooked(net: Any, views: bool) -> Any:
        wrapped = TorchDdp(net, gradient_as_bucket_view=views)
        state, hook = ours.comm_hook(comm)
        stack.callback(state.close)
        wrapped.register_comm_hook(state, hook)
        return wrapped

    for views in (False, True):
        suffix = _VIEWS if views else ""
        plain = partial(TorchDdp, gradient_as_bucket_view=views)
        methods[f"gloo{suffix}"] = _step(plan, _model(plan), plain)
        methods[f"hook{suffix}"] = _step(plan, _model(plan), partial(hooked, views=views))
    mine = ours.DistributedDataParallel(_model(plan), comm)
    stack.callback(mine.close)
    methods["ring"] = _step(plan, mine, lambda net: net)
    return methods


def _model(plan: DdpPlan) -> Any:
    import torch

    torch.manual_seed(7)
    layers: list[torch.nn.Module] = []
    for _ in range(plan.layers):
        layers += [torch.nn.Linear(plan.width, plan.width), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _step(plan: DdpPlan, net: Any, wrap: Callable[[Any], Any]) -> Step:
    import torch

    model = wrap(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x_BF = torch.randn(plan.batch, plan.width)  # noqa: N806 - rows B of features F

    def step() -> None:
        optimizer.zero_grad()
        model(x_BF).square().mean().backward()
        optimizer.step()

    return step


def table(rows: list[DdpRow]) -> str:
    """A line for each method, for people."""
    lines = [f"{'method':<12}{'median ms':>11}{'min ms':>9}{'of gloo':>9}{'steps':>7}"]
    lines += [
        f"{r.method:<12}{r.median_s * 1e3:>11.1f}{r.min_s * 1e3:>9.1f}{r.gloo_share:>9.2f}{r.num_steps:>7}"
        for r in rows
    ]
    return "\n".join(lines)


def to_csv(rows: list[DdpRow]) -> str:
    """A line for each method; times in milliseconds."""
    lines = ["method,steps,median_ms,min_ms,gloo_share"]
    lines += [
        f"{r.method},{r.num_steps},{r.median_s * 1e3:.3f},{r.min_s * 1e3:.3f},{r.gloo_share:.4f}"
        for r in rows
    ]
    return "\n".join([*lines, ""])
