# Writes the modules of this folder's archives: FlyDSL's examples and kernels, called with the shapes of
# the tests. Neither the build nor the tests run this script.
#
#   python -m venv venv && venv/bin/pip install flydsl==0.4.2 torch
#   git clone https://github.com/ROCm/FlyDSL
#   ARCH=gfx942 COMPILE_ONLY=1 venv/bin/python dump.py FlyDSL OUT [NAME...]
#
# No GPU is needed: torch is told that there is one, tensors stay on the CPU, and the module is written
# where FlyDSL would compile it.
import os
import pathlib
import sys
import types

REPO, OUT = sys.argv[1], pathlib.Path(sys.argv[2])
ARCH = os.environ["ARCH"]
sys.path[:0] = [REPO]

import torch
from torch.overrides import TorchFunctionMode

import flydsl.compiler as flyc
import flydsl.compiler.jit_function as jit_function
import flydsl.expr as fx


class OnCpu(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = dict(keywords or {})
        if getattr(function, "__name__", "") == "cuda":
            return arguments[0]
        if "device" in keywords:
            keywords["device"] = "cpu"
        return function(*arguments, **keywords)


OnCpu().__enter__()
torch.cuda.is_available = lambda: True
torch.cuda.current_device = lambda: 0
torch.cuda.synchronize = lambda *_, **__: None
torch.cuda.Stream = torch.cuda.current_stream = lambda *_, **__: types.SimpleNamespace(cuda_stream=0)
torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(
    gcnArchName=ARCH, multi_processor_count=304 if ARCH == "gfx942" else 256, warp_size=64
)
torch.Tensor.is_cuda = property(lambda _: True)


class Written(Exception):
    pass


name_ = [None]


def write(module, **_):
    (OUT / f"{name_[0]}.mlir").write_text(module.operation.get_asm(enable_debug_info=False))
    raise Written()


jit_function.MlirCompiler.compile = staticmethod(write)

bf = torch.bfloat16
f16 = torch.float16
f32 = torch.float32
i8 = torch.int8
i32 = torch.int32
i64 = torch.int64
u8 = torch.uint8
S = fx.Stream(None)


def t(*s, d=bf):
    return torch.zeros(s, dtype=d)


D = {
    bf: fx.BFloat16,
    f16: fx.Float16,
    f32: fx.Float32,
    i32: fx.Int32,
    i64: fx.Int64,
    u8: fx.Uint8,
    i8: fx.Int8,
}
keep = []


def ptr(x):
    keep.append(x)
    return flyc.from_c_void_p(D[x.dtype], x.data_ptr())


def example(n, **k):
    src = pathlib.Path(f"{REPO}/examples/{n}").read_text()
    for a, b in k.get("put", []):
        assert a in src, a
        src = src.replace(a, b)
    p = pathlib.Path(f"/tmp/example-{n}")
    p.write_text(src)
    g = {"__name__": "ex"}
    exec(compile(src, str(p), "exec"), g)
    return g


def run_example(n, **k):
    example(n, **k)


K = {}


def k(f):
    K[f.__name__] = f
    return f


@k
def ex01_vector_add():
    run_example("01-vectorAdd.py")


@k
def ex02_tiled_copy():
    run_example("02-tiledCopy.py")


@k
def ex03_tiled_mma():
    run_example("03-tiledMma.py")


@k
def ex04_preshuffle_gemm():
    run_example("04-preshuffle_gemm.py", put=EX4)


EX4 = [("M, N, K = ", "M, N, K = 128, 128, 256 #")]


@k
def ex05_gather():
    g = example("05-gather_scatter.py")
    g["gather_jit"](t(64, 64, d=f32), t(16, 64, d=f32), t(16, d=i32))


@k
def ex05_scatter():
    g = example("05-gather_scatter.py")
    g["scatter_jit"](t(16, 64, d=f32), t(64, 64, d=f32), t(16, d=i32))


M = 4


@k
def softmax_f32():
    from kernels.norm.softmax_kernel import build_softmax_module as b

    b(M, 256, "f32")(t(M, 256, d=f32), t(M, 256, d=f32), M)


@k
def softmax_bf16():
    from kernels.norm.softmax_kernel import build_softmax_module as b

    b(M, 2048, "bf16")(t(M, 2048), t(M, 2048), M)


@k
def softmax_bwd():
    from kernels.norm.softmax_bwd_kernel import build_softmax_bwd_module as b

    n = 2048
    b(n, "bf16")(t(M, n), t(M, n), t(M, n), M)


@k
def rmsnorm():
    from kernels.norm.rmsnorm_kernel import build_rmsnorm_module as b

    n = 4096
    b(n, "bf16")(t(M, n), t(n), t(M, n), M)


@k
def rmsnorm_add():
    from kernels.norm.rmsnorm_kernel import build_fused_add_rmsnorm_module as b

    n = 2048
    b(n, "f16")(t(M, n, d=f16), t(M, n, d=f16), t(n, d=f16), t(M, n, d=f16), t(M, n, d=f16), M)


@k
def rmsnorm_quant():
    from kernels.norm.rmsnorm_kernel import build_rmsnorm_dynamicquant_module as b

    n = 4096
    b(n, "bf16")(t(M, n), t(n), t(M, n, d=i8), t(M, d=f32), M)


@k
def rmsnorm_smooth():
    from kernels.norm.rmsnorm_kernel import build_rmsnorm_smoothquant_module as b

    n = 4096
    b(n, "bf16")(t(M, n), t(n), t(n), t(M, n, d=i8), t(M, d=f32), M)


@k
def rmsnorm_bwd():
    from kernels.norm.rmsnorm_bwd_kernel import build_rmsnorm_bwd_module as b

    n = 512
    b(n, "f32")(t(M, n, d=f32), t(n, d=f32), t(M, n, d=f32), t(M, d=f32), t(M, n, d=f32), t(n, d=f32), M)


@k
def rmsnorm_bwd_two_stage():
    from kernels.norm.rmsnorm_bwd_kernel import build_rmsnorm_bwd_two_stage_module as b

    n = 4096
    P = 2
    b(n, "bf16", P)(t(M, n), t(n), t(M, n), t(M, d=f32), t(M, n), t(n), t(P * n, d=f32), M)


@k
def layernorm():
    from kernels.norm.layernorm_kernel import build_layernorm_module as b

    n = 8192
    b(n, "bf16")(ptr(t(M, n)), ptr(t(n)), ptr(t(n)), ptr(t(M, n)), M)


@k
def layernorm_stats():
    from kernels.norm.layernorm_kernel import build_layernorm_module as b

    n = 256
    b(n, "f32", True)(
        *[
            ptr(x)
            for x in (t(M, n, d=f32), t(n, d=f32), t(n, d=f32), t(M, n, d=f32), t(M, d=f32), t(M, d=f32))
        ],
        M,
    )


@k
def layernorm_bwd():
    from kernels.norm.layernorm_kernel import build_layernorm_bwd_module as b

    n = 512
    b(n, "f32")(
        *[
            ptr(x)
            for x in (
                t(M, n, d=f32),
                t(n, d=f32),
                t(M, n, d=f32),
                t(M, d=f32),
                t(M, d=f32),
                t(M, n, d=f32),
                t(n, d=f32),
                t(n, d=f32),
            )
        ],
        M,
    )


@k
def layernorm_quant():
    from kernels.norm.layernorm_kernel import build_layernorm_dynamicquant_module as b

    n = 8192
    b(n, "bf16")(t(M, n), t(n), t(n), t(M, n, d=i8), t(M, d=f32), M)


@k
def layernorm_add_smooth():
    from kernels.norm.layernorm_kernel import build_fused_add_layernorm_smoothquant_module as b

    n = 8192
    b(n, "bf16")(t(M, n), t(M, n), t(n), t(n), t(n), t(M, n, d=i8), t(M, n), t(M, d=f32), M)


def gemm(dt, tk, Kd=None):
    from kernels.gemm.preshuffle_gemm import compile_preshuffle_gemm as c

    M, N, Kd = 20, 64, Kd or 2 * tk
    l = c(N=N, K=Kd, tile_m=16, tile_n=64, tile_k=tk, in_dtype=dt, out_dtype="bf16")
    e = {"fp16": f16, "bf16": bf}.get(dt, i8)
    z = t(0, d=f32) if dt in ("fp16", "bf16") else None
    l(
        t(M * N),
        t(M * Kd, d=e),
        t(N * Kd, d=e),
        z if z is not None else t(M, d=f32),
        z if z is not None else t(N, d=f32),
        t(0),
        M,
        N,
        S,
    )


@k
def gemm_f16():
    gemm("fp16", 128)


@k
def gemm_bf16():
    gemm("bf16", 128)


@k
def gemm_fp8():
    gemm("fp8", 256)


@k
def gemm_int8():
    gemm("int8", 256)


@k
def flash_attention():
    from kernels.attention.flash_attn_generic import build_flash_attn_func_module_primary as b

    B, L, H, HK, d = 1, 96, 2, 1, 64
    l = b(H, d, causal=True, dtype_str="f16", num_kv_heads=HK)
    q = t(B, L, H, d, d=f16)
    kk = t(B, L, HK, d, d=f16)
    l(q, kk, kk, q, B, L)


@k
def flash_attention_dualwave():
    if ARCH != "gfx950":
        return
    from kernels.attention.flash_attn_gfx950 import build_flash_attn_dualwave_swp_module as b

    B, L, H, d = 1, 256, 1, 64
    l = b(H, d, causal=True, dtype_str="bf16")
    q = t(B, L, H, d)
    l(q, q, q, q, B, L)


@k
def rope_cache():
    from kernels.attention.fused_rope_cache_kernel import build_fused_rope_cache_module as b

    Dh, QH, KH, BS, T = 64, 4, 2, 16, 3
    l = b(head_dim=Dh, num_q_heads=QH, num_kv_heads=KH, block_size=BS, flash_layout=True, dtype_str="bf16")
    l(
        t(T, QH, Dh),
        t(T, KH, Dh),
        t(T, KH, Dh),
        t(T, d=i32),
        t(64, Dh // 2),
        t(64, Dh // 2),
        t(T, d=i32),
        t(2, BS, KH, Dh),
        t(2, BS, KH, Dh),
        t(T, QH, Dh),
        t(T, KH, Dh),
        T,
        t(1, d=f32),
        t(1, d=f32),
    )


@k
def moe_reduce():
    from kernels.moe.moe_gemm_2stage.moe_reduce import compile_moe_reduction as c

    l = c(topk=4, model_dim=512, dtype_str="bf16")
    l(ptr(t(3, 4, 512)), ptr(t(3, 512)), ptr(t(1, d=i32)), ptr(t(1, d=i32)), 3, S)


@k
def moe_topk():
    from kernels.moe.topk_gating_softmax_kernel import build_topk_gating_softmax_module as b

    E, k = 64, 4
    b(E, k, "bf16", True)(t(M, E), t(M, k, d=f32), t(M, k, d=i32), t(M, k, d=i32), M)


@k
def moe_sorting():
    from kernels.moe.moe_sorting_kernel import compile_moe_sorting as c

    E, k, T = 8, 2, 8
    l = c(num_experts=E, topk=k, max_tokens=T)
    if isinstance(l, tuple):
        print("tuple", l)
        l = l[0]
    l(
        t(T * k, d=i32),
        t(T * k, d=f32),
        t(1024, d=i32),
        t(1024, d=f32),
        t(64, d=i32),
        t(2, d=i32),
        t(T * 64),
        t(E, d=i32),
        T,
        T * 64 // 2,
        8,
    )


E_, TK, MD, ID = 2, 2, 256, 128
EXPERTS = dict(model_dim=MD, inter_dim=ID, experts=E_, topk=TK, tile_m=32, tile_n=64, tile_k=128, in_dtype="fp8")
# What sorting tells of 4 blocks of 32 rows: the rows, the experts, the factors, how many there are.
ROUTED = (t(4 * 32, d=i32), t(4, d=i32), t(4 * 32, d=f32), t(1, d=i32), 8)


@k
def moe_gemm1():
    from kernels.moe.moe_gemm_2stage.gemm1 import compile_moe_gemm1 as c

    l = c(**EXPERTS, doweight_stage1=False, out_dtype="bf16")
    T = 8
    l(t(T * TK * ID), t(T * MD, d=i8), t(E_ * 2 * ID * MD, d=i8), t(T, d=f32), t(E_ * 2 * ID, d=f32), *ROUTED, ID, MD, 4, S)


@k
def moe_gemm2():
    from kernels.moe.moe_gemm_2stage.gemm2 import compile_moe_gemm2 as c

    l = c(**EXPERTS, doweight_stage2=True, out_dtype="f16", accumulate=False)
    T = 8
    l(t(T * TK * MD, d=f16), t(T * TK * ID, d=i8), t(E_ * MD * ID, d=i8), t(T * TK, d=f32), t(E_ * MD, d=f32), *ROUTED, MD, ID, 4, S)


OUT.mkdir(parents=True, exist_ok=True)
for name in sys.argv[3:] or K:
    name_[0] = name
    try:
        K[name]()
    except Written:
        print(name)
