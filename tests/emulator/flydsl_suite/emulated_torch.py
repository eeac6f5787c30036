"""A pytest plugin: PyTorch without a GPU, whose "cuda" is the emulator.

Every tensor is a CPU tensor in the emulator's pinned memory (allocator.cpp), so that a kernel may take its
address, and says that it is on device cuda:0. Operations of PyTorch run on the CPU after the emulator's streams
have ended, which is the order that a GPU's stream would give them. Streams and events are HIP's own. What needs a
PyTorch for GPUs (graphs that PyTorch captures, its profiler, several devices) is missing and says so.
"""

import ctypes
import json
import os
import sys
import types

import pytest
import torch
from torch.overrides import TorchFunctionMode

hip = ctypes.CDLL("libamdhip64.so.7", mode=ctypes.RTLD_GLOBAL)
hip.hipGetErrorString.restype = ctypes.c_char_p
hip.flydslEmulatorErrorText.restype = ctypes.c_char_p
ctypes.CDLL(os.environ["FLYDSL_SUITE_ALLOCATOR"]).flydslUsePinnedMemory()

CUDA = torch.device("cuda:0")
CPU = torch.device("cpu")


def check(status):
    if status:
        text = hip.flydslEmulatorErrorText() or hip.hipGetErrorString(status)
        raise RuntimeError(f"HIP error {status}: {text.decode()}")


def synchronize(device=None):
    check(hip.hipDeviceSynchronize())


def is_cuda_device(value):
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and value.split(":")[0] == "cuda"


def to_host(value):
    return CPU if is_cuda_device(value) else value


PROPERTIES = {
    torch.Tensor.device.__get__: CUDA,
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
}


class OnTheEmulator(TorchFunctionMode):
    """Runs each function on the CPU, when the kernels before it have ended."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function in PROPERTIES:
            return PROPERTIES[function]
        if function is torch.device:  # a name, which tests compare with that of a tensor
            return function(*args, **kwargs)
        synchronize()
        if function in (torch.Tensor.cuda, torch.Tensor.cpu):
            return args[0].clone()
        # Between two devices, to() copies; which of them a tensor was on is not known here.
        if function is torch.Tensor.to:
            devices = [a for a in args[1:] if isinstance(a, (str, torch.device))]
            if devices or isinstance(kwargs.get("device"), (str, torch.device)):
                kwargs["copy"] = True
        if "pin_memory" in kwargs:
            kwargs["pin_memory"] = False
        if "device" in kwargs:
            kwargs["device"] = None if isinstance(kwargs["device"], int) else to_host(kwargs["device"])
        return function(*map(to_host, args), **kwargs)


class Generator(torch.Generator):
    """Random numbers of the CPU, whatever device is asked for."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls, device=to_host(device))


torch.Generator = Generator


class Event:
    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self.cuda_event = ctypes.c_void_p()
        check(hip.hipEventCreate(ctypes.byref(self.cuda_event)))

    def record(self, stream=None):
        check(hip.hipEventRecord(self.cuda_event, ctypes.c_void_p((stream or current_stream()).cuda_stream)))

    def wait(self, stream=None):
        check(hip.hipStreamWaitEvent(ctypes.c_void_p((stream or current_stream()).cuda_stream), self.cuda_event, 0))

    def query(self):
        return hip.hipEventQuery(self.cuda_event) == 0

    def synchronize(self):
        check(hip.hipEventSynchronize(self.cuda_event))

    def elapsed_time(self, end):
        milliseconds = ctypes.c_float()
        check(hip.hipEventElapsedTime(ctypes.byref(milliseconds), self.cuda_event, end.cuda_event))
        return milliseconds.value


class Stream:
    def __init__(self, device=None, priority=0, handle=None):
        self.device = CUDA
        if handle is None:
            stream = ctypes.c_void_p()
            check(hip.hipStreamCreate(ctypes.byref(stream)))
            handle = stream.value
        self.cuda_stream = handle

    def synchronize(self):
        check(hip.hipStreamSynchronize(ctypes.c_void_p(self.cuda_stream)))

    def query(self):
        return hip.hipStreamQuery(ctypes.c_void_p(self.cuda_stream)) == 0

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event):
        event.wait(self)

    def wait_stream(self, other):
        self.wait_event(other.record_event())


default = Stream(handle=0)
current = [default]


def current_stream(device=None):
    return current[-1]


class stream:
    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        current.append(self.stream or current[-1])

    def __exit__(self, *_):
        current.pop()


class device:
    def __init__(self, device):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


class ExternalStream(Stream):
    def __init__(self, handle, device=None):
        super().__init__(handle=handle)


def memory(device=None):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    check(hip.hipMemGetInfo(ctypes.byref(free), ctypes.byref(total)))
    return free.value, total.value


def attribute(number):
    value = ctypes.c_int()
    check(hip.hipDeviceGetAttribute(ctypes.byref(value), number, 0))
    return value.value


def device_name(device=None):
    name = ctypes.create_string_buffer(256)
    check(hip.hipDeviceGetName(name, 256, 0))
    return name.value.decode()


