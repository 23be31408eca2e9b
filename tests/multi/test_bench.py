"""Tiny runs of the benches: every method takes part and its results are right. No time is looked at."""

from __future__ import annotations

import csv

import pytest

from sparkdl_ring.bench import Plan, mpi
from sparkdl_ring.cli.main import main

pytestmark = [pytest.mark.multi]


@pytest.fixture
def fake_mpi(tmp_path):
    """An ``mpirun`` that tells two sizes and an ``mpicc`` that compiles nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    answers = {
        "mpirun": '[ "$1" = --version ] && echo "mpirun (Open MPI) 9" || printf "4 0.5\\n65536 0.25\\n"',
        "mpicc": 'while [ "$1" != -o ]; do shift; done; : > "$2"',
    }
    for name, line in answers.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return folder / "mpirun"


def test_allreduce(tmp_path, fake_mpi, capsys):
    pytest.importorskip("torch")
    table, picture = tmp_path / "rows.csv", tmp_path / "rows.svg"
    options = ["--ranks", "2", "--sizes", "4,64k", "--rounds", "1", "--sample-ms", "1", "--load"]
    files = ["--csv", str(table), "--picture", str(picture), "--mpi", str(fake_mpi)]
    assert main(["bench", "allreduce", *options, *files]) == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    for dtype in Plan().dtypes:
        mine = [row for row in rows if row["dtype"] == dtype]
        methods = {(row["library"], row["transport"], row["call"]) for row in mine}
        ring = {("ring", transport, call) for transport in ("shm", "tcp") for call in ("native", "api")}
        assert methods >= {*ring, ("gloo", "", "api")}
        assert {row["bytes"] for row in mine} == {"4", "65536"}
        assert all(float(row["median_us"]) > 0 and row["condition"] == "loaded" for row in mine)
    assert [(r["dtype"], r["median_us"]) for r in rows if r["library"] == "openmpi"] == [
        ("float32", "500000.00"),
        ("float32", "250000.00"),
    ]
    assert picture.read_text().startswith("<svg")
    assert "2 ranks, bfloat16, loaded" in capsys.readouterr().out


@pytest.mark.skipif(not mpi.found(), reason="needs an MPI on the path")
def test_a_real_mpi(tmp_path):
    plan = Plan(dtypes=("float32",), sizes=(4, 65536), rounds=1, sample_s=0.001, mpi=mpi.found())
    (program,) = mpi.programs(plan, tmp_path)
    assert [sample.cell.num_bytes for sample in program.run(2)] == [4, 65536]


def test_ddp(tmp_path, capsys):
    pytest.importorskip("torch")
    table = tmp_path / "rows.csv"
    small = ["--width", "16", "--layers", "2", "--batch", "2", "--rounds", "1", "--steps", "2"]
    assert main(["bench", "ddp", *small, "--csv", str(table)]) == 0
    rows = {row["method"]: row for row in csv.DictReader(table.read_text().splitlines())}
    assert {"none", "gloo", "hook", "gloo-views", "hook-views", "ring"} == set(rows)
    assert rows["gloo"]["gloo_share"] == "1.0000"
    assert all(row["steps"] == "2" for row in rows.values())
    assert "of gloo" in capsys.readouterr().out


def test_wrong_names_are_refused(capsys):
    assert main(["bench", "allreduce", "--dtypes", "float99"]) == 1
    assert "float99 is not measured" in capsys.readouterr().err
