"""Random faults, each made again by its seed and number."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Literal

import trap

Fate = Literal["fatal", "harmless", "either"]

PHASES = ("listening", "handshake", "handover", "idle", "small", "large", "closing")
TRANSPORTS = ("shm", "tcp", "mixed")

SIGNALS = ("kill", "stop", "stop_kill", "pause")
DOOR = ("garbage_at_door", "flood", "silence", "half", "hangup")
MIDDLE = ("cut", "stall", "flip", "slow", "replay")
BYTES = ("garbage", "false_length", "truncated", "flood_peers", "shutdown")
OWN = ("sleep_long", "sleep_short", "close", "abort", "exit", "mismatch")

KINDS: dict[str, tuple[str, ...]] = {
    "listening": ("kill", "stop", "pause", "absent", "other_secret", *DOOR),
    "handshake": (*SIGNALS, *DOOR, *MIDDLE),
    "handover": ("die_at", "fail_at"),
    "idle": ("kill", "stop", "stop_kill", "pause", "close", "abort", *BYTES),
    "small": (*SIGNALS, *OWN, *BYTES, "cut", "stall", "slow"),
    "large": (*SIGNALS, *OWN, *BYTES, "cut", "stall", "slow"),
    "closing": ("kill", "stop_kill", "pause"),
}
HARMLESS = {"pause", "sleep_short", "slow", "replay", *DOOR}
FATAL = {"kill", "stop", "stop_kill", "sleep_long", "close", "abort", "exit", "mismatch", "absent"}
# Only a deadline tells of these.
SILENT = {"stop", "sleep_long", "cut", "stall", "flip", *BYTES}


@dataclass(frozen=True)
class Fault:
    """One fault.

    Args:
        number: Its number in the run.
        seed: Decides everything that is drawn later, the collectives included.
        size: Ranks.
        transport: ``shm``, ``tcp``, or ``mixed``: two hosts that share no memory.
        phase: When it strikes.
        kind: What it is.
        victim: The rank it strikes (at the door or in the middle: whose listener it is).
        delay_s: Seconds into the phase.
        choice: Which socket, collective, connection or byte.
    """

    number: int
    seed: int
    size: int
    transport: str
    phase: str
    kind: str
    victim: int
    delay_s: float
    choice: int

    @property
    def in_the_middle(self) -> bool:
        """Whether a man in the middle does it."""
        return self.kind in MIDDLE

    @property
    def at_the_door(self) -> bool:
        """Whether strangers do it."""
        return self.kind in DOOR

    @property
    def fate(self) -> Fate:
        """What may become of the other ranks; a trap may lie where its victim never steps."""
        if self.kind in HARMLESS:
            return "harmless"
        if self.phase == "closing":
            return "either"
        return "fatal" if self.kind in FATAL else "either"

    @property
    def trap(self) -> list[object]:
        """Which system call is deadly for the victim, or fails, with which error."""
        if self.kind == "die_at":
            return [trap.DEADLY[self.choice % len(trap.DEADLY)], 0]
        calls, errors = trap.FAILING, trap.ERRORS
        if self.kind == "fail_at":
            return [calls[self.choice % len(calls)], errors[self.choice // len(calls) % len(errors)]]
        return []

    def host_id(self, rank: int) -> str:
        """The identity of the host that a rank is told to be on; empty: the machine's own."""
        return f"fault-host-{rank % 2}" if self.transport == "mixed" else ""

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items())


def fault(seed: int, number: int) -> Fault:
    """Fault ``number`` of the run with ``seed``."""
    drawn = random.Random(f"{seed}/{number}")
    phase = drawn.choice(PHASES)
    kind = drawn.choice(KINDS[phase])
    transport = "tcp" if kind in MIDDLE else drawn.choice(TRANSPORTS)
    size = drawn.randint(2, 4)
    # Higher ranks dial lower ones: there is something in the middle only before one that is not the last.
    victim = drawn.randrange(size - 1 if kind in MIDDLE else size)
    longest = {"handshake": 0.008, "closing": 0.002, "listening": 0.02}.get(phase, 0.05)
    delay_s = longest * drawn.random() ** 2
    return Fault(
        number,
        drawn.randrange(1 << 30),
        size,
        transport,
        phase,
        kind,
        victim,
        delay_s,
        drawn.randrange(1 << 20),
    )
