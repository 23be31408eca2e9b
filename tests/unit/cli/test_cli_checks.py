"""Doctor: one line per finding, with what to do, and a status that scripts can use."""

from __future__ import annotations

import pytest

from sparkdl_ring.cli import checks, doctor
from sparkdl_ring.cli.checks import Finding
from sparkdl_ring.cli.main import main, parser


def test_every_check_gives_one_line_findings() -> None:
    for check in checks.ALL:
        findings = check()
        assert findings
        for finding in findings:
            assert finding.name
            assert finding.detail
            assert "\n" not in finding.detail
            assert finding.state == "ok" or finding.advice


def test_a_failure_makes_the_status_one_and_is_named(capsys) -> None:
    def broken() -> list[Finding]:
        return [Finding("thing", "fail", "gone", "bring it back"), Finding("other", "warn", "odd", "look")]

    assert doctor.run([broken]) == 1
    printed = capsys.readouterr().out
    assert "FAIL  thing  gone  ->  bring it back" in printed
    assert "must be fixed: thing" in printed


def test_warnings_do_not_fail(capsys) -> None:
    assert doctor.run([lambda: [Finding("x", "warn", "odd", "look")]]) == 0
    assert "all that is required is there" in capsys.readouterr().out


def test_a_missing_package_names_its_extra(monkeypatch) -> None:
    def missing(name: str) -> str:
        raise checks.PackageNotFoundError(name)

    monkeypatch.setattr(checks, "version", missing)
    found = {finding.name: finding for finding in checks.packages()}
    assert (found["torch"].state, found["torch"].advice) == ("warn", 'pip install "sparkdl-ring[torch]"')
    assert found["pyspark"].state == "fail"


def test_missing_shared_memory_is_told(tmp_path) -> None:
    (finding,) = checks.shared_memory(tmp_path / "none")
    assert finding.state == "warn"
    assert "TCP" in finding.advice


def test_settings_show_their_source(monkeypatch) -> None:
    monkeypatch.setenv("SPARKDL_RING_COMM_TIMEOUT_S", "7")
    found = {finding.name: finding.detail for finding in checks.settings()}
    assert found["comm.timeout_s"] == "7.0 (environment SPARKDL_RING_COMM_TIMEOUT_S)"


def test_a_wrong_setting_fails(monkeypatch) -> None:
    monkeypatch.setenv("SPARKDL_RING_COMM_TIMEOUT_S", "soon")
    (finding,) = checks.settings()
    assert finding.state == "fail"
    assert "comm.timeout_s" in finding.detail


def test_demo_options(tmp_path) -> None:
    arguments = parser().parse_args(["demo", "--rows", "500", "--epochs", "2", "--out", str(tmp_path)])
    assert (arguments.rows, arguments.epochs, arguments.workers, arguments.out) == (500, 2, 2, tmp_path)


@pytest.mark.parametrize("argv", [[], ["nothing"], ["demo", "--epochs", "0"]])
def test_wrong_arguments_end_with_two(argv: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_our_errors_become_one_line(monkeypatch, capsys) -> None:
    def fail() -> int:
        raise checks.RingError("no luck")

    monkeypatch.setattr(doctor, "run", fail)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "sparkdl-ring: no luck\n"
