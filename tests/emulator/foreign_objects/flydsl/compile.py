# Compiles kernels.py to the objects of this folder and writes their part of the manifest: neither a GPU nor torch is
# needed, whose tensors are stood in for. This is a record: nothing in the project runs it.
#   python -m venv v && v/bin/pip install flydsl==0.4.2
#   mkdir -p rocm/llvm/bin && ln -s $(which ld.lld-22) rocm/llvm/bin/ld.lld
#   for a in gfx942 gfx950 gfx1100 gfx1201 gfx1250; do ROCM_PATH=$PWD/rocm v/bin/python compile.py $a; done
import json
import os
import re
import sys
import tempfile
import types

target = sys.argv[1]
dump = tempfile.mkdtemp()
os.environ.update(COMPILE_ONLY="1", ARCH=target, FLYDSL_GPU_ARCH=target, FLYDSL_DUMP_IR="1", FLYDSL_DUMP_DIR=dump,
                  FLYDSL_RUNTIME_CACHE_DIR=tempfile.mkdtemp())


class Tensor:
    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.device = shape, dtype, types.SimpleNamespace(type="cpu")

    def stride(self):
        return (self.shape[1], 1)

    def element_size(self):
        return self.dtype.size

    def data_ptr(self):
        return 0


torch = types.ModuleType("torch")
torch.Tensor = Tensor
torch.cuda = types.SimpleNamespace(Stream=type("Stream", (), {}), is_initialized=lambda: False,
                                   is_available=lambda: False)
for name, size in (("float16", 2), ("bfloat16", 2), ("float32", 4), ("float64", 8), ("bool", 1), ("uint8", 1),
                   ("int8", 1), ("int16", 2), ("int32", 4), ("int64", 8)):
    setattr(torch, name, type(name, (), {"size": size})())
sys.modules["torch"] = torch

import flydsl.expr as fx
import kernels

FOLDER = os.path.dirname(os.path.abspath(__file__))
GFX9 = target.startswith("gfx9")


def integers(type, count, low, high):
    return {"type": type, "count": count, "fill": "integers", "from": low, "to": high}


def result(type, count):
    return {"type": type, "count": count, "fill": "poison"}


# A tensor is its pointer and a packed struct of its shape, as 32-bit numbers, and its row's stride, as one of 64 bits.
def tensors(**shapes):
    return [word for name, (rows, columns) in shapes.items()
            for word in ({"buffer": name}, {"words": [rows, columns, columns, 0]})]


def object_of(kernel, path):
    folder = os.path.join(dump, kernel + "_0")
    (stage,) = [name for name in os.listdir(folder) if name.endswith("_gpu_module_to_binary.mlir")]
    with open(os.path.join(folder, stage)) as f:
        text = re.search(r'bin = "((?:[^"\\]|\\.)*)"', f.read()).group(1)
    short = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}
    data = b"".join(
        bytes.fromhex(m.group(1)) if m.group(1) else short[m.group(2)] if m.group(2) else m.group(3).encode()
        for m in re.finditer(r'\\([0-9A-Fa-f]{2})|\\(.)|([^\\]+)', text))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def entry(name, kernel, block, grid, arguments, buffers, sizes, reference):
    path = f"flydsl/{target}/{name}.hsaco"
    object_of(kernel, os.path.join(FOLDER, "..", path))
    return {"name": name, "target": target, "object": path, "kernel": kernel + "_0", "grid": grid,
            "block": [block, 1, 1], "shared": 0, "arguments": arguments, "buffers": buffers, "sizes": sizes,
            "reference": reference, "tolerance": 0}


entries = []
M, N = 13, 148
kernels.launch_add(*[Tensor((M, N), torch.float32)] * 3)
entries.append(entry("add", "add", 128, [2, 3, 1], tensors(x=(M, N), y=(M, N), z=(M, N)),
                     {"x": integers("f32", M * N, -99, 99), "y": integers("f32", M * N, -99, 99),
                      "z": result("f32", M * N)}, {"n": M * N}, "add"))
if GFX9:
    shapes = {"16x16x16": 256, "32x32x8": 256}
else:
    shapes = {"16x16x32" if target == "gfx1250" else "16x16x16": 128}
make = fx.rocdl.MFMA if GFX9 else fx.rocdl.WMMA
for name, threads in shapes.items():
    for old in os.listdir(dump):
        os.rename(os.path.join(dump, old), os.path.join(tempfile.mkdtemp(), old))
    m, n, k = map(int, name.split("x"))
    kernels.make_matmul(lambda: make(m, n, k, fx.Float16), 16, threads)(*[Tensor((64, 64), torch.float16)] * 2, Tensor((64, 64), torch.float32))
    entries.append(entry("matmul_" + name, "matmul", threads, [1, 1, 1], tensors(a=(64, 64), b=(64, 64), c=(64, 64)),
                         {"a": integers("f16", 4096, -9, 9), "b": integers("f16", 4096, -9, 9),
                          "c": result("f32", 4096)}, {"M": 64, "N": 64, "K": 64}, "matmul_nt"))

path = os.path.join(FOLDER, "manifest.json")
others = []
if os.path.exists(path):
    with open(path) as f:
        others = [e for e in json.load(f) if e["target"] != target]
with open(path, "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(e) for e in others + entries) + "\n]\n")
