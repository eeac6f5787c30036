"""The C interface from Python's ctypes: a softmax of equal numbers.

    c_api.py LIBFLYDSL_KERNELS LIBFLYDSL_EMULATOR
"""
import ctypes
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
