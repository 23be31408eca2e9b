"""DistributedDataParallel: exact weighted gradients for every shape of model and step."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from sparkdl_ring.torch import DistributedDataParallel


def _grads(module: nn.Module) -> list[torch.Tensor | None]:
    return [None if p.grad is None else p.grad.clone() for p in module.parameters()]


def _same_bits(results: list[list[torch.Tensor | None]]) -> None:
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert (a is None) == (b is None)
            assert a is None or torch.equal(a, b)


def _data(rows: int, width: int = 3, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, width, generator=generator, dtype=torch.float64)
    return x.to(dtype), (x @ torch.arange(1.0, width + 1, dtype=torch.float64)).to(dtype)


def _loss(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((module(x).squeeze(-1) - y) ** 2).mean()


def _expected(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor | None]:
    alone = copy.deepcopy(module)
    _loss(alone, x, y).backward()
    return _grads(alone)


def test_rows_split_3_to_1_take_the_step_of_the_pooled_mean(ranks):
    x, y = torch.tensor([[1.0], [2.0], [3.0], [10.0]]), torch.zeros(4)
    cuts = [slice(0, 3), slice(3, 4)]

    def work(comm):
        model = nn.Linear(1, 1, bias=False)
        nn.init.ones_(model.weight)
        ddp = DistributedDataParallel(model, comm)
        rows = x[cuts[comm.rank]]
        with ddp.step(weight=len(rows)):
            _loss(ddp, rows, y[cuts[comm.rank]]).backward()
        return model.weight.grad.item()

    pooled = 2 * (1 + 4 + 9 + 100) / 4
    mean_of_means = 2 * ((1 + 4 + 9) / 3 + 100) / 2
    assert ranks(2, work) == [pytest.approx(pooled)] * 2
    assert pooled != pytest.approx(mean_of_means)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("bucket_bytes", [1, 200, 1 << 20])
@pytest.mark.parametrize("weighted", [True, False])
def test_gradients_are_those_of_one_process(ranks, size, bucket_bytes, weighted):
    counts = [3 * r + 1 if weighted else 4 for r in range(size)]
    x, y = _data(sum(counts))
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1)).double()

    def work(comm):
        mine = copy.deepcopy(model)
        if comm.rank:  # rank 0's are the ones that count
            nn.init.constant_(mine[0].weight, 9.0)
        ddp = DistributedDataParallel(mine, comm, bucket_bytes=bucket_bytes)
        start = sum(counts[: comm.rank])
        rows = slice(start, start + counts[comm.rank])
        for _ in range(2):
            mine.zero_grad()
            if weighted:
                with ddp.step(counts[comm.rank]):
                    _loss(ddp, x[rows], y[rows]).backward()
            else:
                _loss(ddp, x[rows], y[rows]).backward()
        return _grads(mine)

    results = ranks(size, work)
    _loss(model, x, y).backward()
    _same_bits(results)
    for got, expected in zip(results[0], _grads(model), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


def test_a_rank_without_rows_gets_the_gradients_of_the_others(ranks):
    x, y = _data(5)

    def work(comm):
        model = nn.Linear(3, 1).double()
        nn.init.ones_(model.weight)
        ddp = DistributedDataParallel(model, comm)
        if comm.rank == 1:
            ddp.join_step()
        else:
            with ddp.step(5):
                _loss(ddp, x, y).backward()
        return _grads(model)

    results = ranks(3, lambda comm: work(comm))
    _same_bits(results)
    assert results[1][0].abs().sum() > 0


def test_a_step_without_any_rows_changes_nothing(ranks):
    def work(comm):
        model = nn.Linear(3, 1)
        ddp = DistributedDataParallel(model, comm)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, weight_decay=0.1)
        model.weight.grad = torch.ones_like(model.weight)
        optimizer.step()
        before = copy.deepcopy(model.state_dict())
        optimizer.zero_grad()
        ddp.join_step()
        optimizer.step()
        return all(torch.equal(v, before[k]) for k, v in model.state_dict().items())

    assert ranks(2, work) == [True, True]


@pytest.mark.parametrize("slope", [float("nan"), float("inf"), 7.0])
def test_weight_zero_counts_as_nothing_whatever_its_gradient(ranks, slope):
    def work(comm):
        model = nn.Linear(3, 1, bias=False)
        ddp = DistributedDataParallel(model, comm)
        with ddp.step([4, 0][comm.rank]):
            (ddp(torch.ones(1, 3)) * [2.0, slope][comm.rank]).sum().backward()
        return _grads(model)

    results = ranks(2, work)
    _same_bits(results)
    assert results[0][0].tolist() == [[2.0, 2.0, 2.0]]


class Branches(nn.Module):
    """``left`` and ``right`` are used by choice, ``never`` not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.never = (nn.Linear(3, 1, bias=False).double() for _ in range(3))
        for part in (self.left, self.right, self.never):
            nn.init.ones_(part.weight)

    def forward(self, x: torch.Tensor, left: bool) -> torch.Tensor:
        return (self.left if left else self.right)(x)


