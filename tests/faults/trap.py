"""Death or failure at one kind of system call, by a seccomp filter that a process puts on itself for good."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_KILL_PROCESS, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06

# What ranks do while they meet and hand each other the segment.
NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        "connect": 42, "accept4": 288, "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47,
        "memfd_create": 319, "ftruncate": 77, "pidfd_open": 434, "fstat": 5,
    },
    "aarch64": {
        "connect": 203, "accept4": 242, "sendto": 206, "recvfrom": 207, "sendmsg": 211, "recvmsg": 212,
        "memfd_create": 279, "ftruncate": 46, "pidfd_open": 434, "fstat": 80,
    },
}  # fmt: skip
DEADLY = ("connect", "accept4", "sendto", "recvfrom", "sendmsg", "recvmsg", "memfd_create", "ftruncate")
FAILING = ("connect", "accept4", "sendmsg", "recvmsg", "memfd_create", "ftruncate", "pidfd_open")
ERRORS = (errno.EPERM, errno.ENOMEM, errno.EMFILE, errno.ENOSYS, errno.ECONNRESET)


def here() -> dict[str, int]:
    """Numbers of the calls on this machine; empty where they are not known."""
    return NUMBERS.get(platform.machine(), {})


def spring(call: str, error: int) -> None:
    """From now on ``call`` ends this process, or fails with ``error`` where that is not 0."""
    action = _ERRNO | error if error else _KILL_PROCESS
    program = b"".join(
        struct.pack("<HBBI", *line)
        for line in (
            (_LOAD, 0, 0, 0),  # the number of the call
            (_JUMP_IF_EQUAL, 0, 1, here()[call]),
            (_RETURN, 0, 0, action),
            (_RETURN, 0, 0, _ALLOW),
        )
    )
    lines = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("@HP", len(program) // 8, ctypes.addressof(lines))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    given = ctypes.create_string_buffer(filter_, len(filter_))
    address = ctypes.c_void_p(ctypes.addressof(given))
    if libc.prctl(_SET_SECCOMP, _MODE_FILTER, address, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no seccomp here")
