"""One function per thing that ``doctor`` looks at; each gives findings of one line and what to do."""

from __future__ import annotations

import importlib
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from sparkdl_ring import config
from sparkdl_ring.errors import RingError

State = Literal["ok", "warn", "fail"]
MIN_PYTHON = (3, 10)
MIN_SHM_BYTES = 256 << 20
_REQUIRED = {"numpy": "", "cloudpickle": "", "fsspec": "", "pyarrow": "", "pyspark": "spark"}
_OPTIONAL = {"petastorm": "spark", "torch": "torch", "tensorflow": "tensorflow", "keras": "tensorflow"}
_RECORD = {"mlflow": "mlflow"}


@dataclass(frozen=True)
class Finding:
    """One line of ``doctor``.

    Args:
        name: What was looked at.
        state: ``ok``; ``warn``: something optional is missing; ``fail``: it will not work.
        detail: What was found.
        advice: What to do, empty when nothing.
    """

    name: str
    state: State
    detail: str
    advice: str = ""


Check = Callable[[], list[Finding]]


def python() -> list[Finding]:
    """The interpreter."""
    fits = sys.version_info[:2] >= MIN_PYTHON
    wanted = ".".join(map(str, MIN_PYTHON))
    detail = f"{platform.python_version()} at {sys.executable}"
    return [Finding("python", "ok" if fits else "fail", detail, "" if fits else f"use {wanted} or newer")]


def java() -> list[Finding]:
    """A Java that Spark runs on."""
    from sparkdl_ring.launch.java import find_java_home, java_version

    try:
        home = find_java_home()
    except RingError as error:
        return [Finding("java", "fail", "none that Spark runs on", str(error))]
    return [Finding("java", "ok", f"{java_version(home)} at {home}")]


def packages() -> list[Finding]:
    """Frameworks and libraries, read from their metadata without loading them."""
    found = [_package(name, extra, "fail") for name, extra in _REQUIRED.items()]
    return found + [_package(name, extra, "warn") for name, extra in {**_OPTIONAL, **_RECORD}.items()]


def _package(name: str, extra: str, missing: State) -> Finding:
    for distribution in (name, f"{name}-cpu", f"{name}_cpu"):
        try:
            return Finding(name, "ok", version(distribution))
        except PackageNotFoundError:
            continue
    target = f"sparkdl-ring[{extra}]" if extra else name
    return Finding(name, missing, "not installed", f'pip install "{target}"')


def native() -> list[Finding]:
    """The native module that moves gradients."""
    try:
        module = importlib.import_module("sparkdl_ring._native")
    except ImportError as error:
        return [
            Finding("native", "fail", f"cannot be loaded: {error}", "pip install . (needs a C++ compiler)")
        ]
    facts = ", ".join(f"{key} {value}" for key, value in module.build_info().items())
    return [Finding("native", "ok", f"protocol {module.PROTOCOL_VERSION}; {facts}")]


def gpu() -> list[Finding]:
    """GPUs of this host, by NVIDIA's own device files."""
    devices = sorted(Path("/dev").glob("nvidia[0-9]*"))
    if not devices:
        return [Finding("gpu", "warn", "none here", "nothing to do for training on CPU")]
    return [Finding("gpu", "ok", f"{len(devices)}: {', '.join(d.name for d in devices)}")]


def nccl() -> list[Finding]:
    """NCCL: the package that torch brings, else the system's."""
    packaged = _packaged_nccl()
    if packaged is not None:
        return [Finding("nccl", "ok", f"package, {packaged}")]
    from ctypes.util import find_library

    system = find_library("nccl")
    if system:
        return [Finding("nccl", "ok", f"system, {system}")]
    return [Finding("nccl", "warn", "not found", "needed for GPUs only: pip install nvidia-nccl-cu12")]


def _packaged_nccl() -> Path | None:
    try:
        spec = find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        return None
    folders = list(spec.submodule_search_locations or []) if spec else []
    return next((path for folder in folders for path in Path(folder).glob("lib/libnccl.so*")), None)


def shared_memory(folder: Path = Path("/dev/shm")) -> list[Finding]:
    """Shared memory, the fastest way between ranks of one host."""
    if not folder.is_dir():
        advice = "ranks on one host will use TCP; in a container mount /dev/shm"
        return [Finding("shm", "warn", f"{folder} is missing", advice)]
    usage = shutil.disk_usage(folder)
    detail = f"{folder}: {usage.free >> 20} MiB free of {usage.total >> 20} MiB"
    if usage.free < MIN_SHM_BYTES:
        return [Finding("shm", "warn", detail, "small: start the container with --shm-size=1g")]
    return [Finding("shm", "ok", detail)]


def ports() -> list[Finding]:
    """Whether this process may listen, on the loopback and on the address of this host's name."""
    found = [_listens("port on loopback", "127.0.0.1", "fail")]
    try:
        address = socket.gethostbyname(socket.gethostname())
    except OSError as error:
        advice = "several hosts only: set SPARKDL_RING_COMM_INTERFACE"
        return [*found, Finding("port on host", "warn", f"{socket.gethostname()}: {error}", advice)]
    return [*found, _listens("port on host", address, "warn")]


def _listens(name: str, address: str, otherwise: State) -> Finding:
    try:
        with socket.create_server((address, 0)) as server:
            return Finding(name, "ok", f"can listen on {address} (tried port {server.getsockname()[1]})")
    except OSError as error:
        advice = "check firewall and container rules, or set SPARKDL_RING_COMM_INTERFACE"
        return Finding(name, otherwise, f"cannot listen on {address}: {error}", advice)


def settings(spark_conf: Mapping[str, str] | None = None) -> list[Finding]:
    """Every setting with its value and where it came from."""
    try:
        items = config.explain(spark_conf=spark_conf)
    except RingError as error:
        return [Finding("settings", "fail", str(error), "correct or unset it")]
    return [Finding(item.name, "ok", f"{item.value!r} ({item.source})") for item in items]


ALL: tuple[Check, ...] = (python, java, packages, native, gpu, nccl, shared_memory, ports, settings)
