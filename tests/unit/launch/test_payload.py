"""Calls and results as bytes: LOG-063, LOG-066."""

from __future__ import annotations

import pickle
import threading
from collections import namedtuple
from functools import partial

import pytest

from sparkdl_ring.errors import ConfigError, LaunchError
from sparkdl_ring.launch.payload import decode_call, decode_result, encode_call, encode_result

Point = namedtuple("Point", "x y")


def test_lambdas_partials_local_functions_and_named_tuples():
    seen = [1, 2]

    def local(point, scale):
        return point.x * scale + len(seen)

    call = decode_call(encode_call(partial(local, scale=10), [Point(4, 5)], {}))
    assert call() == 42
    assert decode_call(encode_call(lambda **kw: kw, [], {"a": {"b": 1}}))() == {"a": {"b": 1}}


def test_what_cannot_be_sent_is_told():
    with pytest.raises(ConfigError, match="cannot be pickled"):
        encode_call(print, [threading.Lock()], {})
    with pytest.raises(ConfigError, match=r"1\.0 MB.*store"):
        encode_call(print, [bytes(1_000_000)], {}, limit_bytes=1000)
    with pytest.raises(LaunchError, match="lock"):
        encode_result(threading.Lock())


def test_a_missing_module_is_named_with_how_to_ship_it():
    data = pickle.dumps((print, (), {})).replace(b"builtins", b"helperxx")
    with pytest.raises(LaunchError, match=r"'helperxx'.*addPyFile") as caught:
        decode_call(data)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_results_travel():
    assert decode_result(encode_result({"a": Point(1, 2)}), 0) == {"a": Point(1, 2)}
    with pytest.raises(LaunchError, match="rank 3"):
        decode_result(b"junk", 3)
