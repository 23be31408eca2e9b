"""SETTINGS.md tells what ``config`` has, no more and no less."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkdl_ring import config
from sparkdl_ring.cli.main import main
from sparkdl_ring.cli.settings_table import table

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SETTINGS.md").read_text()


def test_the_page_holds_the_table_that_doctor_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--settings"]) == 0
    printed = capsys.readouterr().out
    assert PAGE.endswith("\n\n" + printed), (
        "put what `sparkdl-ring doctor --settings` prints into SETTINGS.md"
    )


def test_the_table_has_one_line_for_each_setting_with_its_variable_and_unit() -> None:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table().splitlines()[2:]]
    assert [cells[0].strip("`") for cells in lines] == [item.name for item in config.explain(environ={})]
    by_name = {cells[0].strip("`"): cells[1:] for cells in lines}
    assert by_name["comm.timeout_s"][:3] == ["`SPARKDL_RING_COMM_TIMEOUT_S`", "seconds", "`300.0`"]
    assert by_name["comm.tls"][:3] == ["`SPARKDL_RING_COMM_TLS`", "true, false", "`false`"]
    assert by_name["comm.interface"][2] == "empty"
    allowed = {"comm.transport": "tcp", "comm.device": "staged", "comm.socket_buffer_bytes": "65536"}
    for name, cells in by_name.items():
        variable = cells[0].strip("`")
        (found,) = [
            item for item in config.explain(environ={variable: allowed.get(name, "1")}) if item.name == name
        ]
        assert found.source == f"environment {variable}"  # each variable is one that is read


def test_a_variable_of_the_table_is_the_one_that_is_read() -> None:
    assert config.resolve(environ={config.env_name("comm.streams"): "3"}).comm.streams == 3
