"""Draws estimates over published times.

    picture.py TABLE.csv > picture.svg

TABLE has columns with the words "measured" or "published", and "estimated", in microseconds; a mark's colour is its class, or its type
of elements. Both axes are logarithmic. The band is 20 % to both sides of agreement.
"""
import csv
import math
import sys

COLOURS = ("#3b6fb6", "#c8553d", "#4b8f4b", "#8a5fb0", "#b08a2e", "#4aa3a3")
SIZE, LEFT, TOP, BOTTOM, RIGHT = 420, 62, 16, 46, 210

rows = list(csv.DictReader(open(sys.argv[1])))
measured = next(name for name in rows[0] if "measured" in name or "published" in name)
estimated = next(name for name in rows[0] if "estimated" in name)
kind = "class" if "class" in rows[0] else "dtype"
points = [(row[kind], float(row[measured]), float(row[estimated])) for row in rows if row[estimated]]
kinds = sorted({point[0] for point in points})
low = 10 ** (math.floor(10 * math.log10(min(min(x, y) for _, x, y in points))) / 10)
high = 10 ** (math.ceil(10 * math.log10(max(max(x, y) for _, x, y in points))) / 10)


def across(us):
    return LEFT + SIZE * math.log(us / low) / math.log(high / low)


def up(us):
    return TOP + SIZE - SIZE * math.log(us / low) / math.log(high / low)


width, height = LEFT + SIZE + RIGHT, TOP + SIZE + BOTTOM
out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
       f'<rect width="{width}" height="{height}" fill="white"/>',
       f'<clipPath id="inside"><rect x="{LEFT}" y="{TOP}" width="{SIZE}" height="{SIZE}"/></clipPath>']
corners = ((low, 1.2 * low), (high, 1.2 * high), (high, high / 1.2), (low, low / 1.2))
band = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in corners)
out.append(f'<polygon points="{band}" fill="#e8ecf2" clip-path="url(#inside)"/>')
out.append(f'<line x1="{across(low)}" y1="{up(low)}" x2="{across(high)}" y2="{up(high)}" stroke="#888"/>')
for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
    for tick in (1, 2, 5):
        us = tick * 10 ** power
        if low <= us <= high:
            out.append(f'<line x1="{across(us):.1f}" y1="{TOP}" x2="{across(us):.1f}" y2="{TOP + SIZE}" stroke="#ddd" stroke-width="0.5"/>')
            out.append(f'<line x1="{LEFT}" y1="{up(us):.1f}" x2="{LEFT + SIZE}" y2="{up(us):.1f}" stroke="#ddd" stroke-width="0.5"/>')
            out.append(f'<text x="{across(us):.1f}" y="{TOP + SIZE + 16}" text-anchor="middle">{us:g}</text>')
            out.append(f'<text x="{LEFT - 6}" y="{up(us) + 4:.1f}" text-anchor="end">{us:g}</text>')
for name, x, y in points:
    colour = COLOURS[kinds.index(name) % len(COLOURS)]
    out.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.6" fill="{colour}" fill-opacity="0.75"/>')
for i, name in enumerate(kinds):
    out.append(f'<circle cx="{LEFT + SIZE + 18}" cy="{TOP + 12 + 18 * i}" r="4" fill="{COLOURS[i % len(COLOURS)]}"/>')
    out.append(f'<text x="{LEFT + SIZE + 28}" y="{TOP + 16 + 18 * i}">{name}</text>')
out.append(f'<rect x="{LEFT}" y="{TOP}" width="{SIZE}" height="{SIZE}" fill="none" stroke="#444"/>')
out.append(f'<text x="{LEFT + SIZE / 2}" y="{height - 8}" text-anchor="middle">{measured.split("_")[0]}, us</text>')
out.append(f'<text transform="translate(14 {TOP + SIZE / 2}) rotate(-90)" text-anchor="middle">estimated, us</text>')
out.append("</svg>")
print("\n".join(out))
