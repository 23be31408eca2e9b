"""Places and secrets from environment variables."""

from __future__ import annotations

import pytest

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.rendezvous.env import env_rendezvous, secret_from_env, world_from_env
from sparkdl_ring.world import SINGLE

TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "10.0.0.1",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "job-7",
    "TORCHELASTIC_RESTART_COUNT": "2",
}


def test_no_launcher_means_alone():
    assert world_from_env({}) is SINGLE


def test_the_variables_of_torchrun():
    world = world_from_env(TORCHRUN)
    assert (world.rank, world.size, world.local_rank, world.local_size) == (3, 4, 1, 2)
    assert (world.run_id, world.generation) == ("job-7", 2)


def test_ours_win():
    assert world_from_env({**TORCHRUN, "SPARKDL_RING_RANK": "0"}).rank == 0


@pytest.mark.parametrize("env", [{"RANK": "0"}, {"WORLD_SIZE": "2"}, {"RANK": "one", "WORLD_SIZE": "2"}])
def test_half_a_description_is_refused(env):
    with pytest.raises(ConfigError):
        world_from_env(env)


def test_a_rendezvous_needs_a_master():
    with pytest.raises(ConfigError, match="MASTER_ADDR"):
        env_rendezvous({"RANK": "0", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "x"})


def test_peers_are_known_only_across_hosts():
    assert env_rendezvous(TORCHRUN).peers == ("10.0.0.1",)
    assert env_rendezvous({**TORCHRUN, "LOCAL_WORLD_SIZE": "4"}).peers == ()


def test_secrets_come_from_ours_then_from_torchruns_run_id():
    mine = secret_from_env({**TORCHRUN, "SPARKDL_RING_SECRET": "s"})
    theirs = secret_from_env(TORCHRUN)
    assert len(mine) == len(theirs) == 32
    assert mine != theirs
    with pytest.raises(ConfigError, match="SPARKDL_RING_SECRET"):
        secret_from_env({})
