"""Plays one fault on a crew and judges what became of every rank."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from crew import Crew, GoneError, Hand, HangError
from faultcases import BYTES, SILENT, Fault
from interference import Middleman, Strangers

CONNECT_S, COLLECTIVE_S = 1.5, 1.0
PATIENT_S = 20.0  # where nothing must fail, a slow machine must not make it
MARGIN_S = 6.0
MOST_S = 40.0
SMALL_ROUNDS, LARGE_ROUNDS, ENDLESS = 40, 6, 1 << 30
SECRET, OTHER_SECRET = "5e" * 32, "0f" * 32
HANDSHAKE_BYTES = 2 * (102 + 32)  # two hellos and two proofs
MEETING = ("listening", "handshake", "handover")
_DOOR_NAMES = {"garbage_at_door": "garbage"}


def fault_is_loud(fault: Fault) -> bool:
    """Whether ranks learn of it at once, without waiting for a deadline."""
    return fault.kind not in SILENT and fault.phase not in MEETING


def _never_met(answer: dict[str, Any]) -> bool:
    return bool(answer["ended"].startswith("Rendezvous"))


@dataclass
class Outcome:
    """What became of a fault.

    Args:
        fault: The fault.
        complaints: What must not be; empty when all is well.
        seconds: From the fault's phase until the last rank had answered.
        answers: How each surviving rank ended.
    """

    fault: Fault
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)


class Play:
    """One fault under way.

    Args:
        crew: Where processes come from.
        fault: The fault.
    """

    def __init__(self, crew: Crew, fault: Fault) -> None:
        self._crew = crew
        self._fault = fault
        self._hands = dict(enumerate(crew.hire(fault.size)))
        self._gone: set[int] = set()
        self._outcome = Outcome(fault)
        patient = fault.fate == "harmless" or fault.phase == "closing" or fault.in_the_middle
        self._connect_s = PATIENT_S if patient and fault.kind not in ("stall", "cut", "flip") else CONNECT_S
        self._collective_s = COLLECTIVE_S if fault.kind in SILENT else PATIENT_S
        self._endless = fault.fate == "fatal" and fault.phase != "closing"
        finite = LARGE_ROUNDS if fault.phase == "large" else SMALL_ROUNDS
        self._rounds = ENDLESS if self._endless else finite
        self._stack = ExitStack()

    def run(self) -> Outcome:
        """Plays it to the end; every process is either back in the crew or gone."""
        begin = time.monotonic()
        try:
            with self._stack:
                self._act()
        except HangError as error:
            self._complain(f"HANG: {error}")
        self._outcome.seconds = time.monotonic() - begin
        if fault_is_loud(self._fault) and self._outcome.seconds > PATIENT_S:
            self._complain(f"HANG: noticed only after {self._outcome.seconds:.1f} s")
        self._part()
        return self._outcome

    def _act(self) -> None:
        fault = self._fault
        addresses = self._open()
        if fault.at_the_door:
            kind = _DOOR_NAMES.get(fault.kind, fault.kind)
            strangers = Strangers(bytes.fromhex(addresses[fault.victim]), kind, fault.seed)
            self._stack.callback(strangers.close)
        if fault.phase == "listening":
            self._strike()
        self._connect(addresses)
        if fault.phase == "handshake":
            self._strike()
        connected = self._hear_all(self._connect_s)
        if fault.phase == "idle" and fault.kind in ("kill", "stop", "stop_kill", "pause"):
            self._strike()
        ranks = [rank for rank, answer in connected.items() if answer["ended"] == "ok"]
        self._work(ranks)
        if fault.phase in ("small", "large"):
            self._strike()
        # Each of a given number of collectives may use its deadline; of endless ones, the one that fails.
        allowed_s = self._collective_s * (1 if self._endless else self._rounds)
        worked = self._hear_all(min(allowed_s, MOST_S), ranks)
        self._outcome.answers = {**connected, **worked}
        self._judge()
        self._leave()

    def _open(self) -> list[str]:
        fault = self._fault
        wish = "tcp" if fault.transport == "tcp" else "shm" if fault.transport == "shm" else "auto"
        for rank, hand in self._hands.items():
            hand.ask(do="open", host="127.0.0.1", transport=wish, host_id=fault.host_id(rank))
        return [answer["address"] for answer in self._hear_all(MARGIN_S).values()]

    def _connect(self, addresses: list[str]) -> None:
        fault = self._fault
        shown = list(addresses)
        if fault.in_the_middle:
            # A changed byte is noticed inside the handshake; after it only TLS would notice.
            length = HANDSHAKE_BYTES if fault.kind == "flip" else 2 * HANDSHAKE_BYTES
            meeting = fault.phase == "handshake"
            after = fault.choice % length if meeting else HANDSHAKE_BYTES + fault.choice % (1 << 20)
            which = fault.choice % (2 * (fault.size - 1 - fault.victim))
            behind = bytes.fromhex(addresses[fault.victim])
            middle = Middleman(behind, fault.kind, which, after)
            self._stack.callback(middle.close)
            shown[fault.victim] = middle.address.hex()
        for rank, _ in self._living():
            if rank == fault.victim and fault.kind == "absent":
                continue
            mine = addresses if rank == fault.victim else shown
            secret = OTHER_SECRET if rank == fault.victim and fault.kind == "other_secret" else SECRET
            limits = [self._connect_s, self._collective_s]
            self._ask(rank, do="connect", place=[rank, fault.size], addresses=mine,
                      run_id=f"fault-{fault.number}", secret=secret, limits=limits,
                      deadly=fault.trap if rank == fault.victim else [])  # fmt: skip
        if fault.kind == "absent":
            self._lose(fault.victim)

    def _work(self, ranks: list[int]) -> None:
        fault = self._fault
        large = fault.phase == "large"
        for rank in ranks:
            act = self._own_act() if rank == fault.victim else []
            self._ask(rank, do="work", seed=fault.seed, large=large, rounds=self._rounds, act=act)

    def _own_act(self) -> list[Any]:
        fault = self._fault
        at = 0 if fault.phase == "idle" else fault.choice % (4 if fault.phase == "large" else 20)
        if fault.kind == "sleep_long":
            return ["sleep", at, COLLECTIVE_S + 0.4]
        if fault.kind == "sleep_short":
            return ["sleep", at, 0.2]
        own = ("close", "abort", "exit", "mismatch", *BYTES, "lie", "leak", "hang")
        return [fault.kind, at, fault.choice] if fault.kind in own else []

    def _strike(self) -> None:
        """A signal to the victim, after the delay."""
        fault, hand = self._fault, self._hands.get(self._fault.victim)
        if fault.kind not in ("kill", "stop", "stop_kill", "pause") or hand is None:
            return
        time.sleep(fault.delay_s)
        if fault.kind == "pause":
            hand.signal(signal.SIGSTOP)
            time.sleep(0.15)
            hand.signal(signal.SIGCONT)
            return
        hand.signal(signal.SIGKILL if fault.kind == "kill" else signal.SIGSTOP)
        if fault.kind == "stop_kill":
            time.sleep(0.1 + fault.choice % 5 / 10)
            hand.signal(signal.SIGKILL)
        if fault.kind == "stop":
            self._stack.callback(hand.end)
        self._gone.add(fault.victim)

    def _judge(self) -> None:
        fault = self._fault
        for rank, answer in self._outcome.answers.items():
            if rank == fault.victim and fault.fate != "harmless":
                if answer["ended"] == "WRONG":
                    self._complain(f"rank {rank}: wrong result: {answer['text']}")
                continue
            self._judge_one(rank, answer)
        if fault.fate != "harmless" and not fault.in_the_middle and not fault.at_the_door:
            return
        if fault.fate == "harmless" and len(self._outcome.answers) != fault.size:
            self._complain(f"only ranks {sorted(self._outcome.answers)} answered")

    def _judge_one(self, rank: int, answer: dict[str, Any]) -> None:
        fault, ended = self._fault, answer["ended"]
        if ended == "WRONG":
            self._complain(f"rank {rank}: wrong result: {answer['text']}")
        elif ended == "ok" and fault.fate == "fatal":
            self._complain(f"rank {rank} saw nothing of it")
        elif ended != "ok" and fault.fate == "harmless":
            self._complain(f"rank {rank} failed: {ended}: {answer['text']}")
        elif ended != "ok" and not self._plausible(answer):
            self._complain(f"rank {rank} blames {answer['blamed']}: {ended}: {answer['text']}")

    def _plausible(self, answer: dict[str, Any]) -> bool:
        fault, blamed = self._fault, answer["blamed"]
        if fault.in_the_middle or fault.kind in (*BYTES, "mismatch", "fail_at"):
            return all(0 <= one < fault.size for one in blamed)  # both ends of a broken link are right
        ended = {one for one, other in self._outcome.answers.items() if other["ended"] != "ok"}
        if fault.phase in MEETING:  # who fails there closes its door, and the next one sees that
            return bool(blamed) and set(blamed) <= {fault.victim} | ended
        return blamed == [fault.victim] or (_never_met(answer) and fault.victim in blamed)

    def _leave(self) -> None:
        fault = self._fault
        for rank, _ in self._living():
            self._ask(rank, do="leave")
        if fault.phase == "closing":
            self._strike()
        for rank, answer in self._hear_all(MARGIN_S).items():
            if answer["left"]:
                self._complain(f"rank {rank} leaks {answer['left']}")

    def _hear_all(self, limit_s: float, ranks: list[int] | None = None) -> dict[int, dict[str, Any]]:
        deadline = time.monotonic() + limit_s + MARGIN_S
        answers = {}
        for rank, hand in self._living():
            if ranks is not None and rank not in ranks:
                continue
            try:
                answers[rank] = hand.hear(deadline)
            except GoneError:
                self._lose(rank)
        return answers

    def _ask(self, rank: int, **order: Any) -> None:
        try:
            self._hands[rank].ask(**order)
        except GoneError:
            self._lose(rank)

    def _living(self) -> list[tuple[int, Hand]]:
        return [(rank, hand) for rank, hand in self._hands.items() if rank not in self._gone]

    def _lose(self, rank: int) -> None:
        """The process of the victim may end, no other."""
        self._gone.add(rank)
        self._hands[rank].end()
        if rank != self._fault.victim or self._fault.fate == "harmless":
            self._complain(f"the process of rank {rank} has ended")

    def _part(self) -> None:
        for rank, hand in self._hands.items():
            trapped = self._fault.trap and rank == self._fault.victim
            if rank in self._gone or trapped or self._outcome.complaints:
                hand.end()
            else:
                self._crew.release(hand)

    def _complain(self, text: str) -> None:
        self._outcome.complaints.append(text)
