"""Puts the products of mixtures of experts next to the best published time of their stage, by hand.

    moe_rows.py TABLE.csv.gz FLY_KERNELS MOST [TOKENS] > moe.csv
    moe_rows.py report < moe.csv

TABLE is aiter's tuned tables of fused mixtures (`tuned_fmoe`): a row has a model's sizes, a number of tokens, and the microseconds of both
stages, or those of one kernel that does both. The least time of each stage of a shape is taken, of the products of PARTS; where one kernel for
both is the best that is published, it stands as the stage "both", next to the sum of the library's two. Times that would take more than nearly the peak of PEAKS, and those that are repeated for
four times as many tokens, are left out. Of the models below, the numbers of tokens
with fewer than MOST multiply-adds, padding included, and those of the list TOKENS, such as 16,4096, are estimated, those with the fewest
first: `fly-kernels time` of what `choose` gives for the stage as a grouped product, whose multiply-adds the emulator leaves out. Tokens are routed evenly, as in aiter's tests, which draw experts by chance: so many experts have rows as are expected
to be drawn, with as many rows each. Scales of 32 elements are prepared, as a mixture takes them; the launch that sorts those of x along is not in the
stage's time. Experts are alike then, and a stage with SAMPLED multiply-adds or more is executed with so many of them as give each compute unit up to ROUNDS tiles. The column `executed` says how
many these are, and is empty where all experts are executed. The time past that of a launch is taken to grow with the tiles of a compute unit. With `report`, a summary of such a table goes to stderr; rows that are
estimated from a part of their experts are in lines of their own.
"""
import csv
import gzip
import math
import re
import sys

from estimates import chosen, estimate, summary

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
    "MiniMax-M2": (3072, 1536, 256, 8),
    "6,144 x 384, 129 experts": (6144, 384, 129, 5),
}
MX = "scale_a=mx scale_b=mx scale=f8E8M0FNU"
FLOAT8, FLOAT4 = "torch.float8_e4m3fn", "torch.float4_e2m1fn_x2"
# class: types of the table, the operands, and what the first stage has for its results
CLASSES = {
    "fp4": ((FLOAT4, FLOAT4, "per_1x32"), f"a=f4E2M1FN b=f4E2M1FN {MX}", "c=f4E2M1FN scale_c=mx"),
    "fp8 by fp4": ((FLOAT8, FLOAT4, "per_1x32"), f"a=f8E4M3FN b=f4E2M1FN {MX}", "c=f8E4M3FN scale_c=mx"),
    "fp8 MX": ((FLOAT8, FLOAT8, "per_1x32"), f"a=f8E4M3FN b=f8E4M3FN {MX}", "c=f8E4M3FN scale_c=mx"),
    "fp8 blocks": ((FLOAT8, FLOAT8, "per_1x128"), "a=f8E4M3FN b=f8E4M3FN scale_a=per_block scale_b=per_block", "c=f8E4M3FN scale_c=per_block"),
    "fp8 rows": ((FLOAT8, FLOAT8, "per_Token"), "a=f8E4M3FN b=f8E4M3FN scale_a=per_row scale_b=per_row", "c=bf16"),
    "bf16 by fp4": (("torch.bfloat16", FLOAT4, "per_1x32"), "a=bf16 b=f4E2M1FN b_groups.size=32 b_groups.scale=f8E8M0FNU", "c=bf16"),
    "bf16 by int4": (("torch.bfloat16", "torch.int4", "per_1x32"), "a=bf16 b=i4 b_groups.size=32 b_groups.scale=bf16", "c=bf16"),
    "fp8 tensors": ((FLOAT8, FLOAT8, "per_Tensor"), "a=f8E4M3FN b=f8E4M3FN scale_a=per_tensor scale_b=per_tensor", "c=bf16"),
    "bf16": (("torch.bfloat16", "torch.bfloat16", "No"), "a=bf16 b=bf16", "c=bf16"),
}
# Floating-point operations a microsecond at the peak of a part's matrix units, by the bits of operands: a time that claims more is left out
PEAKS = {"MI355X": {4: 10.07e9, 8: 5.03e9, 16: 2.52e9}, "MI300X": {8: 2.61e9, 16: 1.31e9}, "MI308X": {8: 0.69e9, 16: 0.35e9}}
# The share of it that a time may claim. No published product of these tables that is not repeated comes near it.
REACHED = 0.9
# A time that is less than so many times that of a quarter of the tokens is another call's
REPEATED = 1.2
UNITS = (16, 32, 64, 128)
# With more rows than the largest has, and up to so many, an expert has units of the one before it (kMostRowsOfSmallUnits of the library)
SMALL_UNITS_TO = 512
# Multiply-adds from which on a part of the experts may be executed
SAMPLED = 2e10
# The tiles that each compute unit has then, at most. A unit that holds 1, 2, 3 or 6 tiles at a time is full in all of its rounds; how many it
# holds depends on the kernel, and is not looked at.
ROUNDS = 6
# The scales of x are sorted along from so many rows of an expert, by the bits of weights, and so many multiply-adds on
SORTED_ROWS, SORTED_WORK = {4: 160, 8: 512}, 4e10
# The tiles of a part of the experts are at least this much of what whole rounds have; otherwise all experts are executed
FULL = 0.97
# Microseconds of a launch before its first tile and after its last one: dispatch, and the first touch of code, arguments and memory (docs/emulator.md)
LAUNCH = 2.1
# gfx and cu_num of the table, and the product as which the emulator estimates them
PARTS = {("gfx950", "256"): "MI355X", ("gfx942", "304"): "MI300X", ("gfx942", "80"): "MI308X"}


