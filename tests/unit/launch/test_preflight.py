"""Slots from settings."""

from __future__ import annotations

import pytest

from sparkdl_ring.errors import ConfigError, NotEnoughTasksError
from sparkdl_ring.launch.preflight import check_count, refuse_dynamic_allocation, slots_from


def reader(**conf):
    settings = {name.replace("__", "."): value for name, value in conf.items()}
    return lambda name, default: settings.get(name, default)


@pytest.mark.parametrize(
    ("conf", "slots"),
    [
        ({"spark__master": "local"}, 1),
        ({"spark__master": "local[4]"}, 4),
        ({"spark__master": "local[4, 2]"}, 4),
        ({"spark__master": "local[*]"}, 8),
        ({"spark__master": "local[*]", "spark__task__cpus": "3"}, 2),
        ({"spark__master": "local[4]", "spark__task__cpus": "2"}, 2),
        ({"spark__master": "local-cluster[2,3,1024]"}, 6),
        ({"spark__master": "local-cluster[2, 3, 1024]", "spark__task__cpus": "2"}, 2),
        ({"spark__master": "yarn", "spark__executor__instances": "3", "spark__executor__cores": "5"}, 15),
        ({"spark__master": "yarn", "spark__executor__instances": "3"}, None),
        ({"spark__master": "spark://h:7077", "spark__executor__cores": "2"}, None),
        ({}, None),
    ],
)
def test_slots(conf, slots):
    assert slots_from(reader(**conf), processors=8) == slots


def test_all_processors_of_an_unknown_driver_are_unknown():
    assert slots_from(reader(spark__master="local[*]")) is None


def test_too_few_slots_are_told_with_numbers_and_a_remedy():
    check_count(2, 2, "local[2]")
    check_count(None, 99, "yarn")
    with pytest.raises(NotEnoughTasksError, match=r"num_workers is 3.*2 task.*local\[3\]"):
        check_count(2, 3, "local[2]")
    with pytest.raises(NotEnoughTasksError, match="executor"):
        check_count(2, 3, "yarn")


def test_dynamic_allocation_is_refused_with_what_to_set():
    refuse_dynamic_allocation(reader())
    with pytest.raises(ConfigError, match=r"dynamicAllocation.*executor\.instances"):
        refuse_dynamic_allocation(reader(spark__dynamicAllocation__enabled="true"))
