"""C++ includes look one way: base <- {kernel, plan, backend} <- shm <- transport <- {algo, nccl} <- comm."""

from __future__ import annotations

import re

import pytest
from sources import NATIVE, cpp_files

STOREY = {
    "base": 0,
    "kernel": 1,
    "plan": 1,
    "backend": 1,
    "shm": 2,
    "transport": 3,
    "algo": 4,
    "nccl": 4,
    "comm": 5,
    "python": 6,
}
FORBIDDEN = re.compile(r'#include\s+[<"](Python\.h|pybind11|cuda|nccl|torch|ATen|c10|tensorflow)')
INCLUDE = re.compile(r'#include\s+"([^"]+)"')


def wrong_includes(room: str, text: str) -> list[str]:
    """The includes of one file that look up or sideways, or at a framework."""
    wrong = []
    for path in INCLUDE.findall(text):
        parts = path.split("/")
        target = parts[1] if parts[0] == "ring" and len(parts) > 2 else parts[0]
        if target in STOREY and target != room and STOREY[target] >= STOREY[room]:
            wrong.append(path)
    if room != "python":
        wrong += [m.group(1) for m in FORBIDDEN.finditer(text)]
    return wrong


def test_includes_look_one_way() -> None:
    found = {}
    for path in cpp_files():
        parts = path.relative_to(NATIVE).parts
        room = parts[1] if parts[0] == "ring" else parts[0]
        if room in STOREY and (wrong := wrong_includes(room, path.read_text())):
            found[str(path.relative_to(NATIVE))] = wrong
    assert not found


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("base", '#include "ring/transport/link.h"'),
        ("plan", '#include "ring/kernel/dtype.h"'),
        ("algo", '#include "ring/comm/engine.h"'),
        ("comm", "#include <Python.h>"),
        ("transport", "#include <cuda_runtime.h>"),
    ],
)
def test_a_wrong_include_is_seen(room: str, line: str) -> None:
    assert wrong_includes(room, line)
