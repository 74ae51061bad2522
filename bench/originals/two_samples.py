"""Tests whether two samples are of one distribution. Each returns a p value: the chance of samples
that differ as much or more when they are.

Sources: Pearson's chi-square for two samples of unequal size, and Kolmogorov's and Smirnov's test
with Stephens' correction, as in Press and others, "Numerical recipes", sections 14.3 and 6.2.
"""
import bisect
import collections
import math

LEAST_IN_CELL = 10  # values of both samples together; smaller cells are joined with their neighbours
BLOCKS = 25
RANKS = [0, 1, 2, 3, 4, 8, 16, 32, 64, 256, 1024, 4096, 1 << 62]  # where the cells of popularity begin


def upper_gamma(a, x):
    """Returns the regularised upper incomplete gamma function Q(a, x)."""
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:  # by the series of the lower function
        term = total = 1 / a
        n = a
        while term > total * 1e-16:
            n += 1
            term *= x / n
            total += term
        return 1 - total * scale
    b, c = x + 1 - a, 1e300  # by Lentz's continued fraction
    d = 1 / b
    fraction = d
    for i in range(1, 10000):
        step = -i * (i - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        fraction *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return fraction * scale


def chi_square_p(statistic, degrees):
    """Returns the chance that a chi-square of `degrees` degrees of freedom is `statistic` or
    larger."""
    return upper_gamma(degrees / 2, statistic / 2)


def joined(a, b):
    """Returns the counts of the two samples, with each small cell joined to a neighbour."""
    cells = []
    for pair in zip(a, b):
        if cells and (sum(pair) < LEAST_IN_CELL or sum(cells[-1]) < LEAST_IN_CELL):
            cells[-1] = [cells[-1][0] + pair[0], cells[-1][1] + pair[1]]
        else:
            cells.append(list(pair))
    return cells


def counts_p(a, b):
    """Returns p of the counts of two samples in the same cells, in their order (chi-square)."""
    cells = joined(a, b)
    all_a, all_b = sum(a), sum(b)
    if not all_a or not all_b:
        return float(all_a == all_b)
    if len(cells) < 2:
        return 1.0
    up, down = math.sqrt(all_b / all_a), math.sqrt(all_a / all_b)
    statistic = sum((up * m - down * n) ** 2 / (m + n) for m, n in cells)
    return chi_square_p(statistic, len(cells) - 1)


def kolmogorov_smirnov_p(a, b):
    """Returns p of two samples of numbers. With equal numbers in them p is too large, never too small."""
    a, b = sorted(a), sorted(b)
    distance = max(abs(bisect.bisect_right(a, x) / len(a) - bisect.bisect_right(b, x) / len(b)) for x in set(a + b))
    size = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    x = (size + 0.12 + 0.11 / size) * distance
    if x < 0.2:
        return 1.0
    return min(1.0, max(0.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 101))))


def quantile_cells(a, b, cells):
    """Returns the counts of both samples in cells with about as many numbers of both together. Equal numbers share a cell."""
    together = sorted(list(a) + list(b))
    borders = sorted({together[len(together) * i // cells] for i in range(1, cells)})
    counts = []
    for sample in (a, b):
        count = [0] * (len(borders) + 1)
        for x in sample:
            count[bisect.bisect_right(borders, x)] += 1
        counts.append(count)
    return counts


def numbers_p(a, b):
    """Returns p of two samples of numbers: the smaller p of two tests, doubled (Bonferroni).
    Kolmogorov's and Smirnov's test sees where they lie, chi-square over fifty cells their shape."""
    if not a or not b:
        return float(not a and not b)
    return min(1.0, 2 * min(kolmogorov_smirnov_p(a, b), counts_p(*quantile_cells(a, b, 50))))


def logarithmic_cells(values):
    """Returns how many of the whole numbers are 0, 1, 2, 3, 4 to 5, 6 to 7, 8 to 11, ...: two cells for each power of two."""
    counts = collections.Counter()
    for value in values:
        exponent = value.bit_length()
        counts[value if value < 4 else 2 * exponent + (value >> (exponent - 2) & 1) - 2] += 1
    return [counts[cell] for cell in range(130)]


def student_p(t, degrees):
    """Returns the chance that Student's t is `t` or farther from 0. `degrees` must be even."""
    angle = math.atan(abs(t) / math.sqrt(degrees))
    term = total = 1.0
    for i in range(1, degrees // 2):
        term *= (2 * i - 1) / (2 * i) * math.cos(angle) ** 2
        total += term
    return max(0.0, 1 - math.sin(angle) * total)


def means_p(a, b):
    """Returns p of Student's test of the means of two samples of equal size."""
    n = len(a)
    means = [sum(sample) / n for sample in (a, b)]
    squares = sum((x - mean) ** 2 for sample, mean in zip((a, b), means) for x in sample)
    if squares == 0:
        return float(means[0] == means[1])
    return student_p((means[0] - means[1]) / math.sqrt(squares / (n - 1) / n), 2 * n - 2)


def popularity_p(a, b):
    """Returns p of two sequences of accessed keys, for how unevenly keys are asked for, whichever
    they are.

    Each sequence is cut into BLOCKS equal blocks. The keys of a block are ranked by their accesses
    in it, and the accesses of the first rank, of the second, and of logarithmic cells of further
    ranks are compared by Student's tests. Ranking by the same accesses overstates how uneven they
    are, but equally in both sequences.
    """
    size = min(len(a), len(b)) // BLOCKS
    if size == 0:
        return float(len(a) == len(b) == 0)
    blocks = []
    for accesses in (a, b):
        cells = []
        for i in range(BLOCKS):
            counts = sorted(collections.Counter(accesses[i * size:(i + 1) * size]).values(), reverse=True)
            cells.append([sum(counts[begin:end]) for begin, end in zip(RANKS, RANKS[1:])])
        blocks.append(list(zip(*cells)))
    ps = [means_p(x, y) for x, y in zip(*blocks) if sum(x) + sum(y) > 0]
    return min(1.0, len(ps) * min(ps))


def mean_p(mean, count, sample):
    """Returns p of the mean of `count` numbers, of which nothing else is known, beside a sample.
    Both are taken to have the sample's variance."""
    if not sample or not count:
        return float(not sample and not count)
    own = sum(sample) / len(sample)
    variance = sum((x - own) ** 2 for x in sample) / max(1, len(sample) - 1)
    error = math.sqrt(variance * (1 / count + 1 / len(sample)))
    return 1.0 if error == 0 and mean == own else math.erfc(abs(mean - own) / error / math.sqrt(2)) if error else 0.0
