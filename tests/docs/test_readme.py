"""The README's Python runs as printed, and its commands exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.S)


def _run(block: str, names: dict[str, Any]) -> Any:
    """Runs a block and returns the value of its last expression, as a notebook would show it."""
    tree = ast.parse(block)
    last = tree.body.pop()
    exec(compile(tree, "README.md", "exec"), names)
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "README.md", "eval"), names)


@pytest.mark.spark
@pytest.mark.slow
def test_the_estimator_block_trains_and_predicts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)
    rows = [([i / 60, 1 - i / 60, 0.5], 3.0 * i / 60) for i in range(60)]
    df = spark.createDataFrame(rows, "features array<double>, label double")
    names: dict[str, Any] = {"__name__": "readme", "df": df}
    predictions = _run(BLOCKS[0], names).collect()
    assert len(predictions) == 60
    assert all(isinstance(row.prediction, float) for row in predictions)
    history = names["fitted"].history
    assert [record.epoch for record in history] == [0, 1, 2]
    assert history[-1].metrics["val_loss"] < history[0].metrics["val_loss"]


@pytest.mark.multi
def test_the_run_block_gives_what_it_prints() -> None:
    shown = README.split(BLOCKS[1])[0]
    assert "sparkdl-ring doctor" in README
    assert shown
    result = _run(BLOCKS[1], {"__name__": "readme"})
    printed = ast.literal_eval(re.findall(r"^# (\[\[.*)$", BLOCKS[1], re.M)[0])
    assert result == printed


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"make ([a-z-]+)", README)) <= targets
