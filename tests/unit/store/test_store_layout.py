from __future__ import annotations

import pytest

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.store import layout


def test_everything_of_a_run_lies_under_it() -> None:
    for path in (
        layout.payload_path,
        layout.events_dir,
        layout.tasks_dir,
        layout.checkpoints_dir,
        layout.model_path,
    ):
        assert path("r1").startswith(layout.run_dir("r1") + "/")


def test_the_manifest_lies_beside_its_files() -> None:
    assert layout.manifest_path("d") == layout.dataset_dir("d") + "/manifest.json"


@pytest.mark.parametrize("name", ["", "..", ".", "a/b"])
def test_names_are_one_segment(name: str) -> None:
    with pytest.raises(ConfigError):
        layout.run_dir(name)
    with pytest.raises(ConfigError):
        layout.dataset_dir(name)
