"""Which run in the store a fit continues: the unfinished one of the same name that takes the same steps."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from itertools import count
from typing import Any

from sparkdl_ring.data import Materialized
from sparkdl_ring.log import get_logger
from sparkdl_ring.ml.request import Request
from sparkdl_ring.ml.trainee import Trainee
from sparkdl_ring.store import Store, layout

_log = get_logger(__name__)

# Where a fit runs and what becomes of it does not change its steps, nor does how far it goes.
_NO_MATTER = frozenset(
    [
        "store",
        "epochs",
        "launcher",
        "tracking",
        "experiment",
        "settings",
        "inference_batch_size",
        "prediction_cols",
        "resume",
    ]
)


def run_in_store(request: Request, trainee: Trainee, data: Materialized, store: Store) -> str:
    """The run that a fit writes to: a new one, or that of an unfinished fit which it goes on with.

    A fit goes on where ``store`` and ``run_name`` are set, ``resume`` is on, and seed, rows, settings of the
    data, number of tasks and what is trained are those of the earlier one. A finished run is left as it is.

    Args:
        request: The fit.
        trainee: What is trained.
        data: The rows.
        store: The store.
    """
    params = request.params
    if not params["resume"] or params["store"] is None or params["run_name"] is None:
        return request.id
    key = key_of(request, trainee.identity, data)
    for attempt in count(1):
        found = f"{key}-{attempt}"
        if not store.exists(layout.model_path(found)):
            if store.list(layout.checkpoints_dir(found)):
                _log.warning(
                    "run_name %r is unfinished in %s: going on with it", params["run_name"], store.url
                )
            return found
    raise AssertionError("count() never ends")


def key_of(request: Request, identity: str, data: Materialized) -> str:
    """Equal for fits that take the same steps, whatever process asks."""
    steps: dict[str, Any] = {name: value for name, value in request.params.items() if name not in _NO_MATTER}
    digests = [part.digest for part in (data.train, data.validation) if part is not None]
    text = json.dumps([steps, asdict(request.config.data), identity, digests], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
