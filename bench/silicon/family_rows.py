"""Puts the library's kernels of other families than products next to published times, by hand.

    family_rows.py FLY_KERNELS CLASS[,CLASS...] < published-families.csv > families.csv

Each row of the input has a class, a product and its target, a number of rows, the published microseconds, whose they are, the source,
and a problem for fly-kernels. The output has the estimate and the configuration besides. A summary goes to stderr.
"""
import csv
import sys

from estimates import estimate, summary

classes = sys.argv[2].split(",") if len(sys.argv) > 2 else []
table = csv.writer(sys.stdout, lineterminator="\n")
table.writerow(["class", "part", "m", "problem", "published_us", "whose", "source", "estimated_us", "configuration"])
ratios = {}
for row in csv.DictReader(sys.stdin):
    if classes and row["class"] not in classes:
        continue
    estimated, configuration = estimate(sys.argv[1], row["problem"], row["m"], row["target"], row["part"], "fast")
    table.writerow([row["class"], row["part"], row["m"], row["problem"], row["published_us"], row["whose"], row["source"], estimated,
                    configuration])
    sys.stdout.flush()
    ratios.setdefault((row["class"], row["part"]), []).append(estimated / float(row["published_us"]))
summary(("class", "product", "rows"), ratios)
