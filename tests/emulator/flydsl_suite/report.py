"""Makes the page of FlyDSL's test suite from the results of run.sh, and compares them with known.tsv.

known.tsv has a row for what is known: a test that does not pass, or a kernel with findings of the emulator's checks,
and why. What is in the results and not there makes the program fail, and so does a row that no longer holds.
"""

import collections
import csv
import json
import os
import re
import sys

work, known_path, page_path, version, commit, *targets = sys.argv[1:]

# ---- Results --------------------------------------------------------------------------------------------------------
outcomes = {}  # (target, test): (outcome, why)
for target in targets:
    with open(f"{work}/{target}.jsonl") as file:
        for row in map(json.loads, file):
            if "test" not in row:
                continue
            key = (target, row["test"] if row["test"].startswith("tests/") else "tests/" + row["test"])
            before = outcomes.get(key, ("started", ""))
            if row["outcome"] == "started":
                outcomes.setdefault(key, ("started", ""))
            elif before[0] != "failed":
                outcomes[key] = (row["outcome"], row.get("why", ""))
for key, (outcome, why) in outcomes.items():
    if outcome == "started":
        outcomes[key] = ("failed", "its process ended: a crash, or no end within the time that a test may take")
    elif outcome in ("crashed", "not collected"):
        outcomes[key] = ("failed", why)

# ---- Findings: one for each kernel, kind and pair of places ---------------------------------------------------------
PLACE = re.compile(r"\(([\w./-]+\.py:\d+)(?: in ([\w./-]+\.py:\d+))?")
finding_tests = collections.defaultdict(set)  # (kernel, kind, places): {(target, test)}
for target in targets:
    test = ""
    with open(f"{work}/{target}.log", errors="replace") as log:
        for line in log:
            if line.startswith("suite-test: "):
                test = line.split()[1]
            match = re.search(r"check: kernel '([^']+)': (.*)", line)
            if not match:
                continue
            kernel = re.sub(r"_\d+$", "", match[1])
            text = match[2]
            kind = re.split(r" byte \d| \(0x|[:;]| at 0x", text)[0]
            kind = re.sub(r"0x[0-9a-f]+|\d+", "N", kind)
            places = " and ".join(dict.fromkeys(place[1] or place[0] for place in PLACE.findall(text))) or "no line"
            finding_tests[kernel, kind, places].add((target, test))

