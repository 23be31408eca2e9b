"""Petastorm loads on current pyarrow without a trace outside its own modules."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sparkdl_ring.data.petastorm_arrow import GoneError, load
from sparkdl_ring.errors import MissingDependencyError

PROBE = """
import logging, random, sys, warnings
import numpy as np, numpy.typing, pyarrow as pa
random.seed(1)
np.random.seed(1)

def state():
    return (sorted(vars(np)), sorted(vars(pa)), sorted(vars(pa.lib)), random.getstate(),
            str(np.random.get_state()), list(logging.root.handlers),
            sorted(name for name in sys.modules if name.startswith("pyarrow.") and "__" not in name))

import pandas, pyarrow.parquet, pyarrow.pandas_compat
before, filters = state(), list(warnings.filters)
from sparkdl_ring.data.petastorm_arrow import load
assert "petastorm" not in sys.modules
load("petastorm.reader")
after = state()
assert [x == y for x, y in zip(before, after)] == [True] * len(before), set(after[-1]) ^ set(before[-1])
assert warnings.filters == filters
import petastorm.unischema
assert petastorm.unischema.np.unicode_ is np.str_
assert not hasattr(np, "unicode_")
"""


def test_loading_leaves_no_trace_and_prints_nothing() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE], capture_output=True, text=True, timeout=100, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_names_of_old_pyarrow_can_be_named_but_not_used() -> None:
    utils = load("petastorm.utils")
    with pytest.raises(GoneError, match=r"sparkdl_ring\.data"):
        utils.LocalFileSystem()


def test_petastorm_sees_old_numpy_names() -> None:
    view = load("petastorm.unischema").np
    assert view.string_ is np.bytes_
    assert view.float32 is np.float32
    with pytest.raises(AttributeError):
        _ = view.no_such_name


def test_petastorms_own_schema_works() -> None:
    module = load("petastorm.unischema")
    schema = module.Unischema("rows", [module.UnischemaField("x", np.float32, (), None, False)])
    assert schema.make_namedtuple(x=1.0).x == 1.0


def test_a_missing_petastorm_names_the_extra() -> None:
    with pytest.raises(MissingDependencyError, match=r"sparkdl-ring\[spark\]"):
        load("petastorm_that_is_not_installed")
