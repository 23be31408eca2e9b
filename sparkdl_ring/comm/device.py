"""Collectives on arrays in the memory of GPUs: by NCCL, or staged through host memory.

A device is set up when the first array on it comes; all ranks do so in the same call. Nothing waits for a
device: results are ready for what the caller queues on its current stream afterwards.
"""

from __future__ import annotations

import importlib.util
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkdl_ring.comm import shares
from sparkdl_ring.comm.device_arrays import DeviceArray, current_stream, device_array, is_tensor
from sparkdl_ring.comm.device_work import DeviceWork, NativeDeviceWork
from sparkdl_ring.comm.dtypes import op_code
from sparkdl_ring.comm.submit import Call, Submitter
from sparkdl_ring.config import CommConfig, environment
from sparkdl_ring.errors import ConfigError, RingError
from sparkdl_ring.log import get_logger

if TYPE_CHECKING:
    from sparkdl_ring._native import Communicator as NativeCommunicator
    from sparkdl_ring._native import DeviceCommunicator as NativeDevice

_log = get_logger(__name__)
_CLOSE_S = 30.0


class Devices:
    """The devices of one rank, each with its group.

    Args:
        native: The host communicator.
        host: Submits over the host ring: numbers of rows go there.
    """

    def __init__(self, native: NativeCommunicator, host: Submitter) -> None:
        self._native = native
        self._host = host
        self._config = CommConfig()
        self._groups: dict[int, NativeDevice] = {}
        self._flying: deque[DeviceWork] = deque()

    def configure(self, config: CommConfig) -> None:
        """Which way to go and where the libraries are, for devices that are not set up yet."""
        self._config = config

    @property
    def reasons(self) -> dict[str, str]:
        """Device to why its collectives go the way they go."""
        return {group.device: group.reason for group in self._groups.values()}

    def allreduce(self, array: Any, out: Any, op: str, call: Call) -> DeviceWork:
        """Reduces ``array`` into ``out``, which may be the same array."""
        _refuse_compression(call)
        source, target = device_array(array), device_array(out).writable()
        _check_alike(source, target)
        native = self._group(source).allreduce(
            source.address,
            target.address,
            source.count,
            *_how(source, op, call),
        )
        return self._launched(native, (source, target))

    def reduced(self, array: Any, out: Any, op: str, call: Call) -> Any:
        """Reduces ``array`` into ``out``, or into a new array when that is ``None``; returns the result."""
        result = device_array(array).like(device_array(array).shape) if out is None else out
        self.allreduce(array, result, op, call).wait()
        return result

    def grouped_allreduce(
        self, arrays: Sequence[Any], outs: Sequence[Any] | None, op: str, call: Call
    ) -> list[Any]:
        """Reduces all arrays into ``outs``, or into new ones, as one launch; returns the results."""
        sources = [device_array(array) for array in arrays]
        results = [source.like(source.shape) for source in sources] if outs is None else list(outs)
        targets = [device_array(result).writable() for result in results]
        members = [
            (source.address, target.address, source.count, source.dtype.code)
            for source, target in zip(sources, targets, strict=True)
        ]
        code = next(op_code(op, source.dtype) for source in sources)
        native = self._group(sources[0]).grouped_allreduce(
            members, code, sources[0].stream, call.timeout_s, call.name, call.prescale, call.postscale
        )
        self._launched(native, [*sources, *targets]).wait()
        return results

    def broadcast(self, array: Any, root: int, call: Call) -> DeviceWork:
        """Overwrites ``array`` with rank ``root``'s."""
        if not 0 <= root < self._native.size:
            raise ConfigError(f"root {root} is outside 0..{self._native.size - 1}")
        given = device_array(array)
        if self._native.rank != root:
            given.writable()
        native = self._group(given).broadcast(
            given.address,
            given.count,
            given.dtype.code,
            root,
            given.stream,
            call.timeout_s,
            call.label(given.shape),
        )
        return self._launched(native, (given,))

    def broadcasted(self, array: Any, root: int, call: Call) -> Any:
        """Rank ``root``'s array as a new array; the others give one of the same shape and dtype."""
        if self._native.rank == root:
            copy = getattr(array, "clone", None) or getattr(array, "copy", None)
            if copy is None:
                raise ConfigError(f"{type(array).__name__} cannot be copied here: use broadcast_")
            result = copy()
        else:
            result = device_array(array).like(device_array(array).shape)
        self.broadcast(result, root, call).wait()
        return result

    def allgather(self, array: Any, call: Call) -> Any:
        """Concatenates the arrays of all ranks on axis 0; the numbers of rows go over the host ring."""
        given = device_array(array)
        group, rest = self._group(given), given.shape[1:]
        named = _rows_call(given, call)
        rows = self._host.gather_counts(given.shape[0] if given.shape else 1, named)
        result = given.like((sum(rows), *rest))
        target = device_array(result)
        counts = shares.elements(rows, rest)
        native = group.allgather(
            given.address,
            target.address,
            counts,
            given.dtype.code,
            given.stream,
            call.timeout_s,
            named.name,
        )
        self._launched(native, (given, target)).wait()
        return result

    def reducescatter(self, array: Any, op: str, call: Call) -> Any:
        """Reduces ``array`` and returns this rank's part of axis 0."""
        _refuse_compression(call)
        source = device_array(array)
        rows, rest = shares.rows_of(source.shape, self._native.size), source.shape[1:]
        result = source.like((rows[self._native.rank], *rest))
        target = device_array(result)
        native = self._group(source).reducescatter(
            source.address,
            target.address,
            shares.elements(rows, rest),
            *_how(source, op, call),
        )
        self._launched(native, (source, target)).wait()
        return result

    def alltoall(self, array: Any, splits: Sequence[int] | None, call: Call) -> tuple[Any, list[int]]:
        """Deals the rows of ``array`` out; returns the rows for this rank, and how many came from each."""
        source = device_array(array)
        rows, rest = shares.deal(source.shape, splits, self._native.size), source.shape[1:]
        group, named = self._group(source), _rows_call(source, call)
        coming = self._host.exchange_counts(rows, named)
        result = source.like((sum(coming), *rest))
        target = device_array(result)
        native = group.alltoall(
            source.address,
            shares.elements(rows, rest),
            target.address,
            shares.elements(coming, rest),
            source.dtype.code,
            source.stream,
            call.timeout_s,
            named.name,
        )
        self._launched(native, (source, target)).wait()
        return result, coming

    def register(self, array: Any) -> None:
        """Tells NCCL that the memory of ``array`` is used again and again, until the communicator closes."""
        given = device_array(array)
        self._group(given).register_buffer(given.address, given.count * given.dtype.size_bytes)

    def share(self, child: Devices | None, native: NativeCommunicator | None, timeout_s: float) -> None:
        """Makes groups of some ranks out of those of all: all ranks call it, members with their new place.

        Where NCCL cannot split, and for staged devices, the child sets up its device when it needs it.
        """
        if child is not None:
            child.configure(self._config)
        for device, group in self._groups.items():
            if group.is_staged:
                continue
            try:
                made = group.split(0, native, timeout_s)
            except ConfigError as error:
                _log.debug("%s: %s", group.device, error)
                continue
            if child is not None and made is not None:
                child._groups[device] = made

    def close(self) -> None:
        """Leaves all groups when what is queued is done; a group that has failed already says nothing new."""
        groups = list(self._groups.values())
        self._groups.clear()
        for group in groups:
            try:
                group.close(_CLOSE_S)
            except RingError as error:
                _log.warning("%s could not leave in order: %s", group.device, error)
        self._flying.clear()

    def _group(self, array: DeviceArray) -> NativeDevice:
        device = array.device if array.device >= 0 else self._device_of(array.address)
        if device not in self._groups:
            self._groups[device] = self._connect(device)
        return self._groups[device]

    def _device_of(self, address: int) -> int:
        from sparkdl_ring._native import device_of

        device = device_of(address, self._config.cuda_path) if address else 0
        if device < 0:
            raise ConfigError("the array says that it is on a device, but its memory belongs to none")
        return device

    def _connect(self, device: int) -> NativeDevice:
        from sparkdl_ring._native import DeviceCommunicator

        config = self._config
        group = DeviceCommunicator.connect(
            self._native,
            device,
            config.device,
            config.connect_timeout_s,
            config.nccl_path,
            _package_folder(),
            config.cuda_path,
            environment().get("NCCL_MULTI_RANK_GPU_ENABLE") == "1",
            config.device_check,
        )
        say = _log.warning if group.is_staged and config.device != "staged" else _log.info
        say("collectives on %s: %s", group.device, group.reason)
        return group

    def _launched(self, native: NativeDeviceWork, arrays: Sequence[DeviceArray]) -> DeviceWork:
        """Keeps the work (and its buffers) even when the caller drops it."""
        while self._flying and self._flying[0].is_idle():  # first in, first out
            self._flying.popleft()
        work = DeviceWork(native, [a.owner for a in arrays], _stream_of(arrays[0]))
        self._flying.append(work)
        return work


