"""What a fit leaves behind survives JSON; the workplace of a fit survives nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparkdl_ring.data import ColumnSpec
from sparkdl_ring.errors import ConfigError, StoreError
from sparkdl_ring.job import EpochRecord
from sparkdl_ring.ml.fitted import Fitted
from sparkdl_ring.ml.outputs import OutputSpec
from sparkdl_ring.ml.persistence import Saved, pickled
from sparkdl_ring.ml.workplace import check_place, workplace


class _Spark:
    def __init__(self, master: str) -> None:
        self.conf = {"spark.master": master}


def test_facts_survive_json() -> None:
    fitted = Fitted(
        blobs={"model": b"m"},
        features=(ColumnSpec("a.b", "float64", (3,), "vector"),),
        outputs=(OutputSpec("float32", ()),),
        history=(EpochRecord(0, {"loss": float("nan"), "val_loss": 1.0}, 7, 0.5),),
        run_id=None,
        size=2,
    )
    saved = fitted.to_saved()
    again = Fitted.from_saved(Saved(json.loads(json.dumps(saved.facts)), saved.blobs))
    assert str(again) == str(fitted)
    assert again.blobs == fitted.blobs


def test_a_temporary_workplace_is_removed_come_what_may() -> None:
    place = workplace(None)
    store = place.__enter__()
    store.write("x", b"1")
    folder = Path(store.url.removeprefix("file://"))
    assert folder.is_dir()
    assert not place.__exit__(RuntimeError, RuntimeError(), None)
    assert not folder.exists()


def test_the_users_store_stays(tmp_path) -> None:
    with workplace(str(tmp_path)) as store:
        store.write("x", b"1")
    assert (tmp_path / "x").exists()


def test_several_hosts_need_a_store() -> None:
    check_place(None, _Spark("local[2]"))
    with pytest.raises(ConfigError, match="set store"):
        check_place(None, _Spark("spark://host:7077"))


def test_a_store_that_cannot_be_written_is_refused(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        check_place(str(tmp_path / "file"), _Spark("local[2]"))


def test_what_cannot_be_pickled_is_named() -> None:
    with pytest.raises(ConfigError, match="output_transform cannot be pickled"):
        pickled("output_transform", (_ for _ in ()))
