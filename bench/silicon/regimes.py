"""How near estimates are to measured times by range of times and type, whether the aims hold, and which of two configurations of one
shape is estimated to be the quicker one.

    regimes.py TABLE.csv [TABLE.csv ...]

Each TABLE is what report.py writes. Aims: the median of abs(ln(estimate / measured)) under 0.08, nine of ten within 0.20. The second table has
each two rows of one file with the same type, shape and cache whose measured times differ by more than 5 %.
"""
import csv
import itertools
import sys

from estimates import spread

LIMITS = (("up to 6 us", 0, 6), ("6 to 20 us", 6, 20), ("20 to 100 us", 20, 100), ("more than 100 us", 100, float("inf")))
MEDIAN, P90 = 0.08, 0.20
TYPES = {"int8": "i8", "int4": "i8 by i4", "fp4": "fp4 MX"}


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0] * len(values)
    for rank, at in enumerate(order):
        result[at] = rank
    return result


def spearman(pairs):
    count = len(pairs)
    if count < 8:
        return ""
    a, b = (ranks(values) for values in zip(*pairs))
    return f"{1 - 6 * sum((x - y) ** 2 for x, y in zip(a, b)) / (count * (count ** 2 - 1)):.3f}"


def line(what, pairs):
    of = spread(estimated / us for us, estimated in pairs)
    holds = "both" if of["error"] < MEDIAN and of["error_P90"] <= P90 else "neither" if of["error"] >= MEDIAN and of["error_P90"] > P90 \
        else "the median" if of["error"] < MEDIAN else "nine of ten"
    print(f"| {what} | {of['count']} | {of['median']:.2f} | {of['least']:.2f} to {of['most']:.2f} | {of['error']:.3f} | "
          f"{of['error_P90']:.2f} | {spearman(pairs)} | {holds} |")


tables = [list(csv.DictReader(open(path))) for path in sys.argv[1:]]
rows = list(itertools.chain(*tables))
print("| rows | count | median of estimate / measured | least to most | median of abs(ln) (aim 0.08) | P90 of it (aim 0.20) | Spearman | aims that hold |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |")
of = lambda row: (float(row["measured_us"]), float(row["estimated_us"]))
for kind in dict.fromkeys(row["dtype"] for row in rows):
    for text, low, high in LIMITS:
        if some := [of(row) for row in rows if row["dtype"] == kind and low < float(row["measured_us"]) <= high]:
            line(f"{TYPES.get(kind, kind)}, {text}", some)
for text, low, high in LIMITS:
    if some := [of(row) for row in rows if low < float(row["measured_us"]) <= high]:
        line(f"all, {text}", some)
line("all", [of(row) for row in rows])

print("\n| product | configurations | measured | estimated | order |\n| --- | --- | --- | --- | --- |")
for path, table in zip(sys.argv[1:], tables):
    for one, two in itertools.combinations(table, 2):
        if any(one[field] != two[field] for field in ("dtype", "M", "N", "K", "last_cache")):
            continue
        (us, estimated), (other_us, other_estimated) = of(one), of(two)
        if max(us, other_us) < 1.05 * min(us, other_us):
            continue
        order = "right" if (us < other_us) == (estimated < other_estimated) else "wrong"
        print(f"| {TYPES.get(one['dtype'], one['dtype'])} {one['M']} x {one['N']} x {one['K']}, {path} | {one['kernel']}; {two['kernel']} | "
              f"{us}, {other_us} | {estimated}, {other_estimated} | {order} |")
