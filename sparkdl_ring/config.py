"""Frozen settings with their source; the only module that reads the environment.

Precedence: argument > environment ``SPARKDL_RING_<SECTION>_<FIELD>`` > Spark conf
``spark.sparkdl_ring.<section>.<field>`` > default. Each field carries one sentence and its unit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sparkdl_ring.errors import ConfigError

ENV_PREFIX = "SPARKDL_RING_"
SPARK_PREFIX = "spark.sparkdl_ring."


@dataclass(frozen=True)
class Bounds:
    """What a setting may be.

    Args:
        least: Not less than this.
        most: Not more than this.
        above: More than this.
        choices: One of these.
        or_zero: 0 is allowed beside.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    or_zero: bool = False

    def refusal(self, value: Any) -> str:
        """What ``value`` should be instead; empty where it may be."""
        zero = ", or 0" if self.or_zero else ""
        if self.or_zero and value == 0:
            return ""
        if self.choices and value not in self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.above is not None and not value > self.above:
            return f"more than {self.above}"
        too_small = self.least is not None and not value >= self.least
        if too_small or (self.most is not None and not value <= self.most):
            return (f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}") + zero
        return ""


def setting(default: Any, doc: str, **bounds: Any) -> Any:
    """A dataclass field with its one-sentence documentation and its :class:`Bounds`."""
    return field(default=default, metadata={"doc": doc, "bounds": Bounds(**bounds)})


@dataclass(frozen=True)
class CommConfig:
    """How ranks talk."""

    transport: str = setting(
        "auto", "Transport between ranks: auto, shm (one host) or tcp.", choices=("auto", "shm", "tcp")
    )
    timeout_s: float = setting(300.0, "Longest wait for a peer inside one collective, in seconds.", above=0)
    connect_timeout_s: float = setting(120.0, "Longest wait for all ranks to meet, in seconds.", above=0)
    interface: str = setting(
        "",
        "Where to listen: addresses, networks (10.0.0.0/16) or interfaces, the first one present; "
        "empty takes the one that leads to the others.",
    )
    port_range: str = setting("", "Ports to listen on, such as 40000-40100; empty lets the system choose.")
    tls: bool = setting(
        False, "TLS 1.3 on all TCP links, keyed by the run's secret, the same on all ranks; needs OpenSSL."
    )
    streams: int = setting(1, "TCP connections that carry the data of each link, 1 to 16.", least=1, most=16)
    socket_buffer_bytes: int = setting(
        0,
        "Buffer of each TCP socket each way, in bytes, from 65,536 on; 0 lets the system adapt it.",
        least=64 << 10,
        or_zero=True,
    )
    host_id: str = setting(
        "", "Identity of this host: ranks with equal ones share memory; empty finds it out."
    )
    bucket_bytes: int = setting(4 << 20, "Bytes of gradients that are fused into one allreduce.", least=1)
    timeline: str = setting("", "Folder for a Chrome trace of each rank's collectives; empty writes none.")
    device: str = setting(
        "auto",
        "Collectives on GPU memory: auto, nccl (an error where it cannot be) or staged (through the host).",
        choices=("auto", "nccl", "staged"),
    )
    share_gpus: bool = setting(False, "Let several ranks of a host be given one GPU.")
    device_check: bool = setting(True, "Compare each NCCL call of the ranks over the host ring.")
    nccl_path: str = setting("", "NCCL's library file; empty looks for it.")
    cuda_path: str = setting("", "The CUDA driver's library file; empty looks for it.")


@dataclass(frozen=True)
class DataConfig:
    """How rows are stored and read."""

    row_group_bytes: int = setting(
        16 << 20, "Target size of a Parquet row group before compression, in bytes."
    )
    row_group_rows: int = setting(0, "Rows of a Parquet row group; 0 derives it from row_group_bytes.")
    reader_threads: int = setting(
        2, "Threads of Petastorm's pool in each task; 0 reads in the calling thread."
    )
    shuffle_rows: int = setting(262_144, "Most rows in the shuffle pool of each task.")
    shuffle_bytes: int = setting(256 << 20, "Most bytes in the shuffle pool of each task.")


@dataclass(frozen=True)
class LaunchConfig:
    """How tasks are started and ended."""

    preflight: bool = setting(True, "Check slots, versions and the store before tasks start.")
    grace_s: float = setting(
        2.0, "Seconds that other ranks get to end by themselves after one has failed.", least=0
    )


