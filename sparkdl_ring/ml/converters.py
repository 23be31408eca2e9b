"""From what a user passes to the plain JSON value a Param holds; NumPy scalars and arrays are welcome."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sparkdl_ring import config

Converter = Callable[[Any], Any]


def to_count(value: Any) -> int:
    """A whole number of at least 1 (``8``, ``np.int64(8)``, ``8.0``)."""
    number = to_int(value)
    if number < 1:
        raise TypeError(f"it must be at least 1, got {value!r}")
    return number


def to_int(value: Any) -> int:
    """A whole number."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"it must be a whole number, got {value!r}")
    return operator.index(value)


def to_rate(value: Any) -> float:
    """A number above 0."""
    number = to_float(value)
    if not 0 < number < float("inf"):
        raise TypeError(f"it must be a number above 0, got {value!r}")
    return number


def to_float(value: Any) -> float:
    """A number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        raise TypeError(f"it must be a number, got {value!r}")
    # float(np.float32(0.1)) is 0.10000000149; the shortest decimal is what the user wrote.
    return float(str(value)) if isinstance(value, np.floating) else float(value)


def to_bool(value: Any) -> bool:
    """``True`` or ``False``."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"it must be True or False, got {value!r}")
    return bool(value)


def to_text(value: Any) -> str:
    """A string that is not empty."""
    if not isinstance(value, str) or not value:
        raise TypeError(f"it must be a string that is not empty, got {value!r}")
    return str(value)


def to_names(value: Any) -> list[str]:
    """Column names: one string, or a list, tuple or array of different strings."""
    values = [value] if isinstance(value, str) else _items(value)
    names = [to_text(item) for item in values]
    if not names or len(set(names)) != len(names):
        raise TypeError(f"it must be one or more different column names, got {value!r}")
    return names


def to_floats(value: Any) -> list[float]:
    """A list of numbers."""
    return [to_float(item) for item in _items(value)]


def to_validation(value: Any) -> float | str:
    """A share of the rows in (0, 1), or the name of a column that marks validation rows."""
    if isinstance(value, str):
        return to_text(value)
    share = to_float(value)
    if not 0 < share < 1:
        raise TypeError(f"a share must lie between 0 and 1, got {value!r}; or give the name of a column")
    return share


def to_settings(value: Any) -> dict[str, Any]:
    """Overrides of settings, ``{"comm.timeout_s": 5.0}``; unknown names and wrong types are refused."""
    if not isinstance(value, Mapping):
        raise TypeError(f"it must be a dict of settings, got {value!r}")
    plain = {str(name): _plain(item) for name, item in value.items()}
    config.resolve(plain)
    return plain


def one_of(*allowed: str) -> Converter:
    """A converter that accepts exactly these strings."""

    def convert(value: Any) -> str:
        if value not in allowed:
            raise TypeError(f"it must be one of {', '.join(map(repr, allowed))}, got {value!r}")
        return str(value)

    return convert


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)):
        raise TypeError(f"it must be a list, got {value!r}")
    return list(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
