"""Meeting at an address that rank 0 serves, where there is neither Spark nor a shared folder."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field

from sparkdl_ring.errors import RendezvousError, RendezvousTimeoutError
from sparkdl_ring.log import get_logger
from sparkdl_ring.rendezvous import hosts
from sparkdl_ring.rendezvous.addresses import parse, resolve, without_scope
from sparkdl_ring.rendezvous.barrier import missing_text
from sparkdl_ring.rendezvous.interfaces import own_interfaces
from sparkdl_ring.rendezvous.wire import Pass, left, prove_client, prove_server, read_frame, send_frame
from sparkdl_ring.world import World

_log = get_logger(__name__)
_RETRY_PAUSE_S = 0.05
_HANDSHAKE_S = 10.0


class TcpRendezvous:
    """Rank 0 listens at ``address:port`` while it exchanges; the others connect to it.

    Args:
        world: Own place.
        address: Host name or address of rank 0.
        port: Port that rank 0 listens on.
        secret: The secret of the run.
        peers: Addresses of the other hosts; default rank 0's, where not all ranks are on one host.
        interface: ``comm.interface``: where rank 0 listens when its own host does not know ``address``, or
            knows it as loopback.
    """

    def __init__(
        self,
        world: World,
        address: str,
        port: int,
        secret: bytes,
        peers: tuple[str, ...] | None = None,
        interface: str = "",
    ) -> None:
        self._world, self._address, self._port, self._secret = world, address, port, secret
        self._interface = interface
        self._peers = peers
        self._turn = 0

    @property
    def rank(self) -> int:
        return self._world.rank

    @property
    def size(self) -> int:
        return self._world.size

    @property
    def peers(self) -> tuple[str, ...]:
        if self._peers is not None:
            return self._peers
        return () if self._world.local_size == self._world.size else (self._address,)

    def exchange(self, payload: bytes, timeout_s: float) -> list[bytes]:
        world = self._world
        known = Pass(self._secret, world.run_id, world.generation, world.size, self._turn)
        self._turn += 1
        deadline = time.monotonic() + timeout_s
        if world.rank == 0:
            return self._serve(known, payload, deadline, timeout_s)
        return self._visit(known, payload, deadline, timeout_s)

    def _serve(self, known: Pass, payload: bytes, deadline: float, timeout_s: float) -> list[bytes]:
        table = _Table(known, deadline)
        try:
            with self._listen() as listener:
                table.accept_all(listener)
        finally:
            guests = table.close_doors()
        try:
            if len(guests) < known.size - 1:
                missing = tuple(r for r in range(1, known.size) if r not in guests)
                raise RendezvousTimeoutError(missing_text(missing, known.size, timeout_s), missing=missing)
            payloads = [payload, *(guests[rank].payload for rank in range(1, known.size))]
            for rank, guest in guests.items():
                _tell(rank, guest, payloads, deadline)
            return payloads
        finally:
            for guest in guests.values():
                guest.sock.close()

    def _listen(self) -> socket.socket:
        host = hosts.meeting_address(
            self._address, self._interface, bool(self.peers), own_interfaces(), resolve
        )
        numeric = parse(without_scope(host))
        family = socket.AF_INET6 if numeric is not None and numeric.version == 6 else socket.AF_INET
        try:
            return socket.create_server((host, self._port), family=family, reuse_port=False)
        except OSError as error:
            raise RendezvousError(
                f"rank 0 cannot listen on {host}:{self._port} for {self._address} ({error.strerror}); set "
                "SPARKDL_RING_MASTER_ADDR / SPARKDL_RING_MASTER_PORT to a free address of its host, or "
                "SPARKDL_RING_COMM_INTERFACE where the others reach it through a gateway"
            ) from error

    def _visit(self, known: Pass, payload: bytes, deadline: float, timeout_s: float) -> list[bytes]:
        last: Exception = TimeoutError("no attempt made")
        while time.monotonic() < deadline:
            try:
                return self._visit_once(known, payload, deadline)
            except RendezvousError:
                raise
            except OSError as error:  # rank 0 is not there yet, or serves the exchange before this one
                last = error
            time.sleep(min(_RETRY_PAUSE_S, max(0.0, deadline - time.monotonic())))
        raise RendezvousTimeoutError(
            f"rank {self.rank}: no answer from rank 0 at {self._address}:{self._port} within {timeout_s:g} s "
            f"({last}); either rank 0 did not come, or it waits for another rank: see its log"
        ) from last

    def _visit_once(self, known: Pass, payload: bytes, deadline: float) -> list[bytes]:
        with socket.create_connection((self._address, self._port), timeout=left(deadline)) as sock:
            prove_client(sock, deadline, known, self.rank)
            send_frame(sock, payload, deadline)
            return [read_frame(sock, deadline) for _ in range(known.size)]


@dataclass
class _Guest:
    sock: socket.socket
    payload: bytes


@dataclass
class _Table:
    """Rank 0's side: lets guests in, each in a thread so that a stranger who is silent delays nobody."""

    known: Pass
    deadline: float
    guests: dict[int, _Guest] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: list[socket.socket] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def accept_all(self, listener: socket.socket) -> None:
        """Returns when all ranks have come or the deadline has passed."""
        listener.setblocking(False)
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            while len(self.guests) < self.known.size - 1 and time.monotonic() < self.deadline:
                if selector.select(timeout=0.05):
                    with contextlib.suppress(BlockingIOError):
                        self._welcome(listener.accept()[0])

    def close_doors(self) -> dict[int, _Guest]:
        """Ends what is still under way and returns the guests."""
        with self._lock:
            staying = {id(guest.sock) for guest in self.guests.values()}
            leaving = [sock for sock in self._open if id(sock) not in staying]
        for sock in leaving:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for thread in self._threads:
            thread.join()
        return self.guests

    def _welcome(self, sock: socket.socket) -> None:
        self._open.append(sock)
        thread = threading.Thread(target=self._admit, args=(sock,), name="ring-rendezvous", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _admit(self, sock: socket.socket) -> None:
        deadline = min(self.deadline, time.monotonic() + _HANDSHAKE_S)
        try:
            rank = prove_server(sock, deadline, self.known)
            guest = _Guest(sock, read_frame(sock, deadline))
        except (RendezvousError, OSError) as error:
            _log.info("refused a connection: %s", error)
            sock.close()
            return
        with self._lock:
            if 0 < rank < self.known.size and rank not in self.guests:
                self.guests[rank] = guest
                return
        _log.warning("refused a second rank %d", rank)
        sock.close()


def _tell(rank: int, guest: _Guest, payloads: list[bytes], deadline: float) -> None:
    try:
        for item in payloads:
            send_frame(guest.sock, item, deadline)
    except OSError as error:
        raise RendezvousError(f"rank {rank} left during the rendezvous: {error}", rank=rank) from error
