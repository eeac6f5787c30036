"""Puts estimates next to published times.

    report.py cold rows-cold.txt OUTPUT warm rows-warm.txt OUTPUT > gemm-gfx950.csv

Each OUTPUT is what test_rows.py printed for the rows before it. The table goes to stdout; regimes.py sums it up.
"""
import re
import sys

print("dtype,M,N,K,last_cache,measured_us,estimated_us,bound,kernel")
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

