"""The Spark ML Estimator of every framework: check first, then fit."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from pyspark.ml import Estimator

from sparkdl_ring.ml.fitted import Fitted
from sparkdl_ring.ml.fitting import Fitting
from sparkdl_ring.ml.model import RingModel
from sparkdl_ring.ml.params import FitParams
from sparkdl_ring.ml.persistence import RingReadWrite
from sparkdl_ring.ml.progress import OnEpoch
from sparkdl_ring.ml.record import new_tracker
from sparkdl_ring.ml.request import Request
from sparkdl_ring.ml.trainee import Trainee
from sparkdl_ring.ml.workplace import workplace


class RingEstimator(Estimator, FitParams, RingReadWrite):  # type: ignore[misc]
    """Trains on the barrier tasks of a Spark session.

    Args:
        on_epoch: Called on the driver with the figures of each epoch while tasks run; not saved.
    """

    def __init__(self, on_epoch: OnEpoch | None = None) -> None:
        super().__init__()
        self.on_epoch = on_epoch

    @abstractmethod
    def _trainee(self) -> Trainee:
        """What is trained, with the Params of this moment."""

    @abstractmethod
    def _model(self, fitted: Fitted) -> RingModel:
        """The Spark ML Model of a finished fit."""

    def _fit(self, dataset: Any) -> RingModel:
        request, trainee = Request.of(self, dataset.sparkSession), self._trainee()
        trainee.check(request.roles)
        request.check(dataset)
        payload = trainee.payload()
        tracker = new_tracker(request.params["tracking"], request.params["experiment"])
        with workplace(request.params["store"]) as store:
            fitting = Fitting(request, trainee, payload, store, tracker, self.on_epoch)
            model = self._model(fitting.run(dataset))
        self._copyValues(model)
        model.setParams(prediction_cols=list(request.roles.predictions))
        return model
