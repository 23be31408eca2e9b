"""What could grow with use; jobs side by side; little shared memory and limits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from crew import Crew
from playing import SECRET

from sparkdl_ring import _native
from sparkdl_ring.comm import Communicator, in_process
from sparkdl_ring.config import environment
from sparkdl_ring.world import World

pytestmark = [pytest.mark.multi]
ROOT = Path(__file__).resolve().parents[2]


def meet(size, transport, run_id):
    """Connected ranks in this process, over real connections."""
    listeners = [_native.Listener("127.0.0.1", transport) for _ in range(size)]
    addresses = [listener.address for listener in listeners]

    def connect(rank):
        native = listeners[rank].connect(rank, addresses, run_id, 0, b"s" * 32, 30.0)
        return Communicator(native, World(rank, size, run_id=run_id), 30.0)

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(connect, range(size)))


def pair(transport, run_id):
    return meet(2, transport, run_id)


def together(ranks, work):
    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(work, ranks))


def held():
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if "memfd:" in line]
    counts = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
    return (*counts, len(mapped), len(os.listdir("/dev/shm")))


def fits(now, before):
    return all(later <= earlier for later, earlier in zip(now, before, strict=True))


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_communicators_made_again_and_again_hold_nothing(transport):
    def one(number):
        ranks = pair(transport, f"again-{number}")
        totals = together(ranks, lambda comm: comm.allreduce(np.full(10, comm.rank + 1.0), "sum"))
        assert [total.tolist() for total in totals] == [[3.0] * 10] * 2
        for comm in ranks:
            comm.close()

    one(-1)
    before = held()
    for number in range(500):
        one(number)
    deadline = time.monotonic() + 5
    while not fits(held(), before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert fits(held(), before), (before, held())


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_two_processes_that_meet_again_and_again_hold_nothing(transport):
    crew = Crew()
    try:
        hands = crew.hire(2)
        for number in range(200):
            assert meet_and_leave(hands, f"again-{number}", transport) == []
    finally:
        for hand in hands:
            hand.end()
        crew.close()


def test_thousands_of_groups_in_one_process():
    def one():
        (alone,) = in_process(1)
        alone.allreduce(np.ones(3))
        alone.close()

    one()
    before = held()
    for _ in range(2000):
        one()
    assert fits(held(), before), (before, held())


def meet_and_leave(hands, run_id, transport="auto", seed=0):
    """One meeting of these processes, with checked collectives; what went wrong."""
    deadline = time.monotonic() + 60
    for hand in hands:
        hand.ask(do="open", host="127.0.0.1", transport=transport, host_id="")
    addresses = [hand.hear(deadline)["address"] for hand in hands]
    for rank, hand in enumerate(hands):
        hand.ask(do="connect", place=[rank, len(hands)], addresses=addresses, run_id=run_id,
                 secret=SECRET, limits=[30.0, 30.0], deadly=[])  # fmt: skip
    answers = [hand.hear(deadline) for hand in hands]
    for hand in hands:
        hand.ask(do="work", seed=seed, large=False, rounds=5, act=[])
    answers += [hand.hear(deadline) for hand in hands]
    for hand in hands:
        hand.ask(do="leave")
    wrong = [answer for answer in answers if answer["ended"] != "ok"]
    return wrong + [left for hand in hands if (left := hand.hear(deadline)["left"])]


def run_job(crew, name, times, size=4):
    """``times`` meetings of ``size`` processes, each with checked collectives; what went wrong."""
    wrong = []
    for number in range(times):
        hands = crew.hire(size)
        wrong += meet_and_leave(hands, f"{name}-{number}", seed=number)
        for hand in hands:
            crew.release(hand)
    return wrong


def test_two_jobs_on_one_host_meet_again_and_again():
    """LOG-108: two jobs of 4 ranks at once; fifty inits are in test_ports and the conformance suite."""
    wrong = {}

    def job(name):
        crew = Crew()
        try:
            wrong[name] = run_job(crew, name, 15)
        finally:
            crew.close()

    threads = [threading.Thread(target=job, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == {"left": [], "right": []}


SMALL_SHM = """
import numpy as np
from test_soak import meet, together
ranks = meet(SIZE, "auto", "small")
array = np.arange(4_000_000, dtype=np.float32)
totals = together(ranks, lambda comm: comm.allreduce(array + comm.rank, "max"))
assert all((total == array + SIZE - 1).all() for total in totals)
print(*ranks[0].transports.values())
for comm in ranks:
    comm.close()
"""


def script(code, *before):
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "faults"), str(ROOT / "tests" / "multi")])
    return subprocess.run(
        [*before, sys.executable, "-c", code],
        env={**environment(), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("unshare") is None, reason="needs a mount namespace")
@pytest.mark.parametrize(("mount", "size"), [("size=8m", 4), ("size=64k", 2), ("size=64k,ro", 2)])
def test_a_small_dev_shm_is_enough(mount, size):
    """LOG-114: containers have 64 MB of /dev/shm, or less; the ring's memory has no name there."""
    inside = f'mount -t tmpfs -o {mount} tmpfs /dev/shm && exec "$@"'
    answer = script(SMALL_SHM.replace("SIZE", str(size)), "unshare", "-m", "sh", "-c", inside, "sh")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["shm"] * (size - 1)


LIMITED = """
import resource, sys
import numpy as np
from test_soak import pair, together
from sparkdl_ring.errors import RingError
kind, limit = sys.argv[1], int(sys.argv[2])
if kind == "AS":
    import psutil
    limit += psutil.Process().memory_info().vms
resource.setrlimit(getattr(resource, "RLIMIT_" + kind), (limit, limit))
try:
    ranks = pair("auto", "limited")
    totals = together(ranks, lambda comm: comm.allreduce(np.ones(100_000, np.float32), "sum"))
    assert all((total == 2).all() for total in totals)
    print("ok", ranks[0].transports[1])
    for comm in ranks:
        comm.close()
except (RingError, MemoryError) as error:
    print("error", type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("kind", "limit"), [("AS", 4 << 30), ("AS", 200 << 20), ("FSIZE", 1 << 20), ("FSIZE", 0), ("NOFILE", 40)]
)
def test_a_limit_gives_another_way_or_a_typed_error(kind, limit):
    answer = script(LIMITED.replace("sys.argv[1]", repr(kind)).replace("sys.argv[2]", repr(limit)))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith(("ok", "error")), answer.stdout
