"""Puts the library's kernels of other families than products next to published times, by hand.

    family_rows.py FLY_KERNELS CLASS[,CLASS...] < published-families.csv > families.csv

Each row of the input has a class, a product and its target, a number of rows, the published microseconds, whose they are, the source,
and a problem for fly-kernels. The output has the estimate and the configuration besides. A summary goes to stderr.
"""
import csv
import os
import statistics
import subprocess
import sys

classes = sys.argv[2].split(",") if len(sys.argv) > 2 else []
table = csv.writer(sys.stdout, lineterminator="\n")
table.writerow(["class", "part", "m", "problem", "published_us", "whose", "source", "estimated_us", "configuration"])
ratios = {}
for row in csv.DictReader(sys.stdin):
    if classes and row["class"] not in classes:
        continue
    command = [sys.argv[1], "time", *row["problem"].split(), "--m", row["m"], "--arch", row["target"], "--part", row["part"]]
    run = subprocess.run(command, env={**os.environ, "FLYDSL_EMULATOR_MATRIX": "fast"}, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL)
    if run.returncode:
        sys.exit(f"{' '.join(command)}: {run.stderr}")
    last = run.stdout.strip().split("\n")[-1]
    estimated = float(last.split()[0])
    table.writerow([row["class"], row["part"], row["m"], row["problem"], row["published_us"], row["whose"], row["source"], estimated,
                    last.split("|")[-1].strip()])
    sys.stdout.flush()
    ratios.setdefault((row["class"], row["part"]), []).append(estimated / float(row["published_us"]))
print("| class | product | rows | median of estimate / published | least to most |\n| --- | --- | --- | --- | --- |", file=sys.stderr)
for (name, part), some in ratios.items():
    print(f"| {name} | {part} | {len(some)} | {statistics.median(some):.2f} | {min(some):.2f} to {max(some):.2f} |", file=sys.stderr)
