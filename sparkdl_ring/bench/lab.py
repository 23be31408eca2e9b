"""Several hosts on one machine: network namespaces on a bridge, each with a wire of its own (root only).

Every host has ``eth0`` with 10.77.0.n and fd77::n. A wire without delay and loss is a veth pair with a token
bucket on both ends; one with delay or loss goes through :mod:`sparkdl_ring.bench.tap`, because many kernels
have no ``netem``. /dev/shm is shared by all namespaces, so that every host is given an identity of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from sparkdl_ring.errors import ConfigError

_PREFIX = "skr"
_BURST = "128kb"  # as a network card's own buffer: messages below it do not wait for tokens
_QUEUE_MS = 20.0
_START_S = 10.0
TAP_MTU = 9000  # frames cross user space one by one


@dataclass(frozen=True)
class Wire:
    """What connects each host to the others.

    Args:
        rate_mbit: Megabits per second each way; 0: as fast as the machine copies.
        delay_ms: Milliseconds that a frame takes, one way.
        loss: Share of frames that vanish, 0 to 1.
    """

    rate_mbit: float = 1000.0
    delay_ms: float = 0.0
    loss: float = 0.0

    @property
    def forwarded(self) -> bool:
        """Whether frames go through the forwarder."""
        return self.delay_ms > 0 or self.loss > 0

    @property
    def bytes_per_s(self) -> float:
        """The rate in bytes per second."""
        return self.rate_mbit * 1e6 / 8


class Lab:
    """``num_hosts`` namespaces, there while the block lasts.

    Args:
        num_hosts: Hosts.
        wire: How each is connected.

    Raises:
        ConfigError: Not root, or the system lacks ``ip`` or ``tc`` or what they need.
    """

    def __init__(self, num_hosts: int, wire: Wire | None = None) -> None:
        self.num_hosts = num_hosts
        self.wire = wire or Wire()
        self._name = f"{_PREFIX}{os.getpid()}-{id(self) & 0xFFFF:04x}"
        self._forwarder: subprocess.Popen[bytes] | None = None

    def namespace(self, host: int) -> str:
        """Name of the network namespace of one host."""
        return f"{self._name}-{host}"

    @staticmethod
    def ipv4(host: int) -> str:
        """The IPv4 address of one host."""
        return f"10.77.0.{host + 1}"

    @staticmethod
    def ipv6(host: int) -> str:
        """The IPv6 address of one host."""
        return f"fd77::{host + 1}"

    def command(self, host: int, *words: str) -> list[str]:
        """``words`` as a command that runs on one host."""
        return ["ip", "netns", "exec", self.namespace(host), *words]

    def unplug(self, host: int) -> None:
        """Takes one host's interface down."""
        _run("ip", "-n", self.namespace(host), "link", "set", "eth0", "down")

    def __enter__(self) -> Lab:
        problem = why_not()
        if problem:
            raise ConfigError(problem)
        remove_stale()
        try:
            for host in range(self.num_hosts):
                _run("ip", "netns", "add", self.namespace(host))
            self._tap_wires() if self.wire.forwarded else self._veth_wires()
            for host in range(self.num_hosts):
                self._bring_up(host)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _veth_wires(self) -> None:
        switch = f"{self._name}-sw"
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "br0", "up")
        for host in range(self.num_hosts):
            name, port = self.namespace(host), f"port{host}"
            peer = ("peer", "name", "eth0", "netns", name)
            _run("ip", "-n", switch, "link", "add", port, "type", "veth", *peer)
            _run("ip", "-n", switch, "link", "set", port, "master", "br0", "up")
            if self.wire.rate_mbit > 0:
                self._limit(name, "eth0")
                self._limit(switch, port)

    def _limit(self, namespace: str, device: str) -> None:
        rate = f"{self.wire.rate_mbit:g}mbit"
        bucket = ("tbf", "rate", rate, "burst", _BURST, "latency", f"{_QUEUE_MS:g}ms")
        _run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", *bucket)

    def _tap_wires(self) -> None:
        wire = self.wire
        names = [self.namespace(host) for host in range(self.num_hosts)]
        numbers = [f"{wire.rate_mbit:g}", f"{wire.delay_ms:g}", f"{wire.loss:g}"]
        program = str(Path(__file__).with_name("tap.py"))
        self._forwarder = subprocess.Popen(
            [sys.executable, "-S", "-E", program, *numbers, *names], stdout=subprocess.PIPE
        )
        assert self._forwarder.stdout is not None
        if self._forwarder.stdout.readline().strip() != b"ready":
            raise ConfigError("the forwarder of frames did not start: is /dev/net/tun there?")
        for name in names:
            _run("ip", "-n", name, "link", "set", "eth0", "mtu", str(TAP_MTU))

    def _bring_up(self, host: int) -> None:
        at = ("ip", "-n", self.namespace(host))
        _run(*at, "link", "set", "lo", "up")
        _run(*at, "addr", "add", f"{self.ipv4(host)}/24", "dev", "eth0")
        _run(*at, "addr", "add", f"{self.ipv6(host)}/64", "dev", "eth0", "nodad")
        with suppress(OSError, ConfigError):  # the link-local address is usable at once, too
            _run(*self.command(host, "sysctl", "-qw", "net.ipv6.conf.eth0.accept_dad=0"))
        _run(*at, "link", "set", "eth0", "up")

    def _remove(self) -> None:
        if self._forwarder is not None:
            self._forwarder.kill()
            self._forwarder.wait()
            assert self._forwarder.stdout is not None
            self._forwarder.stdout.close()
            self._forwarder = None
        for name in _namespaces():
            if name.startswith(f"{self._name}-"):
                _remove_namespace(name)


def why_not() -> str:
    """Why this process cannot make network namespaces; empty when it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for word in ("ip", "tc"):
        if not any((Path(folder) / word).exists() for folder in ("/usr/sbin", "/sbin", "/usr/bin", "/bin")):
            return f"network namespaces need the command '{word}' (package iproute2)"
    probe = f"{_PREFIX}{os.getpid()}-probe"
    try:
        _run("ip", "netns", "add", probe)
    except ConfigError as error:
        return f"this system gives no network namespaces: {error}"
    _remove_namespace(probe)
    return ""


def remove_stale() -> None:
    """Removes what processes that were killed have left behind."""
    for name in _namespaces():
        owner = re.match(rf"{_PREFIX}(\d+)-", name)
        if owner and not Path("/proc", owner.group(1)).exists():
            _remove_namespace(name)


def _namespaces() -> list[str]:
    folder = Path("/run/netns")
    return [path.name for path in folder.iterdir()] if folder.exists() else []


def _remove_namespace(name: str) -> None:
    with suppress(ConfigError):
        _run("ip", "netns", "del", name)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_START_S, check=False)
    if done.returncode != 0:
        raise ConfigError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