def _how(source: DeviceArray, op: str, call: Call) -> tuple[int, int, int, float, str, float, float]:
    """What all reductions of one array end with."""
    code = op_code(op, source.dtype)
    what = (source.dtype.code, code, source.stream, call.timeout_s, call.label(source.shape))
    return (*what, call.prescale, call.postscale)


def _refuse_compression(call: Call) -> None:
    if call.compress is not None:
        raise ConfigError(
            "compress is for arrays in host memory; on a device reduce a float16 or bfloat16 copy"
        )


def _rows_call(array: DeviceArray, call: Call) -> Call:
    """A call whose ranks agree on the type and on all axes but the first."""
    shape = shares.open_shape(array.shape[1:]) if array.shape else "()"
    return Call(f"{call.name} {array.dtype.name}{shape}".lstrip(), call.timeout_s)


def _check_alike(source: DeviceArray, target: DeviceArray) -> None:
    if (source.shape, source.dtype) != (target.shape, target.dtype):
        raise ConfigError(
            f"out has shape {target.shape} and dtype {target.dtype.name}, "
            f"the array has {source.shape} and {source.dtype.name}"
        )


def _stream_of(array: DeviceArray) -> Callable[[], int]:
    """Tensors: the stream that is current when it is asked for. Others: the one they came with."""
    if is_tensor(array.owner):
        return lambda: current_stream(array.owner, array.device)
    return lambda: array.stream


def _package_folder() -> str:
    """Where the nvidia.nccl package keeps its library; empty when it is not installed."""
    try:
        spec = importlib.util.find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        return ""
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return str(Path(places[0]) / "lib") if places else ""
