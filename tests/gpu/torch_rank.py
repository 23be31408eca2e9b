"""One rank of the GPU check with torch: tensors, streams, and a step of DDP against one process."""

from __future__ import annotations

import json
import sys

import torch

from sparkdl_ring.comm import connect_from_env
from sparkdl_ring.torch import DistributedDataParallel


def main() -> None:
    torch.cuda.set_device(0)
    with connect_from_env() as comm:
        tensor = torch.full((1 << 20,), float(comm.rank + 1), device="cuda")
        comm.allreduce_(tensor, "sum")
        expected = comm.size * (comm.size + 1) / 2
        assert bool((tensor == expected).all())
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            late = torch.zeros(1 << 20, device="cuda")
            torch.cuda._sleep(50_000_000)
            late += comm.rank + 1
            comm.allreduce_(late, "sum")
            assert bool((late == expected).all())
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).cuda()
        inputs, targets = torch.randn(64, 64).cuda(), torch.randn(64, 8).cuda()
        alone = [p.detach().clone().requires_grad_() for p in net.parameters()]
        ddp = DistributedDataParallel(net, comm)
        rows = 64 // comm.size
        mine = slice(comm.rank * rows, (comm.rank + 1) * rows)
        with ddp.step(weight=rows):
            torch.nn.functional.mse_loss(ddp(inputs[mine]), targets[mine]).backward()
        reduced = [p.grad.clone() for p in net.parameters() if p.grad is not None]
        whole = torch.func.functional_call(
            net, dict(zip(dict(net.named_parameters()), alone, strict=True)), (inputs[: rows * comm.size],)
        )
        torch.nn.functional.mse_loss(whole, targets[: rows * comm.size]).backward()
        for got, wanted in zip(reduced, alone, strict=True):
            torch.testing.assert_close(got, wanted.grad, rtol=1e-4, atol=1e-5)
        ways = comm.devices.reasons
        ddp.close()
    if comm.rank == 0:
        sys.stdout.write(json.dumps({"torch": torch.__version__, "ways": ways, "values": "right"}) + "\n")


if __name__ == "__main__":
    main()
