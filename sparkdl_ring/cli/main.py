"""The console command: one verb per module, loaded when it is asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sparkdl_ring._version import __version__
from sparkdl_ring.cli import bench, plan
from sparkdl_ring.errors import RingError


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a verb.

    Args:
        argv: Arguments after the program's name; default those of this process.

    Returns:
        The exit status: 0 when all is well, 1 when the verb failed, 2 for wrong arguments.
    """
    arguments = parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except RingError as error:
        print(f"sparkdl-ring: {error}", file=sys.stderr)
        return 1
    return status


def parser() -> argparse.ArgumentParser:
    """All verbs and their options."""
    top = argparse.ArgumentParser(prog="sparkdl-ring", description="Distributed deep learning on Spark.")
    top.add_argument("--version", action="version", version=__version__)
    verbs = top.add_subparsers(required=True, metavar="VERB")
    _add_doctor(verbs)
    _add_demo(verbs)
    bench.add_to(verbs)
    plan.add_to(verbs)
    return top


def _add_doctor(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("doctor", help="what is installed, what is missing, what to do")
    either = verb.add_mutually_exclusive_group()
    either.add_argument(
        "--ring",
        metavar="HOSTS",
        help="measure the links of these hosts (commas, or a file)",
    )
    either.add_argument("--join", metavar="HOST:PORT", help="take part in such a measurement")
    either.add_argument("--settings", action="store_true", help="print all settings as a table")
    verb.add_argument("--place", default="", metavar="RANK/SIZE", help="with --join: as it was printed")
    verb.add_argument("--port", type=_count, default=29610, help="with --ring: the port the others come to")
    verb.add_argument("--wait", type=float, default=600.0, metavar="S", help="seconds to wait for the others")
    verb.set_defaults(run=_doctor)


def _add_demo(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("demo", help="train on the New York flights of 2013")
    verb.add_argument("--rows", type=_count, help="flights to take, evenly over the year (default: all)")
    verb.add_argument("--epochs", type=_count, default=4, help="passes over the training rows")
    verb.add_argument("--workers", type=_count, default=2, help="training tasks")
    verb.add_argument(
        "--out", type=Path, default=Path(".demo"), help="folder for the MLflow run and the model"
    )
    verb.set_defaults(run=_demo)


def _doctor(arguments: argparse.Namespace) -> int:
    from sparkdl_ring.cli import doctor, ring, settings_table

    if arguments.settings:
        print(settings_table.table(), end="")
        return 0
    if arguments.ring:
        return ring.lead(arguments.ring, arguments.port, arguments.wait)
    if arguments.join:
        return ring.join(arguments.join, arguments.place, arguments.wait)

    return doctor.run()


def _demo(arguments: argparse.Namespace) -> int:
    from sparkdl_ring.cli import demo

    return demo.run(
        demo.Options(
            rows=arguments.rows,
            epochs=arguments.epochs,
            workers=arguments.workers,
            out=arguments.out.expanduser().absolute(),
        )
    )


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number
