"""The launcher seam, and ``run``: a function on N ranks, results by rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from sparkdl_ring import config as settings
from sparkdl_ring.config import RingConfig
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.launch.registry import named_launcher

if TYPE_CHECKING:
    from sparkdl_ring.store import Store


@dataclass(frozen=True)
class LaunchOptions:
    """How a function is launched.

    Args:
        config: The resolved settings, the same on all ranks.
        run_id: Name of the run; drawn at random where it is ``None``.
        board: Store in which tasks leave arrival marks and failure records; launchers that can see the tasks'
            disk need none.
        board_path: Folder of those marks inside ``board``, one for each launch.
        on_poll: Called on the driver about every ``poll_s`` while ranks run, in the caller's thread.
        poll_s: Seconds between two calls.
    """

    config: RingConfig = field(default_factory=RingConfig)
    run_id: str | None = None
    board: Store | None = None
    board_path: str = "board"
    on_poll: Callable[[], None] | None = None
    poll_s: float = 0.25


class Launcher(Protocol):
    """Starts ranks on some platform; in each, ``sparkdl_ring.current()`` is the connected communicator."""

    def platform_settings(self) -> Mapping[str, str]:
        """Settings that the platform holds for us (``spark.sparkdl_ring.*``)."""
        ...

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        num_workers: int,
        options: LaunchOptions,
    ) -> list[Any]:
        """Runs ``fn(*args, **kwargs)`` on ``num_workers`` connected ranks.

        Returns:
            The results by rank.

        Raises:
            TaskFailedError: A rank failed; the first cause is named and chained.
            NotEnoughTasksError: There are fewer slots than ranks.
            ConfigError: Something cannot be sent or set.
        """
        ...


def run(
    fn: Callable[..., Any],
    *args: Any,
    num_workers: int,
    launcher: str | Launcher = "spark",
    config: RingConfig | Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """Runs ``fn(*args, **kwargs)`` on ``num_workers`` ranks and returns their results by rank.

    Inside the function ``sparkdl_ring.current()`` is the connected communicator.

    Args:
        fn: Any function that can be pickled, lambdas and local functions included.
        *args: Its arguments.
        num_workers: Number of ranks.
        launcher: ``spark`` (one barrier task a rank), ``local`` (processes on this host) or a launcher.
        config: Settings by name, ``{"comm.timeout_s": 60}``, over those of the environment and the platform;
            or all of them, as :func:`sparkdl_ring.config.resolve` makes them.
        **kwargs: Its keyword arguments.

    Raises:
        TaskFailedError: A rank failed; ``rank``, ``host`` and ``remote_traceback`` tell where,
            ``__cause__`` is that rank's own exception.
        NotEnoughTasksError: There are fewer slots than ranks.
        ConfigError: An argument or setting is wrong.
    """
    if num_workers < 1:
        raise ConfigError(f"num_workers must be at least 1, not {num_workers}")
    chosen: Launcher = named_launcher(launcher) if isinstance(launcher, str) else launcher
    if not isinstance(config, RingConfig):
        config = settings.resolve(config, spark_conf=chosen.platform_settings())
    return chosen.run(fn, args, kwargs, num_workers, LaunchOptions(config=config))
