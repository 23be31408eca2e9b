"""A fit with a store and a run_name goes on where an unfinished one of the same steps ended."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from sparkdl_ring import TorchEstimator
from sparkdl_ring.errors import TaskFailedError

ROWS, BATCH, EPOCHS = 12, 3, 4
STEPS_AN_EPOCH = 2  # 12 rows over 2 tasks in batches of 3


def _failing_loss(flag: str) -> Any:
    """Mean squared error that raises in the third epoch while ``flag`` exists."""
    calls = [0]

    def loss(output: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        calls[0] += 1
        if calls[0] > 2 * STEPS_AN_EPOCH and os.path.exists(flag):
            raise RuntimeError("power cut")
        return torch.nn.functional.mse_loss(output, label)

    return loss


def _fit(df: Any, model: torch.nn.Module, flag: Path, seen: list[int], **params: Any) -> Any:
    given = {"run_name": "nightly", "seed": 3, **params}
    return TorchEstimator(
        model=model,
        loss=_failing_loss(str(flag)),
        optimizer=lambda p: torch.optim.Adam(p, lr=0.05),
        feature_cols=["x"],
        label_cols=["y"],
        batch_size=BATCH,
        epochs=EPOCHS,
        num_workers=2,
        launcher="local",
        tracking="none",
        on_epoch=lambda record: seen.append(record.epoch),
        **given,
    ).fit(df)


def _model(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0))


@pytest.mark.spark
@pytest.mark.slow
def test_an_unfinished_fit_goes_on_and_a_finished_one_does_not(spark: Any, tmp_path: Path) -> None:
    df = spark.createDataFrame([([i / 4, 1.0], float(i)) for i in range(ROWS)], "x array<float>, y float")
    flag, store = tmp_path / "flag", str(tmp_path / "store")
    seen: list[int] = []
    first = _model(1)
    undisturbed = _fit(df, copy.deepcopy(first), flag, seen, store=str(tmp_path / "other"))

    flag.touch()
    with pytest.raises(TaskFailedError, match="power cut"):
        _fit(df, copy.deepcopy(first), flag, seen, store=store)
    flag.unlink()

    resumed = _fit(df, _model(2), flag, seen, store=store)  # other weights: those of the checkpoint count
    assert [r.metrics for r in resumed.history] == [r.metrics for r in undisturbed.history]
    weights = resumed.module().state_dict()
    assert all(torch.equal(weights[k], v) for k, v in undisturbed.module().state_dict().items())

    again = _fit(df, _model(2), flag, seen, store=store)
    assert again.history[0].metrics != resumed.history[0].metrics, "a finished run must not be continued"


@pytest.mark.spark
@pytest.mark.slow
def test_other_steps_or_resume_off_start_anew(spark: Any, tmp_path: Path) -> None:
    df = spark.createDataFrame([([i / 4, 1.0], float(i)) for i in range(ROWS)], "x array<float>, y float")
    flag, store = tmp_path / "flag", str(tmp_path / "store")
    flag.touch()
    with pytest.raises(TaskFailedError, match="power cut"):
        _fit(df, _model(1), flag, [], store=store)
    flag.unlink()
    fresh = _fit(df, _model(2), flag, [], store=str(tmp_path / "other"))
    off = _fit(df, _model(2), flag, [], store=store, resume=False)
    assert off.history[0].metrics == fresh.history[0].metrics
    other_seed = _fit(df, _model(2), flag, [], store=store, seed=4)
    assert other_seed.history[0].metrics != off.history[0].metrics


def test_the_identity_of_a_fit_is_the_same_in_every_process() -> None:
    program = (
        "import torch\n"
        "from sparkdl_ring.ml.torch_trainee import TorchTrainee\n"
        "from sparkdl_ring.torch import TorchSpec\n"
        "scale = 2.0\n"
        "loss = lambda o, y: scale * torch.nn.functional.mse_loss(o, y)\n"
        "spec = TorchSpec(torch.nn.Linear(2, 1), loss, lambda p: torch.optim.SGD(p, lr=0.1), {'m': loss})\n"
        "print(TorchTrainee(spec).identity)\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for _ in range(2)
    }
    assert len(answers) == 1
