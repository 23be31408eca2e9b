"""Who is measured, and how the figures are told."""

from __future__ import annotations

import pytest

from sparkdl_ring.bench.links import LinkFigures, pairs_of, slow_links
from sparkdl_ring.cli.ring import join, places, table
from sparkdl_ring.errors import ConfigError


def link(pair, slower, transport="tcp"):
    return LinkFigures(pair, transport, f"{transport}: as it is", 1e-4, 2 * slower, slower)


def test_this_host_counts_once():
    assert places("localhost,10.9.9.1,10.9.9.2") == ("localhost", ("10.9.9.1", "10.9.9.2"))
    assert places("localhost,localhost") == ("localhost", ("localhost",))


def test_this_host_takes_part_unasked():
    name, others = places("10.9.9.1")
    assert name
    assert others == ("10.9.9.1",)


def test_hosts_may_lie_in_a_file(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("# rack 1\n10.9.9.1:22\n\nlocalhost  # here\n[fd09::1]\n")
    assert places(str(file)) == ("localhost", ("10.9.9.1", "fd09::1"))


@pytest.mark.parametrize("wish", ["localhost", ",", " "])
def test_nobody_to_measure_is_refused(wish):
    with pytest.raises(ConfigError, match="--ring"):
        places(wish)


@pytest.mark.parametrize(
    ("address", "place"),
    [("10.0.0.1", "1/2"), ("10.0.0.1:1", ""), ("10.0.0.1:1", "0/2"), ("10.0.0.1:1", "2/2")],
)
def test_a_command_that_was_not_copied_whole_is_refused(address, place):
    with pytest.raises(ConfigError, match="copy the command"):
        join(address, place)


def test_few_ranks_are_measured_in_all_pairs_and_many_are_not():
    assert pairs_of(3) == [(0, 1), (0, 2), (1, 2)]
    assert len(pairs_of(100)) < 200
    assert {rank for pair in pairs_of(100) for rank in pair} == set(range(100))


def test_a_slow_link_is_slow_among_its_like():
    links = [link((0, 1), 1e9), link((0, 2), 1e9), link((1, 2), 3e8), link((0, 3), 1e8, "shm")]
    assert [found.pair for found in slow_links(links)] == [(1, 2)]
    assert slow_links(links[:1]) == []


def test_the_table_tells_ranks_figures_and_reasons():
    text = table(["a 10.0.0.1", "b 10.0.0.2"], [link((0, 1), 1.25e8)])
    assert "rank 1: b 10.0.0.2" in text
    assert text.splitlines()[-1].split() == ["0", "-", "1", "tcp", "100", "0.250", "0.125", "as", "it", "is"]