def test_unused_parameters_count_as_zero_and_stay_none_where_nobody_used_them(ranks):
    x, _ = _data(2)

    def work(comm):
        model = Branches()
        ddp = DistributedDataParallel(model, comm, bucket_bytes=1)
        with ddp.step(1 + comm.rank):
            ddp(x, left=comm.rank == 0).sum().backward()
        return _grads(model)

    results = ranks(2, work)
    _same_bits(results)
    left, right, never = results[0]
    torch.testing.assert_close(left, x.sum(0, keepdim=True) / 3)
    torch.testing.assert_close(right, x.sum(0, keepdim=True) * 2 / 3)
    assert never is None


def test_frozen_shared_and_twice_used_parameters(ranks):
    x, y = _data(6)

    def build():
        torch.manual_seed(3)
        shared = nn.Linear(3, 3)
        frozen = nn.Linear(3, 3)
        frozen.requires_grad_(False)
        return nn.Sequential(shared, nn.Tanh(), frozen, shared, nn.Tanh(), shared, nn.Linear(3, 1)).double()

    alone = build()  # not in the threads: they share torch's generator

    def work(comm):
        model = copy.deepcopy(alone)
        ddp = DistributedDataParallel(model, comm, bucket_bytes=64)
        rows = slice(0, 2) if comm.rank == 0 else slice(2, 6)
        with ddp.step(2 if comm.rank == 0 else 4):
            _loss(ddp, x[rows], y[rows]).backward()
        return _grads(model)

    results = ranks(2, work)
    _same_bits(results)
    _loss(alone, x, y).backward()
    for got, expected in zip(results[0], _grads(alone), strict=True):
        assert (got is None) == (expected is None)
        if got is not None:
            torch.testing.assert_close(got, expected)


def test_layers_unfrozen_later_are_reduced_too(ranks):
    def work(comm):
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        model[0].requires_grad_(False)
        ddp = DistributedDataParallel(model, comm)
        x = torch.full((1, 2), float(comm.rank + 1))
        ddp(x).sum().backward()
        model[0].requires_grad_(True)
        model.zero_grad()
        ddp(x).sum().backward()
        return _grads(model)

    results = ranks(2, work)
    _same_bits(results)
    assert results[0][0] is not None


