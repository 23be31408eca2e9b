"""``sparkdl-ring doctor``: what is there, what is missing, what to do."""

from __future__ import annotations

from collections.abc import Iterable

from sparkdl_ring.cli.checks import ALL, Check, Finding

_MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


def run(checks: Iterable[Check] = ALL) -> int:
    """Prints one line per finding.

    Args:
        checks: The checks to run.

    Returns:
        0, or 1 when something required fails.
    """
    findings = [finding for check in checks for finding in check()]
    width = max((len(finding.name) for finding in findings), default=0)
    for finding in findings:
        print(line(finding, width))
    failed = [finding.name for finding in findings if finding.state == "fail"]
    print(f"\nmust be fixed: {', '.join(failed)}" if failed else "\nall that is required is there")
    return 1 if failed else 0


def line(finding: Finding, width: int) -> str:
    """One finding as text.

    Args:
        finding: The finding.
        width: Characters of the longest name.
    """
    advice = f"  ->  {finding.advice}" if finding.advice else ""
    return f"{_MARKS[finding.state]}  {finding.name:<{width}}  {finding.detail}{advice}"
