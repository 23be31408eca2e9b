"""``doctor --ring`` between hosts: the figures are those of the wires."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.netns, pytest.mark.multi]


def test_the_links_of_three_hosts_are_measured(lab):
    base = ["env", "SPARKDL_RING_SECRET=of-this-test", sys.executable, "-m", "sparkdl_ring.cli", "doctor"]
    listed = ",".join(lab.ipv4(host) for host in range(3))
    agents = [["--join", f"{lab.ipv4(0)}:29610", "--place", f"{rank}/3"] for rank in (1, 2)]
    processes = [
        subprocess.Popen(
            lab.command(host, *base, *words, "--wait", "40"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for host, words in enumerate([["--ring", listed], *agents])
    ]
    told = [process.communicate(timeout=90)[0] for process in processes]
    assert f"on {lab.ipv4(2)}:  sparkdl-ring doctor --join {lab.ipv4(0)}:29610 --place 2/3" in told[0]
    rows = [line.split() for line in told[0].splitlines() if line[:5] in ("0 - 1", "0 - 2", "1 - 2")]
    assert len(rows) == 3, told
    for row in rows:
        assert row[3] == "tcp"
        assert 0 < float(row[5]) < 0.25  # GB/s: a wire of 1 Gbit/s and its buffer
        assert "different machines" in " ".join(row)
