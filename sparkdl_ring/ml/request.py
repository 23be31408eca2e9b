"""What one fit is asked to do, taken from the Params once and checked as far as no data is needed."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from typing import Any

from sparkdl_ring import config
from sparkdl_ring.config import RingConfig
from sparkdl_ring.data import Split, check_columns
from sparkdl_ring.errors import ConfigError, SchemaError
from sparkdl_ring.launch import Launcher
from sparkdl_ring.launch.preflight import check_slots
from sparkdl_ring.launch.registry import named_launcher
from sparkdl_ring.launch.spark import SparkLauncher
from sparkdl_ring.ml.params import FitParams
from sparkdl_ring.ml.trainee import Roles
from sparkdl_ring.ml.workplace import check_place


@dataclass(frozen=True)
class Request:
    """One fit, resolved.

    Args:
        id: Names the fit in its store.
        roles: Columns.
        split: Rows kept apart.
        launcher: Where tasks run.
        config: Settings.
        params: Every Param by name, the seed drawn where none was given.
    """

    id: str
    roles: Roles
    split: Split
    launcher: Launcher
    config: RingConfig
    params: dict[str, Any]

    @classmethod
    def of(cls, estimator: FitParams, spark: Any) -> Request:
        """The request of an estimator.

        Args:
            estimator: Where the Params are.
            spark: The session of the frame.

        Raises:
            ConfigError: Params are missing or contradict each other.
        """
        params = {param.name: estimator.getOrDefault(param) for param in estimator.params}
        seed = secrets.randbelow(1 << 31) if params["seed"] is None else params["seed"]
        on_spark = params["launcher"] == "spark"
        launcher: Launcher = SparkLauncher(spark) if on_spark else named_launcher(params["launcher"])
        spark_conf = SparkLauncher(spark).platform_settings()
        return cls(
            id=uuid.uuid4().hex,
            roles=_roles(params),
            split=Split(params["validation"], seed),
            launcher=launcher,
            config=config.resolve(params["settings"], spark_conf=spark_conf),
            params={**params, "seed": seed},
        )

    def check(self, df: Any) -> None:
        """Refuses what the schema, the slots or the store make impossible; starts no training task.

        Raises:
            SchemaError: Columns are missing, of types that cannot be used, or hidden by predictions.
            NotEnoughTasksError: There are fewer slots than tasks.
            ConfigError: There is no store.
            StoreError: The store cannot be written.
        """
        check_columns(df.schema, self.roles.wanted, self.split)
        hidden = sorted(set(self.roles.predictions) & set(self.roles.wanted))
        if hidden:
            raise SchemaError(
                f"prediction column(s) {hidden} are features or labels too: name them otherwise"
            )
        if self.config.launch.preflight:
            if self.params["launcher"] == "spark":
                check_slots(df.sparkSession, self.params["num_workers"])
            check_place(self.params["store"], df.sparkSession)


def _roles(params: dict[str, Any]) -> Roles:
    missing = [name for name in ("feature_cols", "label_cols") if params[name] is None]
    if missing:
        raise ConfigError(f"{' and '.join(missing)} must be set before fit")
    labels = tuple(params["label_cols"])
    predictions = params["prediction_cols"] or default_predictions(labels)
    return Roles(tuple(params["feature_cols"]), labels, tuple(predictions))


def default_predictions(labels: tuple[str, ...]) -> tuple[str, ...]:
    """``prediction``, or ``prediction_<label>`` for several labels."""
    return ("prediction",) if len(labels) == 1 else tuple(f"prediction_{label}" for label in labels)