def grouped(model, operands, results, tokens, stage):
    """The problem of a stage, its places and its multiply-adds."""
    hidden, inner, experts, topk = model
    drawn = max(topk, min(experts, round(experts * (1 - (1 - topk / experts) ** tokens))))
    rows = math.ceil(tokens * topk / drawn)
    unit = unitOf(tokens * topk // experts)
    places = drawn * math.ceil(rows / unit) * unit
    if stage == 1:
        n, k, rest = inner, hidden, f"{results} a_rows=tokens gated=halves activation=silu"
    else:
        n, k, rest = hidden, inner, "c=bf16 weights=output"
    width = 2 * n if stage == 1 else n
    work = places * width * k
    if MX in operands:
        slots = tokens * topk
        rest += preparedScales(operands, stage, inner, unit, slots / experts, slots * 2 * inner * hidden)
    return f"grouped_gemm {operands} {rest} experts={drawn} n={n} k={k} unit={unit} topk={topk}", places, work


def unitOf(rows):
    """The places in a unit of an expert with so many rows, as a mixture chooses it (unitOfRows)."""
    if UNITS[-1] < rows <= SMALL_UNITS_TO:
        return UNITS[-2]
    return max([UNITS[0]] + [size for size, below in zip(UNITS[1:], UNITS) if rows > below])


def preparedScales(operands, stage, inner, unit, rows, work):
    """The layouts of scales that a mixture of these weights takes: those of weights are prepared, those of h if they may be, and those of x are
    sorted along where that is estimated to take less time (sortsMany in moe_forward.cpp)."""
    ofInside = inner % 256 == 0 and unit % 32 == 0
    ofX = rows >= SORTED_ROWS[4 if "b=f4" in operands else 8] and work >= SORTED_WORK
    layouts = [("b", True), ("a", ofX if stage == 1 else ofInside), ("c", stage == 1 and ofInside)]
    return "".join(f" scale_{operand}_layout=prepared" for operand, isPrepared in layouts if isPrepared)


def published(rows, sizes, types):
    """The least time of each number of tokens and stage, with its kernel."""
    best = {}
    for row in rows:
        shape = tuple(int(row[field]) for field in ("model_dim", "inter_dim", "expert", "topk"))
        if shape != sizes or (row["q_a"], row["q_w"]) != types[:2] or not row["q_type"].endswith(types[2]):
            continue
        stages = (1, 2) if float(row["us2"] or 0) > 0 else ("both",)
        for stage in stages:
            us, key = float(row["us1" if stage == "both" else f"us{stage}"]), (int(row["token"]), stage)
            if us > 0 and (key not in best or us < best[key][0]):
                best[key] = (us, row["kernel1" if stage == "both" else f"kernel{stage}"])
    for tokens in {tokens for tokens, stage in best}:
        two = sum(best.get((tokens, stage), (math.inf,))[0] for stage in (1, 2))
        if best.get((tokens, "both"), (math.inf,))[0] >= two:
            best.pop((tokens, "both"), None)
    return best


def tilesOf(problem, configuration, places):
    """The tiles that have rows."""
    tile = {name: int(re.search(rf"\btile_{name}=(\d+)", configuration)[1]) for name in ("m", "n")}
    columns = int(re.search(r"\bn=(\d+)", problem)[1]) * (2 if "gated" in problem else 1)
    return places // tile["m"] * math.ceil(columns / tile["n"])


def sampleOf(experts, ofExpert, units):
    """How many experts stand for all, of so many tiles each: all, where a part would be most of them or would leave its last round
    of tiles partly empty."""
    some = max(1, ROUNDS * units // ofExpert)
    rounds = some * ofExpert / units
    return some if 3 * some <= 2 * experts and rounds >= FULL * math.ceil(rounds) else experts


def ofStage(program, problem, places, work, gfx, units, part):
    """The microseconds of a stage, its configuration, and how many experts were executed: None for all."""
    experts = int(re.search(r"experts=(\d+)", problem)[1])
    each = places // experts
    if work < SAMPLED:
        return *estimate(program, problem, places, gfx, part), None
    whole = chosen(program, problem, places, gfx, part)
    ofExpert = tilesOf(problem, whole, each)
    some = sampleOf(experts, ofExpert, units)
    if some == experts:
        return *estimate(program, problem, places, gfx, part), None
    time, configuration = estimate(program, problem.replace(f"experts={experts}", f"experts={some}"), each * some, gfx, part)
    if configuration != whole:
        sys.exit(f"{problem}, {places} places: {whole} is chosen for all experts and {configuration} for {some} of them, whose time says nothing of all")
    rounds = [math.ceil(ofExpert * count / units) for count in (some, experts)]
    return LAUNCH + (time - LAUNCH) * rounds[1] / rounds[0], whole, some


def executedOf(counts):
    """What the table says of the experts that the launches of a row executed: nothing where these are all."""
    return " | ".join(str(count or "all") for count in counts) if any(counts) else ""


def isPossible(part, name, us, tokens, model, stages):
    """Whether the part's matrix units can do the work of a row in its time."""
    bits = 4 if name == "fp4" else 8 if name.startswith("fp8") else 16
    return 2 * sum(tokens * model[3] * work / places for _, places, work in stages) <= us * PEAKS[part][bits] * REACHED


def isRepeated(best, tokens, stage):
    """Whether the table has nearly the same time for a quarter of the tokens, 1,024 and more, or fewer of these."""
    us = best[tokens, stage][0]
    return any(one == stage and 1024 <= fewer <= tokens // 4 and us < REPEATED * best[fewer, one][0] for fewer, one in best)


def ofTarget(gfx, text):
    """Names of 8-bit floats as the target has them."""
    return text.replace("f8E4M3FN", "f8E4M3FNUZ").replace("e4m3fn", "e4m3fnuz") if gfx == "gfx942" else text


def main(table, program, most, some):
    rows, shapes = list(csv.DictReader(gzip.open(table, "rt"))), []
    for (gfx, units), part in PARTS.items():
        ofPart = [row for row in rows if row["gfx"] == gfx and row["cu_num"] == units]
        for model, sizes in MODELS.items():
            for name, (types, operands, results) in CLASSES.items():
                best = published(ofPart, sizes, tuple(ofTarget(gfx, one) for one in types))
                for (tokens, stage), (us, kernel) in best.items():
                    stages = [grouped(sizes, ofTarget(gfx, operands), ofTarget(gfx, results), tokens, one) for one in ((1, 2) if stage == "both" else (stage,))]
                    work = sum(one[2] for one in stages)
                    if (work < most or tokens in some) and isPossible(part, name, us, tokens, sizes, stages) and not isRepeated(best, tokens, stage):
                        shapes.append((work, gfx, int(units), part, model, name, tokens, stage, us, kernel, stages))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["part", "model", "class", "tokens", "stage", "published_us", "kernel", "estimated_us", "problem", "configuration", "executed"])
    for _, gfx, units, part, model, name, tokens, stage, us, kernel, stages in sorted(shapes, key=lambda shape: shape[0]):
        times = [ofStage(program, problem, places, work, gfx, units, part) for problem, places, work in stages]
        out.writerow([part, model, name, tokens, stage, us, kernel, round(sum(time for time, _, _ in times), 2),
                      " | ".join(problem for problem, _, _ in stages), " | ".join(configuration for _, configuration, _ in times),
                      executedOf([executed for _, _, executed in times])])
        sys.stdout.flush()


def report(file):
    ratios, parts = {}, list(PARTS.values())
    for row in sorted(csv.DictReader(file), key=lambda row: (parts.index(row["part"]), list(CLASSES).index(row["class"]), row["executed"] != "", row["stage"])):
        name = row["class"] if row["part"] == parts[0] else f"{row['class']}, {row['part']}"
        name += ", from a part of the experts" if row["executed"] else ""
        ratios.setdefault((name, row["stage"]), []).append(float(row["estimated_us"]) / float(row["published_us"]))
    summary(("class", "stage", "shapes"), ratios)


if sys.argv[1] == "report":
    report(sys.stdin)
else:
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), {int(one) for one in sys.argv[4].split(",")} if len(sys.argv) > 4 else set())
