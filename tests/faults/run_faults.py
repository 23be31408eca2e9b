"""1,000 random faults and a summary: ``python tests/faults/run_faults.py --count 1000 --seed 1``.

``--only 17,203`` plays single numbers of a seed again, and tells more of them.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from crew import Crew
from faultcases import fault
from playing import Outcome, Play


def play_all(seed: int, numbers: Sequence[int], num_crews: int = 1) -> list[Outcome]:
    """Plays the faults on ``num_crews`` crews at a time; outcomes in the order of ``numbers``."""
    todo = iter(numbers)
    outcomes: dict[int, Outcome] = {}
    lock = threading.Lock()

    def take() -> Iterator[int]:
        while True:
            with lock:
                number = next(todo, None)
            if number is None:
                return
            yield number

    def work() -> None:
        crew = Crew()
        try:
            for number in take():
                outcomes[number] = Play(crew, fault(seed, number)).run()
        finally:
            crew.close()

    threads = [threading.Thread(target=work, name=f"crew-{i}") for i in range(num_crews)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcomes[number] for number in numbers if number in outcomes]


def summary(outcomes: Sequence[Outcome]) -> str:
    """What was played, how it ended, and every complaint."""
    lines = []
    for title, key in (("phase", "phase"), ("kind", "kind"), ("transport", "transport"), ("ranks", "size")):
        counted = Counter(getattr(outcome.fault, key) for outcome in outcomes)
        lines.append(
            f"{title:<10} " + ", ".join(f"{name} {n}" for name, n in sorted(counted.items(), key=str))
        )
    ends = Counter(answer["ended"] for outcome in outcomes for answer in outcome.answers.values())
    lines.append("ranks ended " + ", ".join(f"{name} {n}" for name, n in ends.most_common()))
    bad = [outcome for outcome in outcomes if outcome.complaints]
    kinds = Counter(
        word for outcome in bad for word in ("HANG", "wrong result", "leaks") if _has(outcome, word)
    )
    lines += [f"\n{outcome.fault}\n  " + "\n  ".join(outcome.complaints) for outcome in bad]
    slowest = max((outcome.seconds for outcome in outcomes), default=0.0)
    lines.append(
        f"\n{len(outcomes)} faults: {kinds['HANG']} hangs, {kinds['wrong result']} wrong results, "
        f"{kinds['leaks']} leaks, {len(bad)} with complaints in all; the slowest took {slowest:.1f} s"
    )
    return "\n".join(lines)


def _has(outcome: Outcome, word: str) -> bool:
    return any(word in complaint for complaint in outcome.complaints)


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crews", type=int, default=3)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    numbers = [int(word) for word in given.only.split(",")] if given.only else list(range(given.count))
    begin = time.monotonic()
    outcomes = play_all(given.seed, numbers, given.crews)
    lines = [summary(outcomes)]
    for outcome in outcomes if given.only else []:
        told = [f"{rank}: {answer}" for rank, answer in outcome.answers.items()]
        lines.append("\n  ".join([str(outcome.fault), f"{outcome.seconds:.2f} s", *told]))
    lines.append(f"seed {given.seed}, {time.monotonic() - begin:.0f} s in all")
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if len(outcomes) < len(numbers) or any(outcome.complaints for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
