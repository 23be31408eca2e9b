"""Samples to rows, CSV, table and picture; buffers filled and checked; options of the command."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree

import numpy as np
import pytest

from sparkdl_ring.bench import Cell, Method, buffers, condition, gates, picture, report
from sparkdl_ring.bench.api import ITEM_BYTES, Sample
from sparkdl_ring.cli.main import parser
from sparkdl_ring.errors import RingError

SMALL, LARGE = Cell("float32", 4), Cell("float32", 1 << 20)
GLOO, RING, MPI = Method("gloo", call="api"), Method("ring", "shm"), Method("mpich", call="c")


def samples(cell, method, *seconds):
    return [Sample(cell, method, s) for s in seconds]


def two_ranks():
    zero = [*samples(SMALL, GLOO, 4e-4, 2e-4, 9e-4), *samples(SMALL, RING, 2e-6, 1e-6, 3e-6)]
    one = [*samples(SMALL, GLOO, 1e-4, 5e-4, 8e-4), *samples(SMALL, RING, 5e-6, 2e-6, 3e-6)]
    rest = [*samples(LARGE, RING, 1e-4), *samples(SMALL, MPI, 6e-6)]
    return report.rows([[*zero, *rest], [*one, *rest]], "quiet")


def test_the_slowest_rank_of_each_sample_counts():
    gloo, ring, *_ = two_ranks()
    assert (gloo.median_s, gloo.min_s, gloo.num_samples) == (5e-4, 4e-4, 3)
    assert (ring.median_s, ring.min_s, ring.num_ranks) == (3e-6, 2e-6, 2)


def test_the_csv_can_be_read_and_holds_the_ratios():
    lines = list(csv.DictReader(io.StringIO(report.to_csv(two_ranks()))))
    assert [line["library"] for line in lines] == ["gloo", "ring", "ring", "mpich"]
    assert lines[1]["gloo_ratio"] == "166.667"
    assert lines[1]["best_mpi_ratio"] == "2.000"
    assert (lines[2]["gloo_ratio"], lines[2]["bytes"]) == ("", "1048576")
    assert float(lines[2]["gb_per_s"]) == pytest.approx(10.486, abs=0.001)
    assert tuple(lines[0]) == report.COLUMNS


def test_the_table_has_a_line_for_each_size():
    text = report.table(two_ranks())
    assert "2 ranks, float32, quiet" in text
    assert "3.0 [2.0] 166.7x" in text
    assert "1 MB" in text


def test_the_picture_is_xml_with_a_line_for_each_method():
    root = ElementTree.fromstring(picture.svg(two_ranks()))
    assert len(root.findall(".//{*}polyline")) == 3
    assert "ring-shm" in picture.svg(two_ranks())


def test_promises_are_judged_where_the_rows_tell():
    verdicts = {v.what: v for v in gates.judge(two_ranks())}
    over_gloo = verdicts["ring-shm (2 ranks, float32, 4 B) against gloo"]
    assert (over_gloo.wanted, over_gloo.holds) == (100.0, True)
    assert verdicts["ring-shm (2 ranks, float32, 4 B) against the best MPI"].found == 2.0
    assert len(verdicts) == 2


def test_under_load_every_way_must_be_as_fast_as_gloo():
    slow = Method("ring", "tcp", call="api")
    loaded = report.rows([[*samples(SMALL, GLOO, 1e-4), *samples(SMALL, slow, 2e-4)]] * 2, "loaded")
    (verdict,) = gates.judge(loaded)
    assert not verdict.holds
    assert gates.table([verdict]).startswith("FAILS      0.50x of 1x  ring-tcp-api")


@pytest.mark.parametrize("dtype", list(ITEM_BYTES))
@pytest.mark.parametrize("num_bytes", [4, 6, 64])
def test_a_buffer_holds_one_value_and_a_wrong_word_is_seen(dtype, num_bytes):
    cell = Cell(dtype, num_bytes)
    words = buffers.words_in(buffers.private(64), cell)
    assert words.nbytes == cell.count * ITEM_BYTES[dtype]
    buffers.fill(words, cell, 3.0)
    if dtype != "bfloat16":
        assert words.view(dtype).tolist() == [3.0] * cell.count
    else:
        assert set(words.view(np.uint16).tolist()) == {0x4040}
    buffers.check(words, cell, 3.0, "ring")
    words[-1] ^= 1
    with pytest.raises(RingError, match="ring gave 1 wrong"):
        buffers.check(words, cell, 3.0, "ring")


def test_busy_loops_end_with_the_block():
    with condition.busy_cores(True):
        pass  # the leak police looks for children


def test_options_are_parsed():
    chosen = parser().parse_args(
        [
            "bench",
            "allreduce",
            "--sizes",
            "4,64k,1M",
            "--ranks",
            "2,4",
            "--load",
            "--mpi",
            "/a",
            "--mpi",
            "/b",
        ]
    )
    assert chosen.sizes == (4, 64 << 10, 1 << 20)
    assert (chosen.ranks, chosen.load, chosen.mpi) == ((2, 4), True, ["/a", "/b"])
