"""Puts estimates next to published times.

    report.py cold rows-cold.txt OUTPUT warm rows-warm.txt OUTPUT > gemm-gfx950.csv

Each OUTPUT is what test_rows.py printed for the rows before it. The table goes to stdout, a summary to stderr.
"""
import re
import sys

from estimates import spread

print("dtype,M,N,K,last_cache,measured_us,estimated_us,bound,kernel")
pairs = []
for cache, rows_file, output in zip(*[iter(sys.argv[1:])] * 3):
    rows = [line.split() for line in open(rows_file)]
    launches, current, ended = {}, None, []
    for line in open(output, errors="replace"):
        if found := re.match(r"ROW (\d+) (BEGIN|END)", line):
            current = int(found[1]) if found[2] == "BEGIN" else ended.append(int(found[1]))
        elif current is not None and "counters of" in line:
            found = re.search(r"estimate: \d+ cycles, ([\d.e+]+) us, bound by (\w+)", line)
            launches.setdefault(current, []).append((float(found[1]), found[2]))
    for i in ended:
        if i not in launches:
            continue
        kind, m, n, k, us, name = rows[i][:6]
        estimated = sum(one[0] for one in launches[i])
        bound = max(launches[i])[1]
        print(f"{kind},{m},{n},{k},{cache},{us},{estimated:.2f},{bound},{name}")
        pairs.append((kind, float(us), estimated))


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0] * len(values)
    for rank, at in enumerate(order):
        result[at] = rank
    return result


def summary(what, some):
    if len(some) < 2:
        return
    of = spread(estimated / us for _, us, estimated in some)
    a, b = ranks([us for _, us, _ in some]), ranks([estimated for _, _, estimated in some])
    count = len(some)
    spearman = 1 - 6 * sum((x - y) ** 2 for x, y in zip(a, b)) / (count * (count ** 2 - 1))
    print(f"| {what} | {count} | {of['median']:.2f} | {of['P10']:.2f} to {of['P90']:.2f} | {of['error']:.3f} | {of['error_P90']:.2f} | "
          f"{spearman:.3f} |", file=sys.stderr)


print("| rows | count | median of estimate / measured | P10 to P90 | median of abs(ln) | P90 of it | Spearman |\n"
      "| --- | --- | --- | --- | --- | --- | --- |", file=sys.stderr)
for kind in ("fp8", "bf16"):
    for low, high in ((0, 6), (6, 20), (20, 100)):
        summary(f"{kind}, {low} to {high} us", [p for p in pairs if p[0] == kind and low < p[1] <= high])
summary("all", pairs)
