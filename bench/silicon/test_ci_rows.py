"""Launches each product of FlyDSL's CI (ci_rows.py) once, by the kernels of the commit that the CI ran.

Run by hand by pytest with the plugin emulated_torch of tests/emulator/flydsl_suite, FlyDSL's repository on Python's path and
FLYDSL_EMULATOR_COUNTERS=1; report.py reads what it prints. Operands are zeros, and FLYDSL_EMULATOR_MATRIX=none leaves products out: the
time that is estimated depends on neither.
"""
import os

import flydsl.compiler as flyc
import pytest
import torch
from kernels.preshuffle_gemm import compile_preshuffle_gemm_a8, compile_preshuffle_gemm_w4

with open(os.environ["SILICON_ROWS"]) as file:
    ROWS = [line.split() for line in file]
# Bits of an element of A and of B.
BITS = {"fp8": (8, 8), "int8": (8, 8), "int4": (8, 4), "fp4": (4, 4), "bf16": (16, 16)}


def zeros(count, dtype=torch.int8):
    return torch.zeros(count, dtype=dtype, device="cuda")


def launcher(kind, m, n, k, tile_m, tile_n, tile_k, asynchronous, waves):
    options = dict(M=m, N=n, K=k, tile_m=tile_m, tile_n=tile_n, tile_k=tile_k, out_dtype="bf16", lds_stage=2,
                   use_async_copy=bool(asynchronous), waves_per_eu=waves or None, dsrd_preload=2, dvmem_preload=2)
    a, b = (zeros(count * bits // 8) for count, bits in zip((m * k, n * k), BITS[kind]))
    if kind == "fp4":
        build = compile_preshuffle_gemm_w4(a_dtype="fp4", b_dtype="fp4", **options)
        scales = [zeros(rows * k // 32, torch.uint8) for rows in (m, n)]
        a, b = a.view(torch.uint8), b.view(torch.uint8)
    else:
        build = compile_preshuffle_gemm_a8(in_dtype=kind, **options)
        scales = [zeros(0 if kind == "bf16" else count, torch.float32) for count in (m, n)]
        if kind == "bf16":
            a, b = a.view(torch.bfloat16), b.view(torch.bfloat16)
    arguments = (zeros(m * n, torch.bfloat16), a, b, *scales, zeros(0, torch.bfloat16), m, n, torch.cuda.current_stream())
    return lambda: flyc.compile(build, *arguments)  # compiles and launches


@pytest.mark.parametrize("i", range(len(ROWS)))
def test_row(i):
    kind, m, n, k, _, _, *configuration = ROWS[i]
    launch = launcher(kind, int(m), int(n), int(k), *map(int, configuration))
    torch.cuda.synchronize()
    os.write(2, f"ROW {i} BEGIN\n".encode())
    launch()
    torch.cuda.synchronize()
    os.write(2, f"ROW {i} END\n".encode())
