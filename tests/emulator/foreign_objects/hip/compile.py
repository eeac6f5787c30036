# Compiles the .hip files to the objects of this folder and writes their part of the manifest. This is a record: nothing
# in the project runs it.
#   python -m venv v && v/bin/pip install triton==3.9.0   # for HIP 7.1's headers, and the device libraries of bitcode
#   v/bin/python compile.py v/lib/python3.11/site-packages/triton/backends/amd
import json
import os
import subprocess
import sys
import tempfile

ROCM = sys.argv[1]
FOLDER = os.path.dirname(os.path.abspath(__file__))
# The number by which the device libraries know a processor, and lanes of a wave.
TARGETS = {"gfx942": (9402, 64), "gfx950": (9500, 64), "gfx1100": (11000, 32), "gfx1201": (12001, 32), "gfx1250": (12500, 32)}


def build(source, target, path):
    number, lanes = TARGETS[target]
    with tempfile.TemporaryDirectory() as folder:
        settings = os.path.join(folder, "settings")
        with open(settings + ".ll", "w") as f:
            f.write('target triple = "amdgcn-amd-amdhsa"\n')
            for name, type, value in (("ISA_version", "i32", number), ("ABI_version", "i32", 500),
                                      ("wavefrontsize64", "i8", lanes // 64),
                                      ("wavefrontsize_log2", "i32", lanes.bit_length() - 1),
                                      ("correctly_rounded_sqrt32", "i8", 1), ("daz_opt", "i8", 0),
                                      ("finite_only_opt", "i8", 0), ("unsafe_math_opt", "i8", 0)):
                f.write(f"@__oclc_{name} = linkonce_odr hidden addrspace(4) constant {type} {value}\n")
        subprocess.run(["clang-22", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-c", "-emit-llvm", "-x", "ir",
                        settings + ".ll", "-o", settings + ".bc"], check=True)
        libraries = [f"{ROCM}/lib/ocml.bc", f"{ROCM}/lib/ockl.bc", settings + ".bc"]
        links = [word for library in libraries
                 for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", library)]
        subprocess.run(["clang-22", "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output",
                        f"--offload-arch={target}", "-nogpulib", "-D__HIP_PLATFORM_AMD__=1", "--hip-path=/usr",
                        f"-I{ROCM}/include", "-O3", "-ffp-contract=off", *links, f"{FOLDER}/{source}.hip", "-o", path],
                       check=True)


def integers(type, count, low, high):
    return {"type": type, "count": count, "fill": "integers", "from": low, "to": high}


def result(type, count, fill="poison"):
    return {"type": type, "count": count, "fill": fill}


def buffer(*names):
    return [{"buffer": name} for name in names]


def i32(value):
    return {"i32": value}


# name, source, kernel, grid, block, dynamic LDS bytes, arguments, buffers, reference, sizes, tolerance
CASES = [
    ("saxpy", "basic", "saxpy", [3, 1, 1], [128, 1, 1], 0, [i32(1000), {"f32": 3.0}] + buffer("x", "y"),
     {"x": integers("f32", 1000, -50, 50), "y": integers("f32", 1100, -50, 50)}, "saxpy", {"n": 1000, "a": 3}, 0),
    ("indices", "basic", "indices", [3, 2, 4], [8, 4, 3], 0, buffer("out"), {"out": result("i32", 24 * 8 * 12)},
     "indices", {"x": 24, "y": 8, "z": 12}, 0),
    ("matmul", "basic", "matmul", [3, 2, 1], [16, 16, 1], 0, buffer("a", "b", "c") + [i32(27), i32(45), i32(39)],
     {"a": integers("f32", 27 * 39, -9, 9), "b": integers("f32", 39 * 45, -9, 9), "c": result("f32", 27 * 45)},
     "matmul", {"M": 27, "N": 45, "K": 39}, 0),
    ("transpose", "basic", "transpose", [2, 5, 1], [32, 8, 1], 4 * 33 * 8, buffer("x", "y") + [i32(37), i32(50)],
     {"x": integers("f32", 37 * 50, -999, 999), "y": result("f32", 37 * 50)}, "transpose", {"M": 37, "N": 50}, 0),
    ("reduce", "basic", "reduce", [4, 1, 1], [256, 1, 1], 0, buffer("x", "out") + [i32(1003)],
     {"x": integers("i32", 4012, -5000, 5000), "out": result("i32", 20)}, "reduce", {"rows": 4, "columns": 1003}, 0),
    ("histogram", "basic", "histogram", [3, 1, 1], [128, 1, 1], 0, buffer("x", "counts") + [i32(2000)],
     {"x": integers("i32", 2000, 0, 63), "counts": result("i32", 64, "zeros")}, "histogram", {"n": 2000}, 0),
    ("sort", "basic", "sort", [2, 1, 1], [256, 1, 1], 0, buffer("x", "y"),
     {"x": integers("i32", 512, -99, 99), "y": result("i32", 512)}, "sort", {"rows": 2, "columns": 256}, 0),
    ("scan", "basic", "scan", [2, 1, 1], [256, 1, 1], 0, buffer("x", "sums", "largest"),
     {"x": integers("i32", 2048, -99, 99), "sums": result("i32", 2048), "largest": result("i32", 2048)},
     "scan", {"rows": 2, "columns": 1024}, 0),
    ("convolution", "basic", "convolution", [3, 5, 1], [16, 8, 1], 0, buffer("x", "y") + [i32(41), i32(33)],
     {"x": integers("f32", 41 * 33, -9, 9), "y": result("f32", 41 * 33)}, "convolution",
     {"width": 41, "height": 33}, 0),
    ("compact", "basic", "compact", [1, 1, 1], [256, 1, 1], 0, buffer("x", "y", "count"),
     {"x": integers("i32", 256, -50, 50), "y": result("i32", 256), "count": result("i32", 1)}, "compact",
     {"n": 256}, 0),
    ("last_block", "basic", "last_block", [6, 1, 1], [256, 1, 1], 0, buffer("x", "parts", "out") + [i32(5000)],
     {"x": integers("f32", 5000, -9, 9), "parts": result("f32", 6), "out": result("f32", 1)}, "last_block",
     {"n": 5000, "blocks": 6, "threads": 256}, 0),
    ("atomics", "basic", "atomics", [4, 1, 1], [128, 1, 1], 0, buffer("x") + [i32(500)] +
     buffer("whole", "single", "wide"),
     {"x": integers("i32", 500, -999, 999), "whole": result("i32", 4, "zeros"), "single": result("f32", 2, "zeros"),
      "wide": result("f64", 1, "zeros")}, "atomics", {"n": 500}, 0),
    ("packed", "basic", "packed", [2, 1, 1], [128, 1, 1], 0, buffer("x", "y", "z", "a", "b", "c"),
     {"x": integers("f16", 512, -30, 30), "y": integers("f16", 512, -30, 30), "z": result("f16", 512),
      "a": integers("i8", 1024, -128, 127), "b": integers("i8", 1024, -128, 127), "c": result("i32", 256)},
     "packed", {"n": 256}, 0),
    ("calls", "calls", "calls", [2, 1, 1], [96, 1, 1], 0, buffer("x", "y"),
     {"x": integers("i32", 192, 1, 20000), "y": result("i32", 768)}, "calls", {"n": 192}, 0),
    ("wide_integers", "calls", "wide_integers", [2, 1, 1], [64, 1, 1], 0, buffer("x", "y", "out"),
     {"x": integers("i32", 128, -2000000000, 2000000000), "y": integers("i32", 128, -3000, 3000),
      "out": result("i32", 1024)}, "wide_integers", {"n": 128}, 0),
    ("math_f32", "math", "math_f32", [2, 1, 1], [64, 1, 1], 0, buffer("x", "y"),
     {"x": {"type": "f32", "count": 128, "fill": "fractions", "from": -20, "to": 20}, "y": result("f32", 1536)},
     "math", {"n": 128}, 2e-6),
    ("math_f64", "math", "math_f64", [2, 1, 1], [64, 1, 1], 0, buffer("x", "y"),
     {"x": {"type": "f64", "count": 128, "fill": "fractions", "from": -20, "to": 20}, "y": result("f64", 1536)},
     "math", {"n": 128}, 2e-15),
]

# All targets are compiled, or those that are named; the objects of the others stay as they are.
chosen = sys.argv[2:] or list(TARGETS)
with open(os.path.join(FOLDER, "manifest.json")) as f:
    entries = [e for e in json.load(f) if e["target"] not in chosen]
for target in chosen:
    os.makedirs(os.path.join(FOLDER, target), exist_ok=True)
    for source in ("basic", "calls", "math"):
        build(source, target, os.path.join(FOLDER, target, source + ".co"))
    for name, source, kernel, grid, block, shared, arguments, buffers, reference, sizes, tolerance in CASES:
        entries.append({"name": name, "target": target, "object": f"hip/{target}/{source}.co", "kernel": kernel,
                        "grid": grid, "block": block, "shared": shared, "arguments": arguments, "buffers": buffers,
                        "sizes": sizes, "reference": reference, "tolerance": tolerance})
with open(os.path.join(FOLDER, "manifest.json"), "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(e) for e in entries) + "\n]\n")
