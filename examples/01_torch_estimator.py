"""A PyTorch model in a Spark ML Pipeline: fit on two barrier tasks, transform, evaluate, save, load.

Run: python examples/01_torch_estimator.py
"""

from __future__ import annotations

import tempfile

import torch
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import StandardScaler, VectorAssembler
from pyspark.sql import DataFrame, SparkSession

from sparkdl_ring import TorchEstimator
from sparkdl_ring.launch.session import local_session


def rings(spark: SparkSession, rows: int) -> DataFrame:
    """Points of the plane; the label is 1 inside a circle, which no linear model can tell."""
    points = spark.range(0, rows, 1, 4).selectExpr("4 * rand(1) - 2 AS x", "4 * rand(2) - 2 AS y")
    return points.selectExpr("x", "y", "double(x * x + y * y < 1.5) AS inside").cache()


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))


def main() -> None:
    spark = local_session(slots=2, app_name="example")
    train, test = rings(spark, 20_000).randomSplit([0.8, 0.2], seed=1)
    estimator = TorchEstimator(
        model=network(),
        loss=torch.nn.functional.binary_cross_entropy_with_logits,
        optimizer=torch.optim.AdamW,
        learning_rate=1e-2,
        feature_cols=["features"],
        label_cols=["inside"],
        batch_size=256,
        epochs=3,
        num_workers=2,
        validation=0.1,
        seed=1,
        output_transform=torch.sigmoid,
        tracking="none",  # "mlflow" is the default
        on_epoch=lambda record: print(f"epoch {record.epoch + 1}: {dict(record.metrics)}"),
    )
    assemble = VectorAssembler(inputCols=["x", "y"], outputCol="raw")
    scale = StandardScaler(inputCol="raw", outputCol="features", withMean=True)
    fitted = Pipeline(stages=[assemble, scale, estimator]).fit(train)

    scored = fitted.transform(test)
    scored.select("x", "y", "inside", "prediction").show(5)
    auc = BinaryClassificationEvaluator(labelCol="inside", rawPredictionCol="prediction").evaluate(scored)
    print(f"AUC {auc:.4f}")
    assert auc > 0.95

    with tempfile.TemporaryDirectory() as folder:
        fitted.save(f"{folder}/pipeline")
        again = PipelineModel.load(f"{folder}/pipeline").transform(test)
        assert again.select("prediction").collect() == scored.select("prediction").collect()
    spark.stop()


if __name__ == "__main__":
    main()
