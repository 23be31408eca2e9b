"""PyTorch on the ring: gradients averaged exactly, weights broadcast, a trainer that resumes.

::

    import sparkdl_ring.torch as ring

    ddp = ring.DistributedDataParallel(model)      # inside a task
    with ddp.step(weight=len(x)):                  # rows of this rank in this step
        loss(ddp(x), y).backward()                 # gradients are those of all rows of all ranks
    optimizer.step()
"""

from sparkdl_ring.errors import MissingDependencyError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingDependencyError('PyTorch is not installed: pip install "sparkdl-ring[torch]"') from error

from sparkdl_ring.torch.broadcast import broadcast_parameters
from sparkdl_ring.torch.buffers import average_buffers
from sparkdl_ring.torch.check import check_spec, uses_batch_statistics
from sparkdl_ring.torch.ddp import DistributedDataParallel
from sparkdl_ring.torch.hook import comm_hook
from sparkdl_ring.torch.serialize import dumps_spec, load_model, loads_model, loads_spec, save_model
from sparkdl_ring.torch.spec import TorchSpec
from sparkdl_ring.torch.trainer import train

__all__ = [
    "DistributedDataParallel",
    "TorchSpec",
    "average_buffers",
    "broadcast_parameters",
    "check_spec",
    "comm_hook",
    "dumps_spec",
    "load_model",
    "loads_model",
    "loads_spec",
    "save_model",
    "train",
    "uses_batch_statistics",
]
