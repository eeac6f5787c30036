"""Launches each row of rows.txt (choose_rows.py) once, as FlyDSL's own builders make its kernel.

Run by hand by pytest with the plugin emulated_torch of tests/emulator/flydsl_suite and FLYDSL_EMULATOR_COUNTERS=1;
report.py reads what it prints. Operands are zeros: the time that is estimated does not depend on them.
"""
import os

import flydsl.compiler as flyc
import pytest
import torch
from kernels.common.tensor_shim import _run_compiled
from kernels.gemm.hgemm_splitk import get_semaphore, hgemm_splitk_
from kernels.gemm.splitk_hgemm import compile_hgemm_kernel
from kernels.gemm.preshuffle_gemm import compile_preshuffle_gemm

with open(os.environ["SILICON_ROWS"]) as file:
    ROWS = [line.split() for line in file]


def zeros(*shape, dtype):
    return torch.zeros(shape, dtype=dtype, device="cuda")


def fp8(m, n, k, tile_m, tile_n, tile_k, stages, asynchronous, waves, dies):
    build = compile_preshuffle_gemm(N=n, K=k, tile_m=tile_m, tile_n=tile_n, tile_k=tile_k, in_dtype="fp8",
                                    waves_per_eu=waves or None, use_async_copy=bool(asynchronous), lds_stage=stages,
                                    xcd_swizzle=dies)
    rows = -(-m // tile_m) * tile_m  # the kernel reads scales of whole tiles
    arguments = (zeros(m * n, dtype=torch.bfloat16), zeros(m * k, dtype=torch.float8_e4m3fn),
                 zeros(n * k, dtype=torch.float8_e4m3fn), zeros(rows, dtype=torch.float32),
                 zeros(n, dtype=torch.float32), zeros(0, dtype=torch.bfloat16), m, n, torch.cuda.current_stream())
    return lambda: flyc.compile(build, *arguments)  # compiles and launches


def bf16(m, n, k, stages, tile_m, tile_n, tile_k, split_k, waves_m, waves_n, waves_k, has_waves_k):
    a, b = zeros(m, k, dtype=torch.bfloat16), zeros(n, k, dtype=torch.bfloat16)
    c = zeros(m, n, dtype=torch.bfloat16)
    options = dict(TILE_M=tile_m, TILE_N=tile_n, TILE_K=tile_k, SPLIT_K=split_k, BLOCK_M_WARPS=waves_m, BLOCK_N_WARPS=waves_n,
                   B_TO_LDS=True)
    stream = torch.cuda.current_stream()
    if has_waves_k:
        return lambda: hgemm_splitk_(c, a, b, None, dict(options, STAGES=stages, BLOCK_K_WARPS=waves_k), stream)
    build = compile_hgemm_kernel("bf16", n, k, **options)
    return lambda: _run_compiled(build, c, a, b, a, m, *get_semaphore(stream, a.device), stream)


@pytest.mark.parametrize("i", range(len(ROWS)))
def test_row(i):
    kind, m, n, k, _, name, *configuration = ROWS[i]
    if kind == "bf16":
        configuration.append("block_k_warp" in name)
    launch = {"fp8": fp8, "bf16": bf16}[kind](int(m), int(n), int(k), *map(int, configuration))
    torch.cuda.synchronize()
    os.write(2, f"ROW {i} BEGIN\n".encode())
    launch()
    torch.cuda.synchronize()
    os.write(2, f"ROW {i} END\n".encode())