def test_gradients_add_up_over_several_backwards(ranks):
    x, y = _data(8)

    def work(comm):
        model = nn.Linear(3, 1).double()
        nn.init.ones_(model.weight)
        nn.init.zeros_(model.bias)
        ddp = DistributedDataParallel(model, comm)
        for half in (slice(0, 4), slice(4, 8)):
            rows = slice(half.start + 2 * comm.rank, half.start + 2 * comm.rank + 2)
            with ddp.step(2):
                _loss(ddp, x[rows], y[rows]).backward()
        return _grads(model)

    results = ranks(2, work)
    _same_bits(results)
    alone = nn.Linear(3, 1).double()
    nn.init.ones_(alone.weight)
    nn.init.zeros_(alone.bias)
    (2 * _loss(alone, x, y)).backward()
    torch.testing.assert_close(results[0][0], alone.weight.grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_dtype_takes_large_weights_without_overflow(ranks, dtype):
    """60000 is near the largest half: times 1000 rows it would be infinite."""

    def work(comm):
        parameter = nn.Parameter(torch.ones(2, dtype=dtype))
        holder = nn.ParameterList([parameter])
        ddp = DistributedDataParallel(holder, comm)
        weight, slope = [(1000, 60000.0), (3000, 20000.0)][comm.rank]
        with ddp.step(weight):
            (parameter * torch.tensor([slope, 1.0], dtype=dtype)).sum().backward()
        return parameter.grad

    for grad in ranks(2, work):
        assert grad.dtype == dtype
        expected = torch.tensor([30000.0, 1.0], dtype=dtype)
        torch.testing.assert_close(grad, expected, rtol=2 * torch.finfo(dtype).eps, atol=0)


def test_dtypes_and_memory_orders_may_be_mixed(ranks):
    def work(comm):
        torch.manual_seed(0)
        conv = nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
        empty = nn.ParameterList([nn.Parameter(torch.empty(0, 2))])
        model = nn.ModuleDict({"conv": conv, "wide": nn.Linear(3, 1).double(), "empty": empty})
        ddp = DistributedDataParallel(model, comm, bucket_bytes=1 << 10)
        image = torch.arange(18.0).reshape(1, 2, 3, 3) * (comm.rank + 1)
        with ddp.step(1):
            hidden = ddp.module["conv"](image).mean((2, 3)).double()
            ddp.module["wide"](hidden).sum().backward()
        return [*_grads(model)]

    results = ranks(2, work)
    _same_bits(results)
    one = nn.Conv2d(2, 3, 2)
    assert results[0][0].shape == one.weight.shape


def test_two_models_in_one_backward(ranks):
    """LOG-073: a generator and a discriminator, three steps to one."""

    def work(comm):
        torch.manual_seed(comm.rank)
        make, judge = nn.Linear(2, 2), nn.Linear(2, 1)
        d_make, d_judge = DistributedDataParallel(make, comm), DistributedDataParallel(judge, comm)
        o_make = torch.optim.SGD(make.parameters(), lr=0.1)
        o_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
        for step in range(4):
            noise = torch.randn(4, 2)
            if step % 4 < 3:
                o_judge.zero_grad()
                d_judge(d_make(noise).detach()).mean().backward()
                o_judge.step()
            else:
                o_make.zero_grad()
                d_judge(d_make(noise)).mean().neg().backward()
                o_make.step()
        return [p.detach().clone() for m in (make, judge) for p in m.parameters()]

    _same_bits(ranks(2, work))


def test_activation_checkpoints_of_both_kinds(ranks):
    from torch.utils.checkpoint import checkpoint

    x, y = _data(4)

    torch.manual_seed(5)
    alone = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()

    def work(comm, reentrant):
        model = copy.deepcopy(alone)
        ddp = DistributedDataParallel(model, comm, bucket_bytes=1)
        rows = slice(2 * comm.rank, 2 * comm.rank + 2)
        with ddp.step(2):
            hidden = checkpoint(model[:2], x[rows].clone().requires_grad_(), use_reentrant=reentrant)
            ((model[2](hidden).squeeze(1) - y[rows]) ** 2).mean().backward()
        return _grads(model)

    expected_grads = _expected(alone, x, y)
    for reentrant in (False, True):
        results = ranks(2, lambda comm, reentrant=reentrant: work(comm, reentrant))
        _same_bits(results)
        for got, expected in zip(results[0], expected_grads, strict=True):
            torch.testing.assert_close(got, expected)


def test_another_order_of_use_on_another_rank_is_no_matter(ranks):
    """Buckets go in one order whatever order their gradients come in."""

    def work(comm):
        model = nn.ModuleList([nn.Linear(2, 2) for _ in range(6)])
        ddp = DistributedDataParallel(model, comm, bucket_bytes=1)
        order = list(range(6)) if comm.rank == 0 else [3, 1, 5, 0, 2, 4]
        with ddp.step(1):
            hidden = torch.ones(1, 2)
            for i in order:
                hidden = model[i](hidden)
            hidden.sum().backward()
        return _grads(model)

    _same_bits(ranks(2, work))


def test_buckets_are_launched_while_backward_still_runs(ranks):
    """The last layer's bucket is under way before the first layer has its gradient."""
    seen: list[bool] = []

    def work(comm):
        first, last = nn.Linear(2, 2), nn.Linear(2, 1)
        model = nn.Sequential(first, last)
        ddp = DistributedDataParallel(model, comm, bucket_bytes=1)
        reducer = ddp._reducer
        with ddp.step(1):
            hidden = first(torch.ones(1, 2))
            hidden.register_hook(lambda _: seen.append(reducer._launched > 0))
            last(hidden).sum().backward()

    ranks(2, work)
    assert seen == [True, True]
