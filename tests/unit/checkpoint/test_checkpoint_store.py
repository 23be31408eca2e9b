"""Writing, finding and verifying checkpoints in a store."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from sparkdl_ring.checkpoint import CheckpointWriter, latest, read
from sparkdl_ring.errors import CheckpointCorruptError, CheckpointError, ConfigError, StoreError
from sparkdl_ring.store import Store, layout, open_store

RUN = "run-1"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "a #1 %store"))


def _folder(store: Store) -> Path:
    path = store.local_path(layout.checkpoints_dir(RUN))
    assert path is not None
    return Path(path)


def test_no_checkpoint_is_none(store):
    assert latest(store, RUN) is None


def test_the_newest_comes_back_with_its_notes(store):
    writer = CheckpointWriter(store, RUN)
    for epoch in range(3):
        writer.save(epoch, bytes([epoch]) * 10, {"size": 2})
    found = latest(store, RUN)
    assert (found.epoch, found.state, found.meta) == (2, b"\x02" * 10, {"size": 2})
    assert sorted(p.name for p in _folder(store).iterdir() if p.suffix == ".json") == [
        "epoch-00000001.json",
        "epoch-00000002.json",
    ]
    assert len(list(_folder(store).iterdir())) == 4


def test_an_empty_state_is_a_state(store):
    CheckpointWriter(store, RUN).save(0, b"")
    assert latest(store, RUN).state == b""


def test_a_payload_without_marker_does_not_count(store):
    CheckpointWriter(store, RUN).save(0, b"zero")
    store.write(f"{layout.checkpoints_dir(RUN)}/epoch-00000001-{'a' * 16}.bin", b"half")
    assert latest(store, RUN).epoch == 0


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "marker", "marker list", "marker fields"])
def test_a_damaged_newest_one_is_warned_about_and_passed_over(store, caplog, damage):
    writer = CheckpointWriter(store, RUN)
    writer.save(0, b"zero")
    marker = writer.save(1, b"one" * 100)
    payload, mark = _folder(store) / marker.payload, _folder(store) / "epoch-00000001.json"
    if damage == "flip":
        payload.write_bytes(b"onE" * 100)
    elif damage == "cut":
        payload.write_bytes(b"one" * 99)
    elif damage == "remove":
        payload.unlink()
    else:
        mark.write_bytes({"marker": b"{", "marker list": b"[]", "marker fields": b'{"epoch": 1}'}[damage])
    with caplog.at_level(logging.WARNING):
        assert latest(store, RUN).state == b"zero"
    assert "epoch 1" in caplog.text
    assert len(caplog.records) == 1


def test_only_damaged_ones_is_an_error_that_says_what_to_do(store):
    marker = CheckpointWriter(store, RUN).save(0, b"zero")
    (_folder(store) / marker.payload).write_bytes(b"zerO")
    with pytest.raises(CheckpointCorruptError, match="resume=False"):
        latest(store, RUN)
    with pytest.raises(CheckpointCorruptError, match="epoch 0"):
        read(store, RUN, 0)


def test_saving_an_epoch_again_replaces_it_and_cleans_up(store):
    writer = CheckpointWriter(store, RUN)
    writer.save(0, b"first")
    writer.save(0, b"second")
    assert latest(store, RUN).state == b"second"
    assert len(list(_folder(store).iterdir())) == 2


class Interrupted(Store):
    """A store whose writes of markers fail, as when the task is killed between the two."""

    def write(self, path: str, data: bytes) -> None:
        if path.endswith(".json"):
            raise StoreError("no space left")
        super().write(path, data)


def test_a_save_cut_off_before_its_marker_leaves_the_old_one_valid(store):
    CheckpointWriter(store, RUN, keep=1).save(0, b"first")
    with pytest.raises(CheckpointError, match="no space left"):
        CheckpointWriter(Interrupted(store.url), RUN, keep=1).save(0, b"second")
    assert latest(store, RUN).state == b"first"


class Sticky(Store):
    """A store that refuses to delete."""

    def delete(self, path: str, recursive: bool = False) -> None:
        raise StoreError("read only")


def test_old_ones_that_cannot_be_removed_are_only_a_warning(store, caplog):
    writer = CheckpointWriter(Sticky(store.url), RUN, keep=1)
    for epoch in range(2):
        writer.save(epoch, b"x")
    assert latest(store, RUN).epoch == 1
    assert "read only" in caplog.text


def test_keep_must_be_positive(store):
    with pytest.raises(ConfigError, match="keep=0"):
        CheckpointWriter(store, RUN, keep=0)


def test_the_marker_is_plain_json(store):
    CheckpointWriter(store, RUN).save(7, b"abc", {"note": "x"})
    data = json.loads((_folder(store) / "epoch-00000007.json").read_text())
    assert data["size_bytes"] == 3
    assert data["sha256"].startswith(data["payload"].split("-")[2].removesuffix(".bin"))
