"""How ranks find each other."""

from sparkdl_ring.rendezvous.api import Rendezvous
from sparkdl_ring.rendezvous.barrier import BarrierRendezvous
from sparkdl_ring.rendezvous.env import env_rendezvous, secret_from_env, world_from_env
from sparkdl_ring.rendezvous.file import FileRendezvous
from sparkdl_ring.rendezvous.tcp import TcpRendezvous

__all__ = [
    "Rendezvous",
    "BarrierRendezvous",
    "FileRendezvous",
    "TcpRendezvous",
    "env_rendezvous",
    "secret_from_env",
    "world_from_env",
]
