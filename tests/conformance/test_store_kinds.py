"""One suite over every kind of store."""

from __future__ import annotations

import pickle
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkdl_ring.errors import ConfigError, StoreError
from sparkdl_ring.store import Store, open_store

NAMES = [
    "plain",
    "a b",
    "50%",
    "x#y",
    "x%20y",
    "a::b",
    "deep/er/name",
    "k=v/part",
    "gr\u00fc\u00dfe",
    "q?r",
    "st*r[1]",
]


@pytest.fixture(params=["path", "odd path", "memory"])
def store(request: pytest.FixtureRequest, tmp_path) -> Store:
    if request.param == "memory":
        return open_store(f"memory://{uuid.uuid4().hex}/x")
    return open_store(str(tmp_path / ("s" if request.param == "path" else "a #1 50% \u00e4?")))


@pytest.mark.parametrize("name", NAMES)
def test_bytes_come_back_under_any_name(store: Store, name: str) -> None:
    data = name.encode() * 1000
    store.write(name, data)
    assert store.read(name) == data
    assert store.exists(name)
    assert store.size(name) == len(data)
    assert store.list() == [name]
    store.delete(name)
    assert not store.exists(name)


def test_a_new_store_is_empty(store: Store) -> None:
    assert store.list() == []
    assert store.list("nothing/here") == []
    assert not store.exists("nothing")
    store.delete("nothing")
    store.delete("nothing", recursive=True)


def test_list_is_sorted_recursive_and_relative(store: Store) -> None:
    for name in ("b/2", "b/1", "a", "b/c/3"):
        store.write(name, b"x")
    assert store.list() == ["a", "b/1", "b/2", "b/c/3"]
    assert store.list("b") == ["1", "2", "c/3"]


def test_writing_replaces(store: Store) -> None:
    store.write("f", b"long old content")
    store.write("f", b"new")
    assert store.read("f") == b"new"


def test_an_empty_file_is_a_file(store: Store) -> None:
    store.write("empty", b"")
    assert store.read("empty") == b""


def test_a_failed_write_leaves_what_was_there(store: Store) -> None:
    store.write("f", b"old")

    def fail_midway() -> None:
        with store.open_output("f") as file:
            file.write(b"half of the n")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fail_midway()
    assert store.read("f") == b"old"
    assert store.list() == ["f"]


def test_a_file_is_not_seen_before_it_is_complete(store: Store) -> None:
    with store.open_output("dir/f") as file:
        file.write(b"half")
        assert store.list() == []
        assert not store.exists("dir/f")
    assert store.list() == ["dir/f"]


def test_delete_of_a_folder_must_be_meant(store: Store) -> None:
    store.write("d/1", b"x")
    store.write("d/e/2", b"x")
    with pytest.raises(StoreError, match="recursive"):
        store.delete("d")
    store.delete("d", recursive=True)
    assert store.list() == []


def test_delete_takes_names_literally(store: Store) -> None:
    for name in ("a*", "ab", "[x]/1", "x/1"):
        store.write(name, b"x")
    store.delete("a*")
    store.delete("[x]", recursive=True)
    assert store.list() == ["ab", "x/1"]


def test_missing_files_name_their_url(store: Store) -> None:
    for call in (store.read, store.open_input, store.size):
        with pytest.raises(StoreError, match="does not exist") as caught:
            call("no/such")
        assert f"{store.url}/no/such" in str(caught.value)
        assert isinstance(caught.value, OSError)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../b"])
def test_paths_stay_inside(store: Store, path: str) -> None:
    with pytest.raises(ConfigError, match="not a path inside"):
        store.read(path)


def test_check_writable_leaves_nothing(store: Store) -> None:
    store.check_writable()
    assert store.list() == []


def test_parquet_goes_both_ways(store: Store) -> None:
    table = pa.table({"a": list(range(1000))})
    with store.open_output("t #1.parquet") as file:
        pq.write_table(table, file, row_group_size=100)
    with store.open_input("t #1.parquet") as file:
        assert pq.ParquetFile(file).read_row_group(3).to_pydict() == {"a": list(range(300, 400))}


def test_a_pickled_store_reads_the_same_files(store: Store) -> None:
    store.write("f", b"same")
    assert pickle.loads(pickle.dumps(store)).read("f") == b"same"


def test_large_files_are_streamed(store: Store) -> None:
    block = bytes(1 << 20)
    with store.open_output("big") as file:
        for _ in range(40):
            file.write(block)
    assert store.size("big") == 40 << 20
