"""No file past 400 lines, no function past 60, headers at most 200; medians stay small."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import lizard
from sources import NATIVE, PACKAGE, ROOT, cpp_files, python_files

MAX_FILE, MAX_HEADER, MAX_FUNCTION = 400, 200, 60
MAX_MEDIAN_FILE, MAX_MEDIAN_FUNCTION = 120, 10


@cache  # reading all sources takes seconds
def functions(path: Path) -> list[Any]:
    return list(lizard.analyze_file(str(path)).function_list)


def test_files_are_short() -> None:
    long = {}
    for path in [*python_files(), *cpp_files()]:
        lines = len(path.read_text().splitlines())
        if lines > (MAX_HEADER if path.suffix == ".h" else MAX_FILE):
            long[str(path.relative_to(ROOT))] = lines
    assert not long


def test_functions_are_short() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{f.start_line} {f.name}": f.length
        for path in [*python_files(), *cpp_files()]
        for f in functions(path)
        if f.length > MAX_FUNCTION
    }
    assert not long


def test_medians_are_small() -> None:
    for files in (sorted(PACKAGE.rglob("*.py")), [p for p in cpp_files() if NATIVE / "ring" in p.parents]):
        assert median(len(p.read_text().splitlines()) for p in files) <= MAX_MEDIAN_FILE
        lengths = [f.length for p in files for f in functions(p)]
        assert median(lengths) <= MAX_MEDIAN_FUNCTION
