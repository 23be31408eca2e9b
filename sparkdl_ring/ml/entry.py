"""What runs in each task of an estimator: the one place that wires store, spec, ranks and trainer."""

from __future__ import annotations

from sparkdl_ring.comm import current
from sparkdl_ring.job import TrainJob, TrainResult
from sparkdl_ring.store import layout, open_store


def main(job: TrainJob) -> TrainResult:
    """Trains a PyTorch job; the ranks are connected when this is called.

    Args:
        job: The job; model, loss and optimizer lie in its store.
    """
    from sparkdl_ring.torch import loads_spec, train

    store = open_store(job.store_url)
    spec = loads_spec(store.read(layout.payload_path(job.run_id)))
    return train(job, spec, current(), store)
