"""The rows of the table: a figure of the original beside ours, and a verdict."""
import collections
from typing import NamedTuple

from originals import two_samples

SHARE = 1.0  # per cent points, and per cent of a number, by which ours may differ
LEVEL = 0.01  # a test fails below this p

SAME, DIFFERS, KNOWN = "same", "differs", "known"


class Row(NamedTuple):
    workload: str
    what: str
    original: str
    ours: str
    difference: str
    verdict: str
    reason: str = ""  # why a known difference is there


def text(number):
    return f"{number:.0f}" if number == int(number) and abs(number) < 1e9 else f"{number:.4g}"


def shares(workload, original, ours):
    """Returns a row for each kind of operation, from two counters of them."""
    rows = []
    for kind in sorted({kind for kind in {*original, *ours} if original.get(kind, 0) + ours.get(kind, 0)}, key=lambda kind: (-original.get(kind, 0), kind)):
        a, b = (100 * counts.get(kind, 0) / max(1, sum(counts.values())) for counts in (original, ours))
        rows.append(Row(workload, f"share: {kind}", f"{a:.2f} %", f"{b:.2f} %", f"{b - a:+.2f} points", SAME if abs(a - b) <= SHARE else DIFFERS))
    return rows


def number(workload, what, original, ours, known=""):
    """Returns a row of two numbers that may differ by SHARE per cent, or have a known difference."""
    difference = 100 * (ours - original) / original if original else 100.0 * (ours != original)
    verdict = SAME if abs(difference) <= SHARE else KNOWN if known else DIFFERS
    return Row(workload, what, text(original), text(ours), f"{difference:+.2f} %", verdict, known if verdict == KNOWN else "")


def tested(workload, what, original, ours, p, known=""):
    """Returns a row of a test whose p value is given; the two texts say something about the samples."""
    verdict = SAME if p >= LEVEL else KNOWN if known else DIFFERS
    return Row(workload, what, original, ours, f"p = {p:.3f}", verdict, known if verdict == KNOWN else "")


def numbers(workload, what, original, ours):
    """Returns a row that tests two samples of numbers, with their first quartiles, medians and third quartiles."""
    def quartiles(sample):
        ordered = sorted(sample)
        return ", ".join(text(ordered[len(ordered) * i // 4]) for i in (1, 2, 3)) if ordered else "none"
    return tested(workload, what, quartiles(original), quartiles(ours), two_samples.numbers_p(original, ours))


def popularity(workload, original, ours, known=""):
    """Returns a row that tests how unevenly keys are asked for, with the shares of the hottest key and the hottest 100."""
    def hottest(accesses):
        counts = sorted(collections.Counter(accesses).values(), reverse=True)
        return f"{100 * counts[0] / len(accesses):.2f} %, {100 * sum(counts[:100]) / len(accesses):.1f} %" if counts else "none"
    return tested(workload, "popularity: hottest key, hottest 100", hottest(original), hottest(ours), two_samples.popularity_p(original, ours), known)


def as_text(rows):
    """Returns the table for a terminal, and the reasons of what is known below it."""
    table = [("workload", "what", "original", "ours", "difference", "verdict"), *(row[:6] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(6)]
    reasons = [f"known, {row.workload}, {row.what}: {row.reason}" for row in rows if row.reason]
    return "\n".join(["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table] + reasons)


def as_markdown(rows):
    lines = ["| workload | what | original | ours | difference | verdict |", "|---|---|---|---|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(row[:6]) + " |" for row in rows])