# ---- What is known --------------------------------------------------------------------------------------------------
with open(known_path) as file:
    known = {(row["kind"], row["target"], row["name"]): row["why"]
             for row in csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")}
found = {("test", target, test): why for (target, test), (outcome, why) in outcomes.items() if outcome == "failed"}
for (kernel, kind, places), tests in finding_tests.items():
    for target in {target for target, _ in tests}:
        found["kernel", target, kernel] = f"{kind}: {places}"
new = {key: why for key, why in found.items() if key not in known}
held = {(target, test) for (target, test) in outcomes}
gone = [key for key in known if key not in found and key[1] in targets and (key[0] == "kernel" or key[1:] in held)]

# ---- The page -------------------------------------------------------------------------------------------------------
def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


lines = [
    "# FlyDSL's own tests on the emulator",
    "",
    "FlyDSL, the Python package, brings tests of its own. `tests/emulator/flydsl_suite/run.sh` runs them as they are, with the package of PyPI "
    f"({version}), whose runtime gets the emulator as its",
    "`libamdhip64.so.7`, and with all checks on. It is a long test (`ctest -C Long -R flydsl_suite`), skipped where there is no Python, no PyPI, or no "
    "checkout of FlyDSL's repository in `FLYDSL_SUITE_SOURCE`.",
    "PyTorch's tensors lie in the emulator's pinned memory, rounded up to 512 bytes as PyTorch rounds them on a GPU; its own operations run on the CPU, and each launch waits for its "
    "kernel (`HIP_LAUNCH_BLOCKING`).",
    "This page is written by the script; the test fails where a test fails or a kernel has a finding that `known.tsv` does not have, and where a row there no longer holds.",
    "",
    f"The tests are those of the repository at {commit or 'the checkout'}, without the ones marked `large_shape`, `multi_gpu` and `benchmark`.",
    "",
    "| tests of | " + " | ".join(f"{target}: passed | failed | skipped" for target in targets) + " |",
    "| --- |" + " --- | --- | --- |" * len(targets),
]
files = collections.defaultdict(collections.Counter)
for (target, test), (outcome, _) in outcomes.items():
    files[test.split("::")[0]][target, outcome] += 1
rows = {}
for file, counts in files.items():
    # Files that passed or are not for these targets are one row a folder.
    plain = not any(outcome == "failed" for _, outcome in counts) and not file.startswith("tests/kernels/")
    name = os.path.dirname(file) + "/, the others" if plain else file
    rows.setdefault(name.removeprefix("tests/"), collections.Counter()).update(counts)
rows["**all**"] = sum(files.values(), collections.Counter())
for name, counts in sorted(rows.items(), key=lambda row: (row[0].startswith("*"), row[0])):
    numbers = [str(counts[target, outcome] or "") for target in targets for outcome in ("passed", "failed", "skipped")]
    lines.append(f"| {name} | " + " | ".join(numbers) + " |")

lines += ["", "## Tests that fail", "", "| test | targets | why |", "| --- | --- | --- |"]
failed = collections.defaultdict(lambda: [collections.Counter(), set()])
for (kind, target, name), why in found.items():
    if kind == "test":
        reason = known.get((kind, target, name)) or why
        entry = failed[name.split("[")[0].removeprefix("tests/"), reason]
        entry[1].add(target)
        entry[0][target] += 1
for (name, reason), (counts, places) in sorted(failed.items()):
    many = max(counts.values())
    lines.append(f"| `{name}`{f' ({many} cases)' if many > 1 else ''} | {', '.join(t for t in targets if t in places)} | {cell(reason)} |")

lines += ["", "## Findings in FlyDSL's kernels", "",
          "What the checks say of FlyDSL's kernels, by kernel and the lines of its Python source.", "",
          "| kernel | finding | lines | targets | tests |", "| --- | --- | --- | --- | --- |"]
table = collections.defaultdict(lambda: [set(), set(), set()])
for (kernel, kind, places), tests in finding_tests.items():
    entry = table[kernel, kind]
    entry[0].add(places)
    entry[1] |= {target for target, _ in tests}
    entry[2] |= {test for _, test in tests}
for (kernel, kind), (places, on, tests) in sorted(table.items()):
    shown = "; ".join(sorted(places)[:3]) + (f"; {len(places) - 3} more" if len(places) > 3 else "")
    lines.append(f"| `{kernel}` | {cell(kind)} | {cell(shown)} | {', '.join(t for t in targets if t in on)} | {len(tests)} |")
reasons = {(name, why) for (kind, _, name), why in known.items() if kind == "kernel" and why}
if reasons:
    lines += ["", "What they come from:", "", "| kernel | what it is |", "| --- | --- |"] + [f"| `{name}` | {cell(why)} |" for name, why in sorted(reasons)]

lines += ["", "## Why tests are skipped", "", "| reason | " + " | ".join(targets) + " |", "| --- |" + " --- |" * len(targets)]
skips = collections.defaultdict(collections.Counter)
for (target, test), (outcome, why) in outcomes.items():
    if outcome == "skipped":
        reason = re.sub(r"/\S+/", ".../", re.sub(r"^Skipped: ", "", why))
        reason = re.sub(r"\bgfx[0-9a-f]{3,4}\b(?=[^a-zA-Z]*$)", "this one", reason) if "got" in reason or "current" in reason else reason
        skips[reason][target] += 1
for reason, counts in sorted(skips.items(), key=lambda row: -sum(row[1].values())):
    lines.append(f"| {cell(reason)} | " + " | ".join(str(counts[target] or "") for target in targets) + " |")

with open(page_path, "w") as page:
    page.write("\n".join(lines) + "\n")

for (kind, target, name), why in sorted(new.items()):
    print(f"NEW\t{kind}\t{target}\t{name}\t{why}")
for kind, target, name in gone:
    print(f"GONE\t{kind}\t{target}\t{name}")
print(f"{len(outcomes)} results, {len(found)} failures and findings, {len(new)} new, {len(gone)} known ones gone")
sys.exit(1 if new or gone else 0)
