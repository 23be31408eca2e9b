"""Names and values that every MLflow server takes; pure rules.

A metric or parameter name may hold letters (accents too), digits, ``_``, ``-``, ``.``, space, ``:`` and
``/``, and must be a plain relative path. Every other character becomes ``_``; a name that then equals another
one gets a number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

MAX_NAME = 250
MAX_VALUE = 250
"""Old servers take no more than 250 characters of a parameter; newer ones 6000."""

_FORBIDDEN = re.compile(r"[^\w\-. :/]")
_EMPTY_PARTS = re.compile(r"(^|/)\.{0,2}(?=/|$)")


def cleaned(name: str) -> str:
    """The name with forbidden characters and path parts (empty, ``.``, ``..``) replaced, at most 250 long."""
    text = _EMPTY_PARTS.sub(r"\1_", _FORBIDDEN.sub("_", name))
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 13]}-{fingerprint(name)}"


def shortened(value: str) -> str:
    """The value, or its beginning with a checksum of the whole when it is longer than 250 characters."""
    if len(value) <= MAX_VALUE:
        return value
    tail = f"... ({len(value)} characters, sha256 {fingerprint(value)})"
    return value[: MAX_VALUE - len(tail)] + tail


def fingerprint(text: str) -> str:
    """Twelve hexadecimal digits of a checksum."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Names:
    """Gives each name one clean form, never the same one to two names, for as long as it lives."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def give(self, names: Iterable[str]) -> dict[str, str]:
        """Clean forms of ``names``. Names that are clean already keep theirs, the others follow in order."""
        names = list(names)
        for name in sorted(set(names) - self._given.keys(), key=lambda n: (cleaned(n) != n, n)):
            self._given[name] = self._free(cleaned(name))
        return {name: self._given[name] for name in names}

    def _free(self, wanted: str) -> str:
        taken, candidate, number = set(self._given.values()), wanted, 1
        while candidate in taken:
            number += 1
            candidate = f"{wanted[: MAX_NAME - 8]}_{number}"
        return candidate
