"""The C interface from Python's ctypes: every family that the headers declare, a softmax of equal numbers,
and two ranks that gather.

    c_api.py LIBFLYDSL_KERNELS LIBFLYDSL_EMULATOR HEADERS
"""
import ctypes
import pathlib
import re
import sys

kernels, hip = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
kernels.flydsl_last_error.restype = ctypes.c_char_p
OK, UNSUPPORTED, F32, ROWS, N = 0, 2, 0, 2, 32


class Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("data", ctypes.c_void_p), ("dtype", ctypes.c_int),
                ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("integer", ctypes.c_int64)]


def expect(condition, what):
    if not condition:
        sys.exit(f"{what}; last error: {kernels.flydsl_last_error().decode()}")


# Each family that a header declares: a problem of its name alone is understood, whether or not a target takes its defaults.
families = [name for header in sorted(pathlib.Path(sys.argv[3]).rglob("*.h"))
            for name in re.findall(r'struct FamilyOf<\w+> \{.*?std::string_view name = "(\w+)"', header.read_text(), re.S)]
expect(len(families) > 30 and len(families) == len(set(families)), f"the families of the headers: {families}")
for family in families:
    expect(kernels.flydsl_supported(family.encode(), b"gfx942") in (OK, UNSUPPORTED), f"{family} is in the C interface")
expect(kernels.flydsl_supported(b"elementwise", b"gfx942") == 1, "a chain is a program's own code, and has no name")

plan = ctypes.c_void_p()
expect(kernels.flydsl_plan_create(b"softmax n=0", ctypes.c_int64(1), None, ctypes.byref(plan)) == UNSUPPORTED and not plan,
       "a problem of no elements is refused")
expect(b"n is 0" in kernels.flydsl_last_error(), "the sentence names the field")
expect(kernels.flydsl_plan_create(b"softmax x=f32 y=f32 n=32", ctypes.c_int64(ROWS), None, ctypes.byref(plan)) == OK, "a plan")

values = (ctypes.c_float * (ROWS * N))(*[3.0] * (ROWS * N))
x = ctypes.c_void_p()
expect(hip.hipMalloc(ctypes.byref(x), ctypes.c_size_t(ctypes.sizeof(values))) == 0, "memory")
expect(hip.hipMemcpy(x, values, ctypes.c_size_t(ctypes.sizeof(values)), 1) == 0, "a copy to the device")
shape = (ctypes.c_int64 * 2)(ROWS, N)
arguments = (Argument * 2)(Argument(b"x", 0, x, F32, 2, shape), Argument(b"y", 0, x, F32, 2, shape))
expect(kernels.flydsl_plan_call(plan, arguments, ctypes.c_size_t(2), None) == OK, "a call")
expect(hip.hipMemcpy(values, x, ctypes.c_size_t(ctypes.sizeof(values)), 2) == 0, "a copy from the device")
expect(all(value == 1 / N for value in values), "each is 1 / n")
kernels.flydsl_plan_destroy(plan)

# The ranks of a group: each gets the parts of both.
m = 8
devices, groups = (ctypes.c_int32 * 2)(0, 1), (ctypes.c_void_p * 2)()
expect(kernels.flydsl_group_of(devices, ctypes.c_int32(2), None, groups) == OK, "a group")
expect(kernels.flydsl_plan_create(b"collective kind=all_gather type=f32 ranks=2", ctypes.c_int64(m), None, ctypes.byref(plan)) == OK,
       "a plan of a group")
own, gathered, streams = [], [], []
part, whole = (ctypes.c_int64 * 1)(m // 2), (ctypes.c_int64 * 1)(m)
for rank in range(2):
    hip.hipSetDevice(rank)
    x, y, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    values = (ctypes.c_float * (m // 2))(*[rank + 1.0] * (m // 2))
    expect(hip.hipMalloc(ctypes.byref(x), ctypes.c_size_t(4 * m)) == 0 and hip.hipMalloc(ctypes.byref(y), ctypes.c_size_t(4 * m)) == 0 and
           hip.hipStreamCreate(ctypes.byref(stream)) == 0, "memory and a stream")
    expect(hip.hipMemcpy(x, values, ctypes.c_size_t(2 * m), 1) == 0, "a copy to the device")
    own.append(x), gathered.append(y), streams.append(stream)
for rank in range(2):
    hip.hipSetDevice(rank)
    arguments = (Argument * 3)(Argument(b"x", 0, own[rank], F32, 1, part), Argument(b"y", 0, gathered[rank], F32, 1, whole),
                               Argument(b"group", 3, groups[rank]))
    expect(kernels.flydsl_plan_call(plan, arguments, ctypes.c_size_t(3), streams[rank]) == OK, "a call of a rank")
for rank in range(2):
    hip.hipSetDevice(rank)
    values = (ctypes.c_float * m)()
    expect(hip.hipStreamSynchronize(streams[rank]) == 0 and hip.hipMemcpy(values, gathered[rank], ctypes.c_size_t(4 * m), 2) == 0,
           "a copy from the device")
    expect(list(values) == [1.0] * (m // 2) + [2.0] * (m // 2), "the parts of both")
for rank in range(2):
    expect(kernels.flydsl_group_check(ctypes.c_void_p(groups[rank])) == OK, "no rank is missing")
    kernels.flydsl_group_destroy(ctypes.c_void_p(groups[rank]))
kernels.flydsl_plan_destroy(plan)
