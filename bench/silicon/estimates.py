"""What the tables share: the estimate of a problem, and the summaries of ratios."""
import math
import os
import re
import statistics
import subprocess
import sys

COPIES, LAST_CACHE = 101, 256 << 20


def last_cache(bytes_of_copy):
    """Where a measuring program that rotates up to 101 copies of the arguments finds them, as FLYDSL_EMULATOR_LAST_CACHE says it: all copies
    of small ones stay in the last cache."""
    return "warm" if COPIES * bytes_of_copy <= LAST_CACHE else "cold"


def estimate(program, problem, m, target, part, products="none", cache="cold"):
    """The microseconds and the configuration that fly-kernels gives for a call; ends the script if there is none. `products`: how the
    emulator makes matrix products; without them where no time depends on their results. `cache`: the last cache, cold or warm."""
    command = [program, "time", *problem.split(), "--m", str(m), "--arch", target, "--part", part]
    environment = {**os.environ, "FLYDSL_EMULATOR_MATRIX": products, "FLYDSL_EMULATOR_LAST_CACHE": cache}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if run.returncode:
        sys.exit(f"{' '.join(command)}: {run.stderr}")
    last = run.stdout.strip().split("\n")[-1]
    return float(last.split()[0]), last.split("|")[-1].strip()


def chosen(program, problem, m, target, part):
    """The configuration that fly-kernels chooses for a call on a part, without a launch; ends the script if there is none."""
    command = [program, "show", *problem.split(), "--m", str(m), "--arch", target]
    environment = {**os.environ, "FLYDSL_EMULATOR_ARCH": target, "FLYDSL_EMULATOR_PRODUCT": part}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = re.match(rf"{target}: (.*) \(of \d+ configurations\)\n", run.stdout)
    if run.returncode or not found:
        sys.exit(f"{' '.join(command)}: {run.stderr or run.stdout}")
    return found[1]


def summary(heads, ratios):
    """Writes a row for each two names of `ratios`, whose heads are `heads`, to stderr."""
    print(f"| {heads[0]} | {heads[1]} | {heads[2]} | median of estimate / published | least to most |\n| --- | --- | --- | --- | --- |",
          file=sys.stderr)
    for (name, kind), some in ratios.items():
        print(f"| {name} | {kind} | {len(some)} | {statistics.median(some):.2f} | {min(some):.2f} to {max(some):.2f} |", file=sys.stderr)


def spread(ratios):
    """Of ratios of estimates and measured times: their count, median, P10 and P90, least and most, and of the magnitudes of their logarithms the
    median and P90."""
    ratios = sorted(ratios)
    errors = sorted(abs(math.log(ratio)) for ratio in ratios)
    low, high = (int(part * len(ratios)) for part in (0.1, 0.9))
    return {"count": len(ratios), "median": statistics.median(ratios), "P10": ratios[low], "P90": ratios[high], "least": ratios[0],
            "most": ratios[-1], "error": statistics.median(errors), "error_P90": errors[high]}
