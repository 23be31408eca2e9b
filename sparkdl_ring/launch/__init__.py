"""Starts ranks and brings back results or the first cause of failure."""

from sparkdl_ring.launch.api import Launcher, LaunchOptions, run

__all__ = ["run", "Launcher", "LaunchOptions"]
