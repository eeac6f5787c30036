"""Puts the library's products next to the best published time of their shape, by hand.

    best_of_others.py choose TABLE.csv.gz SEED COUNT > shapes.txt
    best_of_others.py report shapes.txt TIMES > best-of-others.csv
    best_of_others.py changes BEFORE.csv AFTER.csv

`choose` draws COUNT shapes of each class and range of rows, of products with less than 8 x 10^9 multiply-adds: class, target, part, m,
n, k, the least published microseconds, whose they are, whether all copies of the operands stay in the last cache, and the problem for
fly-kernels. TIMES has a line for each shape that was
estimated: class, m, n, k, and the last line of `fly-kernels time PROBLEM --m M --arch TARGET --part PART`, separated by tabs.
`report` writes the table to stdout, a summary to stderr. `changes` shows what a change of the choice, of a kernel or of the estimate does
to these shapes: the estimates of each that changed by more than 2 %, and each class's median.
"""
import csv
import gzip
import random
import statistics
import sys

from estimates import last_cache

FP8 = "a=f8E4M3FN b=f8E4M3FN c=bf16"
PER_ROW, PER_BLOCK = "scale_a=per_row scale_b=per_row", "scale_a=per_block scale_b=per_block"
# class: target, compute units, part, kinds of the table, whether rows are of int8 (None: any), the problem
CLASSES = {
    "bf16": ("gfx950", "256", "MI355X", ["bf16"], None, "a=bf16 b=bf16 c=bf16 b_layout=rows"),
    "fp8": ("gfx950", "256", "MI355X", ["a8w8_bpreshuffle", "a8w8"], False, f"{FP8} {PER_ROW}"),
    "i8": ("gfx950", "256", "MI355X", ["a8w8"], True, f"a=i8 b=i8 c=bf16 {PER_ROW}"),
    "fp8 blocks": ("gfx950", "256", "MI355X", ["a8w8_blockscale", "a8w8_blockscale_bpreshuffle"], None, f"{FP8} {PER_BLOCK}"),
    "fp8 blocks, MI300X": ("gfx942", "304", "MI300X", ["a8w8_blockscale"], None, f"{FP8.replace('FN', 'FNUZ')} {PER_BLOCK}"),
    "fp8 blocks, R9700": ("gfx1201", "64", "Radeon AI PRO R9700", ["a8w8_blockscale"], None, f"{FP8} {PER_BLOCK}"),
    "fp4 MX": (
        "gfx950", "256", "MI355X", ["a4w4_blockscale"], None,
        "a=f4E2M1FN b=f4E2M1FN c=bf16 scale_a=mx scale_b=mx scale=f8E8M0FNU",
    ),
}
RANGES = (("1 to 16", 1, 16), ("17 to 256", 17, 256), ("257 and more", 257, 1 << 40))
MOST_TERAFLOPS = 5200  # rows beyond are mislabelled
MOST_TERAFLOPS_FP4 = 10100  # the peak of MI355X


def choose(table, seed, count):
    random.seed(seed)
    rows = list(csv.DictReader(gzip.open(table, "rt")))
    for name, (gfx, units, part, kinds, int8, problem) in CLASSES.items():
        best = {}
        most = MOST_TERAFLOPS_FP4 if name == "fp4 MX" else MOST_TERAFLOPS
        for row in rows:
            if row["gfx"] != gfx or row["cu_num"] != units or row["kind"] not in kinds or row["bias"] == "True":
                continue
            if row["B"] not in ("", "1") or (int8 is not None and int8 != ("int8" in row["dtype"])):
                continue
            shape, us = (int(row["M"]), int(row["N"]), int(row["K"])), float(row["us"] or 0)
            m, n, k = shape
            if us <= 0 or m * n * k >= 8e9 or 2 * m * n * k / us / 1e6 > most:
                continue
            if shape not in best or us < best[shape][0]:
                best[shape] = (us, row["lib"])
        for _, low, high in RANGES:
            fitting = [(shape, of) for shape, of in sorted(best.items()) if low <= shape[0] <= high]
            for (m, n, k), (us, library) in random.sample(fitting, min(count, len(fitting))):
                bits = 16 if name == "bf16" else 4 if name == "fp4 MX" else 8
                cache = last_cache((m + n) * k * bits / 8 + 2 * m * n)
                print(name, gfx, part, m, n, k, us, library, cache, f"gemm {problem} n={n} k={k}", sep="\t")


def report(shapes, times):
    estimates = {}
    for line in open(times):
        name, m, n, k, last = line.rstrip("\n").split("\t")
        estimates[name, m, n, k] = (float(last.split()[0]), last.split("|")[-1].strip())
    table = csv.writer(sys.stdout)
    table.writerow(["class", "gfx", "M", "N", "K", "published_us", "library", "last_cache", "estimated_us", "configuration"])
    ratios = {}
    for line in open(shapes):
        name, gfx, _, m, n, k, us, library, cache, _ = line.rstrip("\n").split("\t")
        if (name, m, n, k) not in estimates:
            continue
        estimate, configuration = estimates[name, m, n, k]
        table.writerow([name, gfx, m, n, k, us, library, cache, estimate, configuration])
        rows = next(text for text, low, high in RANGES if low <= int(m) <= high)
        ratios.setdefault((name, rows), []).append(estimate / float(us))
    print("| class | rows | shapes | median | least to most |\n| --- | --- | --- | --- | --- |", file=sys.stderr)
    for (name, rows), some in ratios.items():
        print(f"| {name} | {rows} | {len(some)} | {statistics.median(some):.2f} | {min(some):.2f} to {max(some):.2f} |", file=sys.stderr)


def changes(before, after):
    key = ("class", "M", "N", "K")
    old = {tuple(row[field] for field in key): row for row in csv.DictReader(open(before))}
    ratios = {}
    for row in csv.DictReader(open(after)):
        shape = tuple(row[field] for field in key)
        if shape not in old:
            print(f"{' '.join(shape)}: {row['estimated_us']} us, not in {before}")
            continue
        was, now, best = (float(text) for text in (old[shape]["estimated_us"], row["estimated_us"], row["published_us"]))
        ratios.setdefault(row["class"], []).append((was / best, now / best))
        if abs(now / was - 1) > 0.02:
            print(f"{' '.join(shape)}: {was} us, now {now}; best published {best}")
            if old[shape]["configuration"] != row["configuration"]:
                print(f"  was {old[shape]['configuration']}\n  now {row['configuration']}")
    for name, some in ratios.items():
        was, now = (statistics.median(ratio) for ratio in zip(*some))
        print(f"{name}: {len(some)} shapes, median to the best {was:.2f}, now {now:.2f}")


if sys.argv[1] == "choose":
    choose(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] == "changes":
    changes(sys.argv[2], sys.argv[3])
else:
    report(sys.argv[2], sys.argv[3])
