"""Puts the library's products on gfx1250 next to published times (aiter's tuned tables), by hand.

    gfx1250_rows.py TABLE.csv.gz FLY_KERNELS MOST > gemm-gfx1250.csv
    gfx1250_rows.py report < gemm-gfx1250.csv

Takes each shape of MI455X (256 compute units) with at most MOST multiply-adds, and for it the least time that each library was
published with. The estimate is of the library's own kernel, as `choose` gives it for a workspace that is zero. The report has a row for each type and library.
"""
import csv
import gzip
import sys

from estimates import estimate, spread

FP8 = "a=f8E4M3FN b=f8E4M3FN c=bf16"
BLOCKS = ("fp8 1x128 E8M0", f"{FP8} scale_a=per_block scale_b=per_block scale=f8E8M0FNU")
# The table's kind: what the row is of, and the problem.
KINDS = {
    "bf16": ("bf16", "a=bf16 b=bf16 c=bf16 b_layout=rows"),
    "a8w8": BLOCKS,
    "a8w8_blockscale_bpreshuffle": BLOCKS,
    "aiter_configs_mxscale_preshuffle_tuned_gemm.csv": BLOCKS,
    "a8w8_bpreshuffle": ("fp8 per row", f"{FP8} scale_a=per_row scale_b=per_row"),
}
MOST_TERAFLOPS = 20000  # AMD's peak of 8 bits; rows beyond are mislabelled


def rows_of(table, most):
    """(type, m, n, k, library): the least time and the problem."""
    best = {}
    for row in csv.DictReader(gzip.open(table, "rt")):
        if row["gfx"] != "gfx1250" or row["cu_num"] != "256" or row["B"] not in ("", "1") or row["bias"] == "True":
            continue
        kind, problem = KINDS[row["kind"]]
        m, n, k, us = int(row["M"]), int(row["N"]), int(row["K"]), float(row["us"] or 0)
        if us <= 0 or m * n * k > most or 2 * m * n * k / us / 1e6 > MOST_TERAFLOPS:
            continue
        key = (kind, m, n, k, row["lib"])
        if key not in best or us < best[key][0]:
            best[key] = (us, problem)
    return best


def write(table, program, most):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["type", "M", "N", "K", "measured_us", "measured_kernel_of", "estimated_us", "configuration"])
    done = {}  # by shape: two libraries may have measured it
    for (kind, m, n, k, library), (us, problem) in sorted(rows_of(table, most).items()):
        shape = (kind, m, n, k)
        if shape not in done:
            done[shape] = estimate(program, f"gemm {problem} zeroed_workspace=true n={n} k={k}", m, "gfx1250", "MI455X")
        out.writerow([kind, m, n, k, us, library, *done[shape]])
        sys.stdout.flush()


def report():
    classes = {}
    for row in csv.DictReader(sys.stdin):
        us = float(row["measured_us"])
        limit = "to 6 us" if us <= 6 else "6 to 20 us" if us <= 20 else "20 us and more"
        ratio = float(row["estimated_us"]) / us
        for name in (f"{row['type']}, {row['measured_kernel_of']}, {limit}", f"{row['type']}, {row['measured_kernel_of']}", "all"):
            classes.setdefault(name, []).append(ratio)
    print("| rows | count | median of estimate / measured | P10 to P90 | least and most | median of abs(ln) | P90 of it |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    for name, ratios in sorted(classes.items(), key=lambda one: (one[0] == "all", one[0])):
        of = spread(ratios)
        print(f"| {name} | {of['count']} | {of['median']:.2f} | {of['P10']:.2f} to {of['P90']:.2f} | {of['least']:.2f} to "
              f"{of['most']:.2f} | {of['error']:.3f} | {of['error_P90']:.2f} |")


if sys.argv[1] == "report":
    report()
else:
    write(sys.argv[1], sys.argv[2], float(sys.argv[3]))
