"""Chooses rows of a table of published times of FlyDSL's products (aiter's tuned tables), by hand.

    choose_rows.py TABLE.csv.gz SEED COUNT cold|warm > rows.txt

The measuring program rotates up to 101 copies of the arguments. Products whose copies are no more than the last cache
holds find it warm, and the others find it cold. COUNT rows of each type and each range of times, small enough to be executed in seconds. A row has the type, m, n,
k, the measured microseconds, the kernel's name, and the configuration that the name says.
"""
import csv
import gzip
import random
import re
import sys

from estimates import last_cache

FP8 = re.compile(r"flydsl_bpreshuflle_(\d+)x(\d+)x(\d+)_F8_F8_B16_(\d+)x(\d+)x(\d+)x(\d+)(?:x(\d+))?_default$")
BF16 = re.compile(
    r"flydsl_gemm(\d)_abf16_wbf16_bf16_t(\d+)x(\d+)x(\d+)_split_k(\d+)_block_m_warp(\d+)_block_n_warp(\d+)"
    r"(?:_block_k_warp(\d+))?_async_copyTrue_b_to_ldsTrue_b_preshuffleFalse_c_to_ldsFalse_gfx950$")


def configuration(row):
    """The type and the builder's arguments, or None."""
    name = row["kernelName"]
    if row["kind"] == "a8w8_bpreshuffle" and (found := FP8.match(name)):
        fields = [int(field) for field in found.groups() if field is not None]
        tile, rest = fields[:3], fields[3:]
        if len(rest) == 5:  # stages, shuffled c, asynchronous copies, waves, order of dies
            stages, _, asynchronous, waves, dies = rest
        else:  # an older form of the name
            asynchronous, waves, dies, stages = rest
        return "fp8", tile + [stages, asynchronous, waves, dies]
    if row["bias"] != "True" and (found := BF16.match(name)):
        return "bf16", [int(field or 1) for field in found.groups()]
    return None


def cache_of(kind, m, n, k):
    element = 1 if kind == "fp8" else 2
    return last_cache(element * (m * k + n * k) + 2 * m * n)


table, seed, count, cache = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if cache not in ("cold", "warm"):
    sys.exit(f"{cache}: expected cold or warm")
random.seed(seed)
rows = {"fp8": [], "bf16": []}
for row in csv.DictReader(gzip.open(table, "rt")):
    if row["gfx"] != "gfx950" or row["cu_num"] != "256" or row["B"] not in ("", "1"):
        continue
    m, n, k, us = int(row["M"]), int(row["N"]), int(row["K"]), float(row["us"])
    if (found := configuration(row)) and m * n * k < 3e10:
        rows[found[0]].append((found[0], m, n, k, us, row["kernelName"], *found[1]))
for kind in rows.values():
    for low, high in ((0, 6), (6, 12), (12, 20), (20, 100)):
        fitting = [row for row in kind if low < row[4] <= high]
        for row in random.sample(fitting, min(count, len(fitting))):
            if cache_of(*row[:4]) == cache:
                print(*row)
