"""torch's own DDP with our hook, in two processes, beside the same training over gloo alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from sparkdl_ring import run
from sparkdl_ring.config import CommConfig, RingConfig

pytestmark = [pytest.mark.multi]
CONFIG = RingConfig(comm=CommConfig(timeout_s=20))
STEPS = 6


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 1))


def _train(rank: int, hook: Any) -> list[torch.Tensor]:
    model = _model()
    ddp = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.2)
    if hook is not None:
        ddp.register_comm_hook(*hook)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01, momentum=0.9)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(STEPS):
        x = torch.randn(16, 8, generator=generator)
        optimizer.zero_grad()
        ((ddp(x) - x.sum(1, keepdim=True)) ** 2).mean().backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


def _meet(folder: str) -> Any:
    import torch.distributed as dist

    from sparkdl_ring.comm import current

    comm = current()
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=comm.rank, world_size=comm.size)
    return comm


def _compare(folder: str) -> dict[str, float]:
    import torch.distributed as dist

    from sparkdl_ring.torch import comm_hook

    comm = _meet(folder)
    plain = _train(comm.rank, None)
    hook = comm_hook(comm)
    ours = _train(comm.rank, hook)
    halves = _train(comm.rank, comm_hook(comm, "bf16", adopt=False))
    hook[0].close()
    for p in ours:  # the same bits everywhere
        first = p.clone()
        comm.broadcast_(first)
        assert torch.equal(first, p)
    dist.destroy_process_group()

    def apart(other: list[torch.Tensor]) -> float:
        return max(float((a - b).abs().max()) for a, b in zip(plain, other, strict=True))

    return {"ours": apart(ours), "halves": apart(halves), "moved": apart(list(_model().parameters()))}


def _fail(folder: str) -> str:
    import torch.distributed as dist

    from sparkdl_ring.torch import comm_hook

    comm = _meet(folder)
    ddp = nn.parallel.DistributedDataParallel(_model(), bucket_cap_mb=0.2)
    state, hook = comm_hook(comm)
    ddp.register_comm_hook(state, hook)
    for _ in range(3):  # in the second one DDP itself talks over gloo
        ddp(torch.ones(4, 8)).sum().backward()
    comm.barrier()
    if comm.rank == 1:
        comm.abort("rank 1 has seen enough")
        text = "gave up"
    else:
        with pytest.raises(RuntimeError, match="rank 1 has seen enough") as caught:
            ddp(torch.ones(4, 8)).sum().backward()
        assert type(state.failure).__name__ == "CollectiveError"
        text = str(caught.value)
    dist.destroy_process_group()
    return text


@pytest.mark.parametrize("transport", ["auto", "tcp"])
def test_torchs_ddp_takes_the_same_steps_as_over_gloo(tmp_path: Path, transport: str) -> None:
    folder = str(tmp_path)
    config = RingConfig(comm=CommConfig(timeout_s=20, transport=transport))
    for found in run(lambda: _compare(folder), num_workers=2, launcher="local", config=config):
        assert found["ours"] <= 1e-6, found
        assert found["halves"] <= 0.02, found
        assert found["moved"] > 0.01, found


def test_a_failure_comes_out_of_backward_with_our_text(tmp_path: Path) -> None:
    folder = str(tmp_path)
    texts = run(lambda: _fail(folder), num_workers=2, launcher="local", config=CONFIG)
    assert "rank 1 has seen enough" in texts[0]
