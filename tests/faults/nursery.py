"""Forks rank processes on request: a fresh interpreter in a millisecond. Has no thread and no communicator.

Protocol, on the Unix socket whose descriptor is the first argument: a byte with a passed socket asks for a
process that talks on it; the answer is its pid in 4 bytes. The end of the socket ends this process.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys

import actor  # with all that a rank needs, before the first fork


def main() -> None:
    asking = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps what ends
    while True:
        data, passed, _, _ = socket.recv_fds(asking, 1, 1)
        if not data:
            return
        pid = os.fork()
        if pid == 0:
            asking.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            faulthandler.register(signal.SIGUSR1)
            actor.main(socket.socket(fileno=passed[0]))
            os._exit(0)
        for fd in passed:
            os.close(fd)
        asking.sendall(pid.to_bytes(4, "little"))


if __name__ == "__main__":
    main()
