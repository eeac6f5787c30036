"""Puts the products of mixtures of experts next to the best published time of their stage, by hand.

    moe_rows.py TABLE.csv.gz FLY_KERNELS MOST > moe.csv

TABLE is aiter's tuned tables of fused mixtures (`tuned_fmoe`): a row has a model's sizes, a number of tokens, and the microseconds of both
stages. The least time of each stage of a shape is taken, of 256 compute units of gfx950 (MI355X). Of the models below, the numbers of tokens
that are executed with fewer than MOST multiply-adds, padding included, are estimated: `fly-kernels time` of what `choose` gives for the stage as
a grouped product. Tokens are routed evenly, as in aiter's tests, which draw experts by chance: so many experts have rows as are expected
to be drawn, with as many rows each. A summary goes to stderr.
"""
import csv
import gzip
import math
import sys

from estimates import estimate, summary

# model_dim, inter_dim, experts, topk (shared experts included), by the published configurations of the models
MODELS = {
    "DeepSeek-V3, TP 8": (7168, 256, 257, 9),
    "DeepSeek-V3, TP 4": (7168, 512, 257, 9),
    "Kimi-K2, TP 4": (7168, 512, 385, 9),
    "Kimi-K2, TP 8": (7168, 256, 384, 8),
    "Qwen3-235B, TP 4": (4096, 384, 128, 8),
    "Qwen3-235B": (4096, 1536, 128, 8),
    "Qwen3-Next, TP 4": (2048, 128, 512, 10),
    "Qwen3-Next": (2048, 512, 512, 10),
    "GLM-4.5, TP 8": (5120, 192, 161, 9),
    "GLM-4.5, TP 4": (5120, 384, 161, 9),
    "gpt-oss": (3072, 3072, 128, 4),
    "MiniMax-M2, TP 4": (3072, 384, 256, 8),
}
MX = "scale_a=mx scale_b=mx scale=f8E8M0FNU"
# class: types of the table, the operands, and what the first stage adds for its results
CLASSES = {
    "fp4": (("torch.float4_e2m1fn_x2", "torch.float4_e2m1fn_x2", "per_1x32"), f"a=f4E2M1FN b=f4E2M1FN {MX}", "c=f4E2M1FN scale_c=mx"),
    "fp8 by fp4": (("torch.float8_e4m3fn", "torch.float4_e2m1fn_x2", "per_1x32"), f"a=f8E4M3FN b=f4E2M1FN {MX}", "c=f8E4M3FN scale_c=mx"),
    "fp8 blocks": (("torch.float8_e4m3fn", "torch.float8_e4m3fn", "per_1x128"),
                   "a=f8E4M3FN b=f8E4M3FN scale_a=per_block scale_b=per_block", "c=f8E4M3FN scale_c=per_block"),
}
UNITS = (16, 32, 64, 128)


def grouped(model, operands, results, tokens, stage):
    """The problem of a stage, its places and its multiply-adds."""
    hidden, inner, experts, topk = model
    drawn = max(topk, min(experts, round(experts * (1 - (1 - topk / experts) ** tokens))))
    rows = math.ceil(tokens * topk / drawn)
    unit = max([UNITS[0]] + [size for size, below in zip(UNITS[1:], UNITS) if tokens * topk / experts > below])
    places = drawn * math.ceil(rows / unit) * unit
    if stage == 1:
        n, k, rest = inner, hidden, f"{results} a_rows=tokens gated=halves activation=silu"
    else:
        n, k, rest = hidden, inner, "c=bf16 weights=output"
    width = 2 * n if stage == 1 else n
    return f"grouped_gemm {operands} {rest} experts={drawn} n={n} k={k} unit={unit} topk={topk}", places, places * width * k


def main(table, program, most):
    rows = [row for row in csv.DictReader(gzip.open(table, "rt")) if row["gfx"] == "gfx950" and row["cu_num"] == "256"]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "class", "tokens", "stage", "published_us", "kernel", "estimated_us", "problem", "configuration"])
    ratios = {}
    for model, sizes in MODELS.items():
        for name, ((a, w, kind), operands, results) in CLASSES.items():
            best = {}
            for row in rows:
                shape = tuple(int(row[field]) for field in ("model_dim", "inter_dim", "expert", "topk"))
                if shape != sizes or row["q_a"] != a or row["q_w"] != w or not row["q_type"].endswith(kind):
                    continue
                for stage in (1, 2):
                    us, key = float(row[f"us{stage}"] or 0), (int(row["token"]), stage)
                    if us > 0 and (key not in best or us < best[key][0]):
                        best[key] = (us, row[f"kernel{stage}"])
            for (tokens, stage), (us, kernel) in sorted(best.items()):
                problem, places, work = grouped(sizes, operands, results, tokens, stage)
                if work >= most:
                    continue
                estimated, configuration = estimate(program, problem, places, "gfx950", "MI355X")
                out.writerow([model, name, tokens, stage, us, kernel, estimated, problem, configuration])
                sys.stdout.flush()
                ratios.setdefault((name, stage), []).append(estimated / us)
    summary(("class", "stage", "shapes"), ratios)


main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
