"""The plan that is printed is the one that runs."""

from __future__ import annotations

import pytest

from sparkdl_ring.cli.main import main


def plan(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", *words]) == 0
    return capsys.readouterr().out


def test_small_messages_are_exchanged(capsys):
    text = plan(capsys, "--ranks", "4", "--bytes", "4")
    assert "exchange among 4 hosts" in text
    assert "12 bytes leave each host" in text


def test_large_ones_go_round_the_ring_and_say_why_not_otherwise(capsys):
    text = plan(capsys, "--ranks", "4", "--bytes", "67108864")
    assert "ring among 4 hosts" in text
    assert "100663296 bytes leave each host" in text
    assert "not exchange" in text


def test_two_ranks_a_host_share_the_bytes_of_the_host(capsys):
    text = plan(capsys, "--ranks", "8", "--hosts", "4", "--bytes", "67108864")
    assert "on 2 rails" in text
    assert "100663296 bytes leave each host" in text
    assert "in shared memory" in text


def test_compression_halves_them(capsys):
    text = plan(capsys, "--ranks", "2", "--bytes", "67108864", "--compress", "bf16")
    assert "33554432 bytes leave each host" in text


def test_one_host_uses_no_wire(capsys):
    assert "on the wire: nothing" in plan(capsys, "--ranks", "4", "--hosts", "1", "--bytes", "1000")


def test_the_simulation_goes_to_ten_thousand_ranks(capsys):
    text = plan(capsys, "--ranks", "8", "--hosts", "4", "--bytes", "1048576", "--simulate")
    rows = text.split("bytes a host\n")[1].splitlines()
    assert rows[0].split()[:2] == ["8", "4"]
    assert rows[-1].split()[:2] == ["10000", "5000"]
    times = [float(row.split()[3]) for row in rows]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--ranks", "2", "--hosts", "3", "--bytes", "4"], "2 ranks on 3"),
        (["--ranks", "2", "--bytes", "-4"], "--bytes"),
        (["--ranks", "2", "--bytes", "8", "--dtype", "float64", "--compress", "bf16"], "float64"),
        (["--ranks", "2", "--bytes", "8", "--mbit", "0"], "more than 0 bytes"),
    ],
)
def test_what_makes_no_plan_is_refused(capsys, words, part):
    assert main(["plan", *words]) == 1
    assert part in capsys.readouterr().err
