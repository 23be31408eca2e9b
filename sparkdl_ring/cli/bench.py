"""``sparkdl-ring bench``: measures on this machine, prints a table, writes CSV and a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sparkdl_ring.errors import ConfigError

if TYPE_CHECKING:
    from sparkdl_ring.bench.api import Condition

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def add_to(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the verb with its own verbs."""
    kinds = verbs.add_parser("bench", help="measure collectives and training steps").add_subparsers(
        required=True, metavar="WHAT"
    )
    _add_allreduce(kinds)
    _add_ddp(kinds)
    _add_net(kinds)


def _add_allreduce(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = kinds.add_parser(
        "allreduce", help="the ring, torch's gloo and MPI by size, interleaved in one run"
    )
    verb.add_argument("--ranks", type=_numbers, help="numbers of ranks, for example 2,4 (the default)")
    verb.add_argument("--transports", type=_words, help="of shm,tcp,tls; default shm,tcp")
    verb.add_argument("--dtypes", type=_words, help="default float32,float16,bfloat16")
    verb.add_argument("--sizes", type=_sizes, help="bytes, for example 4,64k,1m; default 4 to 256m")
    verb.add_argument("--rounds", type=int, default=7, help="interleaved rounds (default 7)")
    verb.add_argument("--sample-ms", type=float, default=12.0, help="least milliseconds of one sample")
    verb.add_argument("--no-gloo", action="store_true", help="leave torch's gloo out")
    verb.add_argument(
        "--mpi", action="append", help="path of an mpirun, may be repeated; default the one on the path"
    )
    verb.add_argument("--no-mpi", action="store_true", help="leave MPI out")
    _add_condition(verb)
    verb.add_argument("--csv", type=Path, help="file for the rows")
    verb.add_argument("--picture", type=Path, help="file for the picture (SVG)")
    verb.add_argument("--gates", action="store_true", help="tell which promises of speed this run keeps")
    verb.set_defaults(run=_allreduce)


def _add_ddp(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = kinds.add_parser("ddp", help="training steps under torch's DDP with gloo and with the ring")
    verb.add_argument("--ranks", type=int, default=2, help="rank processes (default 2)")
    verb.add_argument("--width", type=int, default=2048, help="features of each layer (default 2048)")
    verb.add_argument("--layers", type=int, default=6, help="layers (default 6: 25 million parameters)")
    verb.add_argument("--batch", type=int, default=32, help="rows of each rank in a step (default 32)")
    verb.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    verb.add_argument("--steps", type=int, default=4, help="steps of one turn (default 4)")
    _add_condition(verb)
    verb.add_argument("--csv", type=Path, help="file for the rows")
    verb.set_defaults(run=_ddp)


def _add_net(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = kinds.add_parser("net", help="the ring and gloo between network namespaces (root), by size")
    verb.add_argument("--hosts", type=_numbers, help="numbers of hosts (default 2,3,4)")
    verb.add_argument("--per-host", type=_numbers, help="numbers of ranks on each host (default 1)")
    verb.add_argument("--sizes", type=_sizes, help="bytes (default 4,64k,1m,16m,64m)")
    verb.add_argument("--contenders", type=_words, help="default ring,ring-bf16,gloo")
    verb.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    verb.add_argument("--rate", type=float, default=1000.0, help="Mbit/s each way (1000); 0: no limit")
    verb.add_argument("--delay-ms", type=float, default=0.0, help="milliseconds one way (default 0)")
    verb.add_argument("--loss", type=float, default=0.0, help="share of frames lost (default 0)")
    verb.add_argument(
        "--alpha-us", type=float, default=30.0, help="of a message, for the simulation of more ranks (30)"
    )
    verb.add_argument("--csv", type=Path, help="file for the rows")
    verb.set_defaults(run=_net)


def _add_condition(verb: argparse.ArgumentParser) -> None:
    either = verb.add_mutually_exclusive_group()
    either.add_argument(
        "--coscheduled",
        action="store_true",
        help="raised priority and rests: what it does when all ranks run",
    )
    either.add_argument("--load", action="store_true", help="with a busy loop on each core")


def _condition(arguments: argparse.Namespace) -> Condition:
    return "coscheduled" if arguments.coscheduled else "loaded" if arguments.load else "quiet"


def _allreduce(arguments: argparse.Namespace) -> int:
    from sparkdl_ring.bench import Plan, allreduce, gates, mpi, picture, report
    from sparkdl_ring.bench.api import TRANSPORTS

    default = Plan()
    plan = Plan(
        ranks=arguments.ranks or default.ranks,
        transports=_known(arguments.transports or default.transports, TRANSPORTS, "transport"),
        dtypes=_known(arguments.dtypes or default.dtypes, default.dtypes, "dtype"),
        sizes=arguments.sizes or default.sizes,
        rounds=arguments.rounds,
        sample_s=arguments.sample_ms / 1e3,
        condition=_condition(arguments),
        baselines=not arguments.no_gloo,
        mpi=() if arguments.no_mpi else tuple(arguments.mpi or mpi.found()),
    )
    rows = allreduce(plan)
    print(report.table(rows))
    if arguments.gates:
        print(f"\n{gates.table(gates.judge(rows))}")
    _write(arguments.csv, report.to_csv(rows))
    _write(arguments.picture, picture.svg(rows))
    return 0


def _ddp(arguments: argparse.Namespace) -> int:
    from sparkdl_ring.bench import DdpPlan, ddp
    from sparkdl_ring.bench.ddp import table, to_csv

    sizes = (arguments.ranks, arguments.width, arguments.layers, arguments.batch)
    rows = ddp(DdpPlan(*sizes, arguments.rounds, arguments.steps, _condition(arguments)))
    print(table(rows))
    _write(arguments.csv, to_csv(rows))
    return 0


def _net(arguments: argparse.Namespace) -> int:
    from sparkdl_ring.bench.lab import Wire
    from sparkdl_ring.bench.model import LinkSpeed, simulation
    from sparkdl_ring.bench.net import NetPlan, net, table, to_csv

    default = NetPlan()
    rows = net(
        NetPlan(
            hosts=arguments.hosts or default.hosts,
            per_host=arguments.per_host or default.per_host,
            sizes=arguments.sizes or default.sizes,
            contenders=arguments.contenders or default.contenders,
            rounds=arguments.rounds,
            wire=Wire(arguments.rate, arguments.delay_ms, arguments.loss),
        )
    )
    print(table(rows))
    if arguments.rate > 0:
        link = LinkSpeed(arguments.alpha_us * 1e-6, Wire(arguments.rate).bytes_per_s)
        for per_host in arguments.per_host or default.per_host:
            print(f"\n{simulation(arguments.sizes or default.sizes, per_host, link)}")
    _write(arguments.csv, to_csv(rows))
    return 0


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text)
        print(f"written: {path}")


def _known(given: tuple[str, ...], known: tuple[str, ...], what: str) -> tuple[str, ...]:
    for name in given:
        if name not in known:
            raise ConfigError(f"{what} {name} is not measured; known: {', '.join(known)}")
    return given


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(_bytes(word.strip().lower()) for word in text.split(","))


def _bytes(word: str) -> int:
    unit = _UNITS.get(word[-1:], 1)
    return int(word if unit == 1 else word[:-1]) * unit
