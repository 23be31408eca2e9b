from __future__ import annotations

import pickle

import pytest

from sparkdl_ring.errors import ConfigError, MissingDependencyError
from sparkdl_ring.store import open_store


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file://localhost/a", "/a"),
        ("dbfs:/a/b", "/dbfs/a/b"),
        ("/Volumes/c/s/v", "/Volumes/c/s/v"),
        ("/a#b/50%/c d", "/a#b/50%/c d"),
        ("/a::b", "/a::b"),
        ("file:///x%20y", "/x%20y"),
    ],
)
def test_local_paths_are_literal(url: str, root: str) -> None:
    store = open_store(url)
    assert store.filesystem()[1] == root
    assert store.url == "file://" + root
    assert open_store(store.url).filesystem()[1] == root
    assert store.local_path("x/y") == root + "/x/y"


def test_a_relative_path_becomes_absolute(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store("here").filesystem()[1] == str(tmp_path / "here")


@pytest.mark.parametrize("url", ["", "nosuchkind://bucket/x"])
def test_urls_that_lead_nowhere_are_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        open_store(url)


def test_a_missing_client_is_named() -> None:
    with pytest.raises(MissingDependencyError, match="pip install gcsfs"):
        open_store("gs://bucket/x")


def test_a_store_pickles_and_hides_its_options() -> None:
    store = open_store("memory://pickled", {"secret_thing": "hush"})
    again = pickle.loads(pickle.dumps(store))
    assert again == store
    assert hash(again) == hash(store)
    assert "hush" not in repr(again)
    assert store != open_store("memory://other")
