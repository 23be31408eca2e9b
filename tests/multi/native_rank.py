"""One rank over the raw native module, led by lines on its standard streams; see test_native_processes.py."""

import json
import os
import signal
import sys

import numpy as np

from sparkdl_ring import _native, errors


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def forked_child() -> int:
    """A child that lives on with copies of all that its parent had open."""
    child = os.fork()
    if child == 0:
        signal.pause()
    return child


def main() -> None:
    transport, rank, timeout_s, forks = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
    secure = transport == "tls"
    tcp = _native.TcpOptions(tls=secure, streams=2 if secure else 1)
    listener = _native.Listener("127.0.0.1", "tcp" if secure else transport, tcp=tcp)
    say(address=listener.address.hex())
    addresses = [bytes.fromhex(text) for text in json.loads(sys.stdin.readline())]
    communicator = listener.connect(rank, addresses, "run", 0, b"s" * 32, 30.0)
    values = np.ones(1 << 20, np.float32)
    pointer = int(values.__array_interface__["data"][0])
    communicator.barrier(30.0).wait()
    say(up=True, child=forked_child() if forks else 0)
    try:
        while True:
            communicator.allreduce(pointer, pointer, values.size, 5, 1, timeout_s, "gradient").wait()
    except errors.CollectiveError as error:
        say(kind=type(error).__name__, rank=error.rank, text=str(error))
    communicator.close()


if __name__ == "__main__":
    main()