@dataclass(frozen=True)
class RingConfig:
    """All settings; what a task sees is what the driver resolved."""

    comm: CommConfig = field(default_factory=CommConfig)
    data: DataConfig = field(default_factory=DataConfig)
    launch: LaunchConfig = field(default_factory=LaunchConfig)


@dataclass(frozen=True)
class Setting:
    """One resolved setting, for ``doctor`` and the docs."""

    name: str
    value: Any
    source: str
    doc: str


def resolve(
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    spark_conf: Mapping[str, str] | None = None,
) -> RingConfig:
    """Merges all sources into one frozen config.

    Args:
        overrides: ``{"comm.timeout_s": 5.0}``; wins over everything.
        environ: The environment; default the process's own.
        spark_conf: Spark settings.

    Raises:
        ConfigError: An override is unknown or a value has the wrong type.
    """
    settings = explain(overrides, environ=environ, spark_conf=spark_conf)
    sections: dict[str, dict[str, Any]] = {}
    for item in settings:
        section, name = item.name.split(".")
        sections.setdefault(section, {})[name] = item.value
    return RingConfig(
        comm=CommConfig(**sections["comm"]),
        data=DataConfig(**sections["data"]),
        launch=LaunchConfig(**sections["launch"]),
    )


def explain(
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    spark_conf: Mapping[str, str] | None = None,
) -> list[Setting]:
    """Every setting with its value and where it came from."""
    given = dict(overrides or {})
    env = os.environ if environ is None else environ
    conf = spark_conf or {}
    settings = []
    defaults = RingConfig()
    for section in fields(RingConfig):
        for item in fields(getattr(defaults, section.name)):
            name = f"{section.name}.{item.name}"
            raw, source = _lookup(name, given, env, conf, item.default)
            value = _cast(name, raw, item.default)
            if wanted := item.metadata["bounds"].refusal(value):
                raise ConfigError(f"setting {name} must be {wanted}, not {value!r} ({source})")
            settings.append(Setting(name, value, source, item.metadata["doc"]))
            given.pop(name, None)
    if given:
        known = ", ".join(s.name for s in settings)
        raise ConfigError(f"unknown setting(s) {sorted(given)}; known ones: {known}")
    _check_names(env, {env_name(s.name) for s in settings})
    return settings


def env_name(name: str) -> str:
    """The environment variable of a setting: ``SPARKDL_RING_COMM_TIMEOUT_S`` of ``comm.timeout_s``."""
    return ENV_PREFIX + name.replace(".", "_").upper()


def _lookup(
    name: str, given: Mapping[str, Any], env: Mapping[str, str], conf: Mapping[str, str], default: Any
) -> tuple[Any, str]:
    variable = env_name(name)
    if name in given:
        return given[name], "argument"
    if variable in env:
        return env[variable], f"environment {variable}"
    if SPARK_PREFIX + name in conf:
        return conf[SPARK_PREFIX + name], f"Spark conf {SPARK_PREFIX + name}"
    return default, "default"


def _cast(name: str, raw: Any, default: Any) -> Any:
    kind = type(default)
    try:
        if kind is bool and isinstance(raw, str):
            return {"true": True, "1": True, "false": False, "0": False}[raw.strip().lower()]
        return kind(raw)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"setting {name}: {raw!r} is not a {kind.__name__}") from error


def _check_names(env: Mapping[str, str], known: set[str]) -> None:
    """A misspelt variable would leave its setting as it is without a word."""
    sections = tuple(f"{ENV_PREFIX}{section.name.upper()}_" for section in fields(RingConfig))
    for name in sorted(env):
        if name.startswith(sections) and name not in known:
            from difflib import get_close_matches  # only here: it would slow every start

            near = get_close_matches(name, known, n=1)
            hint = f"; is it {near[0]} that you mean?" if near else ""
            raise ConfigError(f"the environment variable {name} names no setting{hint}")


def environment() -> Mapping[str, str]:
    """The process environment, for rooms that may not read it themselves (rendezvous.env, launch, cli)."""
    return os.environ


class scoped_environment:  # noqa: N801 - used as a verb: ``with scoped_environment({...})``
    """Sets environment variables for a block and restores what was there before.

    Args:
        changes: Name to new value; ``None`` removes the name.
    """

    def __init__(self, changes: Mapping[str, str | None]) -> None:
        self._changes = dict(changes)
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        self._before = {name: os.environ.get(name) for name in self._changes}
        _apply(self._changes)

    def __exit__(self, *_: object) -> None:
        _apply(self._before)


def _apply(changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
