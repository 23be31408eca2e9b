"""CrossValidator with parallelism 2: two fits at once take turns on the slots, and every setting counts."""

from __future__ import annotations

import gc

import pytest
import torch
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder

from sparkdl_ring.ml import TorchEstimator, TorchModel

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    # CrossValidator leaves its thread pool to the garbage collector, which complains.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_cross_validation_in_parallel(spark, tmp_path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    before = model.weight.clone()
    estimator = TorchEstimator(
        model=model,
        loss=torch.nn.functional.mse_loss,
        optimizer=torch.optim.SGD,
        feature_cols="x",
        label_cols="y",
        num_workers=2,
        batch_size=2,
        epochs=3,
        seed=1,
        tracking="none",
    )
    frame = spark.range(0, 40, 1, 2).selectExpr("array(double(id % 4), 1D) AS x", "double(3 * (id % 4)) AS y")
    grid = ParamGridBuilder().addGrid(estimator.learning_rate, [1e-6, 0.05]).build()
    evaluator = RegressionEvaluator(labelCol="y", predictionCol="prediction")
    search = CrossValidator(
        estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, parallelism=2, seed=7
    )
    found = search.fit(frame)
    slow, quick = found.avgMetrics
    assert quick < slow / 2
    assert isinstance(found.bestModel, TorchModel)
    assert torch.equal(model.weight, before)
    found.save(str(tmp_path / "cv"))
    again = CrossValidatorModel.load(str(tmp_path / "cv"))
    assert again.transform(frame).collect() == found.transform(frame).collect()
    del found, again, search
    gc.collect()  # so that the complaint comes here
