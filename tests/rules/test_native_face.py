"""The typed face of the extension is true, and its status codes are tied to our exceptions."""

from __future__ import annotations

import ast
import re

from sources import NATIVE, PACKAGE

from sparkdl_ring import _native, errors


def _stub() -> ast.Module:
    return ast.parse((PACKAGE / "_native.pyi").read_text())


def _public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_every_name_of_the_stub_exists_and_none_is_missing() -> None:
    declared = set()
    for node in _stub().body:
        if isinstance(node, ast.ClassDef):
            declared.add(node.name)
            members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            assert _public(dir(getattr(_native, node.name))) == _public(list(members)), node.name
        elif isinstance(node, ast.FunctionDef):
            declared.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.add(node.target.id)
    assert declared == _public(dir(_native))


def test_every_status_code_has_an_exception() -> None:
    header = (NATIVE / "ring" / "base" / "status.h").read_text()
    named = dict(re.findall(r"k(\w+),\s*// (\w+Error)", header))
    assert (
        len(named) == len(re.findall(r"^  k\w+", header.split("enum class Code")[1].split("};")[0], re.M)) - 1
    )
    assert all(issubclass(getattr(errors, name), errors.RingError) for name in named.values())
    raised = (NATIVE / "python" / "raise.cc").read_text()
    assert all(name in raised for name in named.values())
