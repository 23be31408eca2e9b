"""Estimators and models for Spark ML pipelines."""

from sparkdl_ring.ml.torch import TorchEstimator, TorchModel

__all__ = ["TorchEstimator", "TorchModel"]
