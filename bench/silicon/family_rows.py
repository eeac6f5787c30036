"""Puts the library's kernels of other families than products next to published times, by hand.

    family_rows.py FLY_KERNELS [CLASS,...] < published-families.csv > families.csv
    family_rows.py report < families.csv

Each row of the input has a class, a product and its target, a number of rows (of decoding, of queries of all sequences), the published
microseconds, whose they are, the source, whether all copies of the measuring program stay in the last cache, and a problem for fly-kernels.
The output has the estimate and the configuration besides. `report` sums the table up.
"""
import csv
import re
import sys

from estimates import estimate, summary


def write(program, classes):
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["class", "part", "m", "problem", "published_us", "whose", "source", "last_cache", "estimated_us", "configuration"])
    for row in csv.DictReader(sys.stdin):
        if classes and row["class"] not in classes:
            continue
        estimated, configuration = estimate(program, row["problem"], row["m"], row["target"], row["part"], "fast", row["last_cache"])
        table.writerow([row["class"], row["part"], row["m"], row["problem"], row["published_us"], row["whose"], row["source"],
                        row["last_cache"], estimated, configuration])
        sys.stdout.flush()


def class_of(row):
    if row["class"] != "decode":
        return row["class"]
    if "latent=" in row["problem"]:
        return "decode, latent"
    return "decode, one query" if re.search(r"queries=1\b", row["problem"]) else "decode, two to four queries"


def report():
    ratios = {}
    for row in csv.DictReader(sys.stdin):
        ratios.setdefault((class_of(row), row["part"]), []).append(float(row["estimated_us"]) / float(row["published_us"]))
    summary(("class", "product", "rows"), ratios)


if sys.argv[1] == "report":
    report()
else:
    write(sys.argv[1], sys.argv[2].split(",") if len(sys.argv) > 2 else [])
