"""Launches each row of rows.txt (choose_rows.py) once, as FlyDSL's own builders make its kernel.

Run by hand by pytest with the plugin emulated_torch of tests/emulator/flydsl_suite and FLYDSL_EMULATOR_COUNTERS=1;
report.py reads what it prints. Operands are zeros: the time that is estimated does not depend on them.
"""
import os

import flydsl.compiler as flyc
import pytest
import torch
from kernels.gemm.gemm_a16w16_gfx950 import gemm_a16w16
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


def bf16(m, n, k, stages, tile_m, tile_n, tile_k, split_k, waves_m, waves_n, waves_k):
    a, b = zeros(m, k, dtype=torch.bfloat16), zeros(n, k, dtype=torch.bfloat16).t()
    c = zeros(m, n, dtype=torch.bfloat16)
    options = dict(block_m=tile_m, block_n=tile_n, block_k=tile_k, stages=stages, split_k=split_k, m_waves=waves_m,
                   n_waves=waves_n, k_waves=waves_k, use_half_tile_interleaved=False, group_m=0)

    def launch():
        gemm_a16w16(a, b, c, user_kwargs=options, layout="nt")

    launch()  # the first call compiles, and launches nothing if the kernel is new
    return launch


@pytest.mark.parametrize("i", range(len(ROWS)))
def test_row(i):
    kind, m, n, k, _, _, *configuration = ROWS[i]
    launch = {"fp8": fp8, "bf16": bf16}[kind](int(m), int(n), int(k), *map(int, configuration))
    torch.cuda.synchronize()
    os.write(2, f"ROW {i} BEGIN\n".encode())
    launch()
    torch.cuda.synchronize()
    os.write(2, f"ROW {i} END\n".encode())