def device_count():
    count = ctypes.c_int()
    check(hip.hipGetDeviceCount(ctypes.byref(count)))
    return count.value


def properties(device=None):
    arch = os.environ["FLYDSL_EMULATOR_ARCH"]
    # hipDeviceAttributeMultiprocessorCount of HIP 6 and 7's hipDeviceAttribute_t, and its wave's size.
    return types.SimpleNamespace(
        name=device_name(),
        gcnArchName=arch,
        multi_processor_count=attribute(63),
        warp_size=attribute(87),
        total_memory=memory()[1],
        L2_cache_size=1,  # by which benchmarks choose how many copies of their arguments they make
    )


def missing(name):
    def refuse(*_, **__):
        pytest.skip(f"torch.cuda.{name} needs a PyTorch for GPUs")

    return refuse


HERE = dict(
    is_available=lambda: True,
    is_initialized=lambda: True,
    init=lambda: None,
    synchronize=synchronize,
    current_device=lambda: 0,
    device_count=device_count,
    set_device=lambda device: None,
    get_device_name=device_name,
    get_device_properties=properties,
    mem_get_info=memory,
    memory_reserved=lambda device=None: 0,
    memory_allocated=lambda device=None: 0,
    max_memory_allocated=lambda device=None: 0,
    memory_stats=lambda device=None: {},
    reset_peak_memory_stats=lambda device=None: None,
    empty_cache=lambda: None,
    manual_seed=lambda seed: None,  # the generator of the CPU is the only one
    manual_seed_all=lambda seed: None,
    is_current_stream_capturing=lambda: False,
    current_stream=current_stream,
    default_stream=lambda device=None: default,
    Stream=Stream,
    ExternalStream=ExternalStream,
    Event=Event,
    stream=stream,
    device=device,
    _sleep=lambda cycles: None,
    CUDAGraph=missing("CUDAGraph"),
    graph=missing("graph"),
)
for name, value in HERE.items():
    setattr(torch.cuda, name, value)
# Libraries ask PyTorch's C++ half for a stream's handle, as Triton does.
torch._C._cuda_getCurrentRawStream = lambda index: current_stream().cuda_stream
# PyTorch for ROCm says so by its version, by which tests choose their formats of 8 bits.
torch.version.hip = "7.0"


def deep_copy(tensor, memo):
    """PyTorch's own asks another allocator than ours for the copy's memory."""
    if id(tensor) not in memo:
        memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return memo[id(tensor)]


torch.Tensor.__deepcopy__ = deep_copy
mode = OnTheEmulator()
mode.__enter__()

run_backward = torch.autograd._engine_run_backward


def run_backward_on_the_emulator(*args, **kwargs):
    """The mode is off while it handles a function, and backward() of Python runs inside of one."""
    with OnTheEmulator():
        return run_backward(*args, **kwargs)


torch.autograd._engine_run_backward = run_backward_on_the_emulator


def pytest_configure(config):
    """Times mean nothing here: what the suite's helpers would run a hundred times runs once."""
    from tests import test_common
    from tests.kernels import benchmark_common

    def once(fn, **_):
        fn()
        synchronize()
        return 1.0

    def run_once(count, function, *args, **kwargs):
        return function(*args, **kwargs)

    def run_last(count, function, arguments):
        args, kwargs = arguments[-1]
        return function(*args, **kwargs)

    test_common.run_iters = run_once
    test_common.run_iters_rotate = run_last
    benchmark_common.bench_gpu_us_torch = once


# The results go to a file, a line each, from which a process that is started again after a lost device or a
# crash learns what is done.
results_path = os.environ["FLYDSL_SUITE_RESULTS"]


def write_result(**row):
    with open(results_path, "a") as file:
        file.write(json.dumps(row) + "\n")


def pytest_collection_modifyitems(config, items):
    with open(results_path) as file:
        done = {row.get("test") for row in map(json.loads, file)}
    items[:] = [item for item in items if item.nodeid not in done]


def first_line(text):
    return next((line.strip() for line in str(text).splitlines() if line.strip()), "")[:300]


def why(report):
    if isinstance(report.longrepr, tuple):  # file, line, reason of a skip
        return first_line(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    return first_line(crash.message if crash else str(report.longrepr).splitlines()[-1:] and
                      str(report.longrepr).splitlines()[-1])


def pytest_collectreport(report):
    if report.outcome != "passed":
        outcome = "skipped" if report.skipped else "not collected"
        write_result(test=report.nodeid, outcome=outcome, why=why(report))


def pytest_runtest_logstart(nodeid, location):
    write_result(test=nodeid, outcome="started")
    os.write(2, f"\nsuite-test: {nodeid}\n".encode())


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        write_result(test=report.nodeid, outcome=report.outcome, why=why(report) if report.longrepr else "")


def pytest_runtest_teardown(item):
    """A device that is lost stays so: the rest of the tests is for another process."""
    if hip.hipDeviceSynchronize():
        os.write(2, b"suite: the device is lost\n")
        os._exit(3)


def pytest_sessionfinish(session, exitstatus):
    """The process ends at once: no tensor may outlive the emulator's library."""
    write_result(finished=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
