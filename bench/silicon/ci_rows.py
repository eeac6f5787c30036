"""Chooses the products of FlyDSL's CI, by hand.

    ci_rows.py flydsl-ci.csv gfx942|gfx950 > rows.txt

A row has the type, m, n, k, the measured microseconds (by the table's TFLOPS), a name, and the builder's arguments as FlyDSL's
scripts/run_benchmark.sh has them: the tile, whether A goes straight to shared memory, and the waves of a SIMD that are asked for.
"""
import csv
import re
import sys

SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)_tile(\d+)x(\d+)x(\d+)(?:_(\d)tg)?$")

for row in csv.DictReader(open(sys.argv[1])):
    found = SHAPE.match(row["shape"])
    if row["arch"] != sys.argv[2] or row["op"] not in ("gemm", "gemm_async", "gemm_fp4_async") or not found or not row["value"]:
        continue
    m, n, k, *tile = map(int, found.groups(default="0"))
    us = 2 * m * n * k / float(row["value"]) / 1e6
    print(row["dtype"], m, n, k, f"{us:.2f}", f"{row['op']}_{row['shape']}", *tile[:3], int(row["op"] != "gemm"), tile[3])
