"""Names that every MLflow server takes (LOG-125), long values (LOG-123)."""

from __future__ import annotations

import posixpath
import re

from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.tracking.names import MAX_NAME, Names, cleaned, shortened

ALLOWED = re.compile(r"[\w\-. :/]+")


def test_the_cases_of_users():
    names = ["val_click rate (%)!", "a/b", "\u00e9!", "y%", "y!"]
    given_names = Names().give(names)
    assert given_names["val_click rate (%)!"] == "val_click rate ____"
    assert given_names["a/b"] == "a/b"
    assert given_names["\u00e9!"] == "\u00e9_"
    assert {given_names["y%"], given_names["y!"]} == {"y_", "y__2"}


def test_a_clean_name_keeps_its_own_whoever_comes_first():
    assert Names().give(["y!", "y_"]) == {"y!": "y__2", "y_": "y_"}


def test_a_name_keeps_its_form_for_good():
    names = Names()
    first = names.give(["y!"])["y!"]
    assert names.give(["y%", "y!"])["y!"] == first


@given(st.lists(st.text(max_size=300), max_size=6))
def test_any_names_become_allowed_distinct_relative_paths(given_names):
    result = Names().give(given_names)
    assert len(set(result.values())) == len(set(given_names))
    for name in result.values():
        assert ALLOWED.fullmatch(name)
        assert posixpath.normpath(name) == name
        assert name not in (".", "..")
        assert not name.startswith(("/", "../"))
        assert len(name) <= MAX_NAME


def test_long_names_stay_apart():
    assert cleaned("x" * 400) != cleaned("x" * 401)


def test_long_values_are_cut_with_a_checksum():
    value = ",".join(f"column_{i:013d}" for i in range(1200))
    short = shortened(value)
    assert len(short) == 250
    assert f"{len(value)} characters" in short
    assert short != shortened(value + "x")
    assert shortened("x" * 250) == "x" * 250
