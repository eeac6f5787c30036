# Compiles kernels.py to the objects of this folder and writes their part of the manifest: no GPU is needed. This is a
# record: nothing in the project runs it.
#   python -m venv v && v/bin/pip install triton==3.9.0 && v/bin/python compile.py
import json
import os
import sys

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
import kernels
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

FOLDER = os.path.dirname(os.path.abspath(__file__))
TARGETS = {"gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32, "gfx1250": 32}
POINTER = {"f32": "*fp32", "f64": "*fp64", "f16": "*fp16", "bf16": "*bf16", "i32": "*i32", "i8": "*i8",
           "f8E4M3FN": "*fp8e4nv", "f8E5M2": "*fp8e5", "f8E4M3FNUZ": "*fp8e4b8", "f8E5M2FNUZ": "*fp8e5b16",
           "f4E2M1FN": "*u8", "e8m0": "*u8"}


def integers(type, count, low, high):
    return {"type": type, "count": count, "fill": "integers", "from": low, "to": high}


def result(type, count, fill="poison"):
    return {"type": type, "count": count, "fill": fill}


def product(reference, a, b, c, M, N, K, **more):
    return {"reference": reference, "sizes": {"M": M, "N": N, "K": K},
            "buffers": {"a": integers(a, M * K, -3, 3), "b": integers(b, N * K, -3, 3), "c": result(c, M * N)}, **more}


def case(name, kernel, grid, warps, constants, arguments, reference, buffers, sizes=None, tolerance=0.0, targets=None,
         options=None, asynchronous=False):
    return dict(name=name, kernel=kernel, grid=grid, warps=warps, constants=constants, arguments=arguments,
                reference=reference, buffers=buffers, sizes=sizes or {}, tolerance=tolerance,
                targets=targets or list(TARGETS), options=options or {},
                asynchronous=asynchronous)


def cases():
    yield case("add", "add", [3, 1, 1], 4, {"BLOCK": 512}, {"x": None, "y": None, "z": None, "n": 1111}, "add",
               {"x": integers("f32", 1111, -100, 100), "y": integers("f32", 1111, -100, 100),
                "z": result("f32", 1536)}, {"n": 1111})
    for columns, block, warps in ((200, 256, 4), (33, 64, 1)):
        yield case(f"softmax_{columns}", "softmax", [5, 1, 1], warps, {"COLUMNS": block},
                   {"x": None, "y": None, "columns": columns}, "softmax",
                   {"x": integers("f32", 5 * columns, -6, 6), "y": result("f32", 5 * columns)},
                   {"rows": 5, "columns": columns}, 1e-6)
    yield case("layer_norm", "layer_norm", [4, 1, 1], 8, {"COLUMNS": 1024},
               {"x": None, "weight": None, "bias": None, "y": None, "columns": 1000}, "layer_norm",
               {"x": integers("f32", 4000, -9, 9), "weight": integers("f32", 1000, 1, 3),
                "bias": integers("f32", 1000, -2, 2), "y": result("f32", 4000)}, {"rows": 4, "columns": 1000}, 2e-6)
    yield case("reduce", "reduce", [3, 1, 1], 8, {"COLUMNS": 2048}, {"x": None, "out": None}, "reduce",
               {"x": integers("i32", 3 * 2048, -100000, 100000), "out": result("i32", 15)},
               {"rows": 3, "columns": 2048})
    half = dict(grid=[2, 2, 1], warps=4, constants={"BM": 32, "BN": 64, "BK": 32},
                arguments={"a": None, "b": None, "c": None, "M": 50, "N": 100, "K": 96})
    for a, c in (("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32")):
        yield case(f"matmul_{a}", "matmul", tolerance=0.0, **half,
                   **product("matmul", a, a, c, 64, 128, 96) | {"sizes": {"M": 50, "N": 100, "K": 96}})
    ocp = ["gfx950", "gfx1201", "gfx1250"]
    for a, targets in (("f8E4M3FN", ocp), ("f8E5M2", ocp),
                       ("f8E4M3FNUZ", ["gfx942"]), ("f8E5M2FNUZ", ["gfx942"])):
        yield case(f"matmul_{a}", "matmul", tolerance=0.0, targets=targets, **half,
                   **product("matmul", a, a, "f32", 64, 128, 96) | {"sizes": {"M": 50, "N": 100, "K": 96}})
    # The rows and columns of gfx950's matrix instruction are an option; gfx1250 has 16 x 16 alone.
    for target, suffix, edge, warps, options in (("gfx950", "_16", 16, 1, {"matrix_instr_nonkdim": 16}),
                                                 ("gfx950", "_32", 64, 4, {"matrix_instr_nonkdim": 32}),
                                                 ("gfx1250", "", 32, 2, {})):
        for a, fa in (("f8E4M3FN", "e4m3"), ("f8E5M2", "e5m2"), ("f4E2M1FN", "e2m1")):
            for b, fb in (("f8E4M3FN", "e4m3"), ("f4E2M1FN", "e2m1")):
                pack = {"e4m3": 1, "e5m2": 1, "e2m1": 2}
                yield case(f"scaled_{fa}_{fb}{suffix}", "scaled_matmul", [1, 1, 1], warps,
                           {"BM": edge, "BN": edge, "BK": 128,
                            "A_FORMAT": fa, "B_FORMAT": fb, "A_PACK": pack[fa], "B_PACK": pack[fb]},
                           {"a": None, "a_scale": None, "b": None, "b_scale": None, "c": None, "N": edge, "K": 256},
                           "scaled_matmul",
                           {"a": integers(a, edge * 256, -3, 3), "a_scale": integers("e8m0", edge * 8, -2, 2),
                            "b": integers(b, edge * 256, -3, 3), "b_scale": integers("e8m0", edge * 8, -2, 2),
                            "c": result("f32", edge ** 2)},
                           {"M": edge, "N": edge, "K": 256}, targets=[target], options=options)
    for form, targets in (("tn", ["gfx950"]), ("nn", ["gfx1250"])):
        yield case(f"scaled_{form}", f"scaled_matmul_{form}", [1, 1, 1], 4, {"BM": 64, "BN": 64, "BK": 128},
                   {"a": None, "a_scale": None, "b": None, "b_scale": None, "c": None, "M": 64, "N": 64, "K": 256},
                   f"scaled_matmul_{form}",
                   {"a": integers("f4E2M1FN", 64 * 256, -3, 3), "a_scale": integers("e8m0", 64 * 8, -2, 2),
                    "b": integers("f4E2M1FN", 64 * 256, -3, 3), "b_scale": integers("e8m0", 64 * 8, -2, 2),
                    "c": result("f32", 64 * 64)}, {"M": 64, "N": 64, "K": 256}, targets=targets)
    yield case("transpose", "transpose", [1, 1, 1], 4, {"M": 32, "N": 64}, {"x": None, "y": None}, "transpose",
               {"x": integers("f32", 2048, -1000, 1000), "y": result("f32", 2048)}, {"M": 32, "N": 64})
    yield case("transpose_f16", "transpose", [1, 1, 1], 8, {"M": 64, "N": 64}, {"x": None, "y": None}, "transpose",
               {"x": integers("f16", 4096, -1000, 1000), "y": result("f16", 4096)}, {"M": 64, "N": 64})
    yield case("histogram", "histogram", [3, 1, 1], 4, {"BINS": 32, "BLOCK": 512},
               {"x": None, "counts": None, "n": 1300}, "histogram",
               {"x": integers("i32", 1300, 0, 31), "counts": result("i32", 32, "zeros")}, {"n": 1300})
    yield case("block_histogram", "block_histogram", [2, 1, 1], 4, {"BINS": 64, "BLOCK": 512},
               {"x": None, "counts": None}, "histogram",
               {"x": integers("i32", 1024, 0, 63), "counts": result("i32", 64, "zeros")}, {"n": 1024})
    yield case("scan", "scan", [2, 1, 1], 4, {"COLUMNS": 1024}, {"x": None, "sums": None, "largest": None}, "scan",
               {"x": integers("i32", 2048, -50, 50), "sums": result("i32", 2048), "largest": result("i32", 2048)},
               {"rows": 2, "columns": 1024})
    yield case("gather", "gather", [1, 1, 1], 4, {"BLOCK": 512},
               {"x": None, "index": None, "y": None, "z": None, "n": 500}, "gather",
               {"x": integers("f32", 500, -1000, 1000), "index": integers("i32", 500, 0, 499),
                "y": result("f32", 512), "z": result("f32", 512)}, {"n": 500})
    yield case("sort", "sort", [2, 1, 1], 4, {"COLUMNS": 256}, {"x": None, "y": None}, "sort",
               {"x": integers("i32", 512, -1000, 1000), "y": result("i32", 512)}, {"rows": 2, "columns": 256})
    yield case("random", "random", [2, 1, 1], 4, {"BLOCK": 256}, {"seed": 12345, "out": None}, "random",
               {"out": result("i32", 2048)}, {"n": 512, "seed": 12345})
    for to, targets in (("f16", None), ("bf16", None), ("f8E4M3FN", ocp), ("f8E5M2", ocp),
                        ("f8E4M3FNUZ", ["gfx942"]), ("f8E5M2FNUZ", ["gfx942"])):
        yield case(f"cast_{to}", "cast", [2, 1, 1], 4, {"BLOCK": 512}, {"x": None, "y": None}, "cast",
                   {"x": {"type": "f32", "count": 1024, "fill": "fractions", "from": -200, "to": 200},
                    "y": result(to, 1024)}, targets=targets)
    yield case("norm", "norm", [3, 1, 1], 4, {"COLUMNS": 512}, {"x": None, "out": None}, "norm",
               {"x": integers("f32", 1536, -2000, 2000), "out": result("f64", 3)}, {"rows": 3, "columns": 512}, 1e-9)
    yield case("attention", "attention", [2, 1, 1], 4, {"ROWS": 32, "KEYS": 128, "WIDTH": 64, "STEP": 32},
               {"q": None, "k": None, "v": None, "out": None}, "attention",
               {"q": integers("f16", 64 * 64, -2, 2), "k": integers("f16", 128 * 64, -2, 2),
                "v": integers("f16", 128 * 64, -2, 2), "out": result("f32", 64 * 64)},
               {"rows": 64, "keys": 128, "width": 64}, 2e-3)
    # gfx1250's rings: of lanes' copies to LDS, and of the tensor mover, with tiles that reach past the tensors.
    for a in ("f16", "f8E4M3FN"):
        yield case(f"copied_ring_{a}", "matmul", tolerance=0.0, targets=["gfx1250"], asynchronous=True,
                   **half | {"grid": [2, 4, 1], "constants": {"BM": 32, "BN": 32, "BK": 64},
                             "arguments": half["arguments"] | {"K": 320}},
                   options={"num_stages": 3},
                   **product("matmul", a, a, "f32", 64, 128, 320) | {"sizes": {"M": 50, "N": 100, "K": 320}})
        for stages in (1, 2, 3):
            yield case(f"moved_ring_{a}_{stages}", "moved_matmul", tolerance=0.0, targets=["gfx1250"],
                       **half | {"grid": [2, 4, 1], "constants": {"BM": 32, "BN": 32, "BK": 64},
                                 "arguments": half["arguments"] | {"N": 112, "K": 304}},
                       options={"num_stages": stages},
                       **product("matmul", a, a, "f32", 50, 112, 304) | {"sizes": {"M": 50, "N": 112, "K": 304}})


# All targets are compiled, or those that are named; the objects of the others stay as they are.
def main():
    chosen = sys.argv[1:] or list(TARGETS)
    manifest = os.path.join(FOLDER, "manifest.json")
    with open(manifest) as f:
        entries = [e for e in json.load(f) if e["target"] not in chosen]
    for c in cases():
        os.environ["TRITON_HIP_USE_ASYNC_COPY"] = str(int(c["asynchronous"]))
        for target in c["targets"]:
            if target not in chosen:
                continue
            kernel = getattr(kernels, c["kernel"])
            signature, arguments = {}, []
            for name in kernel.arg_names:
                if name in c["constants"]:
                    signature[name] = "constexpr"
                elif c["arguments"][name] is None:
                    signature[name] = POINTER[c["buffers"][name]["type"]]
                    arguments.append({"buffer": name})
                else:
                    signature[name] = "i32"
                    arguments.append({"i32": c["arguments"][name]})
            source = ASTSource(kernel, signature=signature, constexprs=c["constants"])
            made = triton.compile(source, target=GPUTarget("hip", target, TARGETS[target]),
                                  options={"num_warps": c["warps"], **c["options"]})
            path = f"triton/{target}/{c['name']}.hsaco"
            os.makedirs(os.path.join(FOLDER, target), exist_ok=True)
            with open(os.path.join(FOLDER, "..", path), "wb") as f:
                f.write(made.asm["hsaco"])
            # Triton adds the pointers of two scratch areas, which these kernels do not use.
            arguments += [{"buffer": None}, {"buffer": None}]
            entries.append({"name": c["name"], "target": target, "object": path, "kernel": made.metadata.name,
                            "grid": c["grid"], "block": [c["warps"] * TARGETS[target], 1, 1],
                            "shared": made.metadata.shared, "arguments": arguments, "buffers": c["buffers"],
                            "sizes": c["sizes"], "reference": c["reference"], "tolerance": c["tolerance"]})
    with open(manifest, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(e) for e in entries) + "\n]\n")
    print(triton.__version__, len(entries), "objects")


main()
