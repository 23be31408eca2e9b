"""Every failure of a store names the URL and what to do."""

from __future__ import annotations

import errno
import os
import resource
import signal

import pytest

from sparkdl_ring.errors import StoreError
from sparkdl_ring.store import open_store
from sparkdl_ring.store.failures import explain, naming


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "no space is left"),
        (PermissionError(errno.EACCES, "Permission denied"), "permission denied"),
        (PermissionError("Access Denied by bucket policy"), "permission denied"),
        (FileNotFoundError("bucket"), "does not exist"),
        (OSError(errno.EROFS, "Read-only file system"), "read-only"),
        (OSError("connection reset"), "credentials"),
    ],
)
def test_advice_follows_the_reason(error: OSError, advice: str) -> None:
    message = explain("s3://b/x", "write", error)
    assert message.startswith("cannot write s3://b/x: ")
    assert advice in message


def test_a_bug_in_the_block_is_not_dressed_up_as_a_store_error() -> None:
    with pytest.raises(KeyError), naming("/x", "read"):
        raise KeyError("mine")


def test_a_client_of_its_own_kind_is_wrapped() -> None:
    with pytest.raises(StoreError, match="NoCredentials") as caught, naming("s3://b", "read", remote=True):
        raise type("NoCredentials", (Exception,), {})("none found")
    assert type(caught.value.__cause__).__name__ == "NoCredentials"


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path) -> None:
    store = open_store(str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(StoreError, match="larger than this system allows"):
            store.write("f", bytes(1 << 20))
        with pytest.raises(StoreError, match=str(tmp_path)):
            store.check_writable()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(tmp_path) == []


def test_no_space_is_named(tmp_path, monkeypatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="no space is left"):
        open_store(str(tmp_path)).check_writable()
    assert os.listdir(tmp_path) == []


def test_a_file_in_the_way_is_named(tmp_path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(StoreError, match="file is in the way"):
        open_store(str(tmp_path / "f")).check_writable()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_is_named(tmp_path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="permission denied"):
        open_store(str(tmp_path)).check_writable()


def test_a_place_where_nobody_may_write_is_named() -> None:
    with pytest.raises(StoreError, match="cannot write file:///proc/nobody"):
        open_store("/proc/nobody").check_writable()
