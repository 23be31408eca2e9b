"""Settings: precedence, types, provenance, and the environment restored."""

from __future__ import annotations

import pytest

from sparkdl_ring import config
from sparkdl_ring.errors import ConfigError

ENV = {"SPARKDL_RING_COMM_TIMEOUT_S": "7"}
CONF = {"spark.sparkdl_ring.comm.timeout_s": "9", "spark.sparkdl_ring.data.reader_threads": "0"}


def test_argument_beats_environment_beats_spark_conf_beats_default() -> None:
    assert config.resolve({"comm.timeout_s": 5}, environ=ENV, spark_conf=CONF).comm.timeout_s == 5.0
    assert config.resolve(environ=ENV, spark_conf=CONF).comm.timeout_s == 7.0
    assert config.resolve(environ={}, spark_conf=CONF).comm.timeout_s == 9.0
    assert config.resolve(environ={}).comm.timeout_s == 300.0


def test_values_take_the_type_of_the_field() -> None:
    resolved = config.resolve({"launch.preflight": "false"}, environ={}, spark_conf=CONF)
    assert resolved.launch.preflight is False
    assert resolved.data.reader_threads == 0


@pytest.mark.parametrize("bad", [{"comm.timeout_s": "soon"}, {"launch.preflight": "maybe"}])
def test_a_wrong_value_names_the_setting(bad: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        config.resolve(bad, environ={})


def test_an_unknown_setting_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"comm\.tiemout_s.*comm\.timeout_s"):
        config.resolve({"comm.tiemout_s": 1}, environ={})


def test_explain_tells_the_source() -> None:
    sources = {
        s.name: s.source for s in config.explain({"comm.transport": "tcp"}, environ=ENV, spark_conf=CONF)
    }
    assert sources["comm.transport"] == "argument"
    assert sources["comm.timeout_s"] == "environment SPARKDL_RING_COMM_TIMEOUT_S"
    assert sources["data.reader_threads"] == "Spark conf spark.sparkdl_ring.data.reader_threads"
    assert sources["data.shuffle_rows"] == "default"
    assert all(s.doc.endswith(".") for s in config.explain(environ={}))


def test_scoped_environment_restores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RING_TEST_A", "before")
    monkeypatch.delenv("RING_TEST_B", raising=False)
    with config.scoped_environment({"RING_TEST_A": None, "RING_TEST_B": "inside"}):
        assert "RING_TEST_A" not in config.environment()
        assert config.environment()["RING_TEST_B"] == "inside"
    assert config.environment()["RING_TEST_A"] == "before"
    assert "RING_TEST_B" not in config.environment()


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("comm.transport", "udp", "one of auto, shm, tcp"),
        ("comm.timeout_s", -1, "more than 0"),
        ("comm.connect_timeout_s", 0, "more than 0"),
        ("comm.streams", 17, "1 to 16"),
        ("comm.socket_buffer_bytes", 3000, "at least 65536, or 0"),
        ("comm.bucket_bytes", -1, "at least 1"),
        ("comm.device", "gpu", "one of auto, nccl, staged"),
        ("launch.grace_s", -1, "at least 0"),
    ],
)
def test_values_that_cannot_be_are_refused_before_anything_starts(name, value, wanted):
    with pytest.raises(ConfigError, match=f"setting {name} must be {wanted}, not .*argument"):
        config.resolve({name: value}, environ={})


def test_zero_lets_the_system_choose():
    assert config.resolve({"comm.socket_buffer_bytes": 0}, environ={}).comm.socket_buffer_bytes == 0


def test_a_misspelt_variable_is_refused_with_what_it_may_mean():
    with pytest.raises(ConfigError, match="TIMOUT_S names no setting; is it SPARKDL_RING_COMM_TIMEOUT_S"):
        config.resolve(environ={"SPARKDL_RING_COMM_TIMOUT_S": "3"})
    assert config.resolve(environ={"SPARKDL_RING_TRACE": "1"}).comm.timeout_s == 300.0
