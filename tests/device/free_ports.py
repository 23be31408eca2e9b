"""Ports for rendezvous of ranks that the environment places."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port whose successor is free too; the rendezvous listens on the successor."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            try:
                socket.create_server(("127.0.0.1", port + 1)).close()
            except OSError:
                continue
            return port
