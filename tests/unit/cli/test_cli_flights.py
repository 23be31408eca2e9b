"""The demo's data is the real one, read without importing its package."""

from __future__ import annotations

import pytest

from sparkdl_ring.cli import flights
from sparkdl_ring.errors import MissingDependencyError


def test_all_flights_of_2013() -> None:
    taken, every = flights._flights(None)
    assert (len(taken), every) == (336_776, 336_776)
    assert taken["arr_delay"].isna().sum() == 9_430
    assert not {"dep_delay", "dep_time", "air_time", "arr_time"} & set(taken.columns)


def test_a_part_is_spread_over_the_year() -> None:
    taken, _ = flights._flights(1000)
    assert 1000 <= len(taken) < 1010
    assert set(taken["month"]) == set(range(1, 13))


def test_weather_is_one_row_an_hour_and_looks_back_only() -> None:
    weather = flights._weather()
    assert not weather.duplicated(["origin", "hour_utc"]).any()
    one = weather[weather["origin"] == "JFK"].reset_index(drop=True)
    assert one["hour_utc"].is_monotonic_increasing
    wet = one["precip"].idxmax()
    assert one["precip_6h"][wet] == pytest.approx(one["precip"][wet - 5 : wet + 1].sum())
    assert one["visib_6h"][wet] == one["visib"][wet - 5 : wet + 1].min()


def test_a_missing_package_names_the_extra(monkeypatch) -> None:
    monkeypatch.setattr(flights, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="demo"):
        flights.data_dir()
