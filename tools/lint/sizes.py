#!/usr/bin/env python3
"""Checks that no file (with its header) has more than 600 lines, no function more than 60, no folder more than 25 files, no comment more than 100 columns.

Usage: sizes.py SOURCE_DIR [FILE...]   (all files of the tree when none is named)
Prints one line for each that has; exit code 1 when there is one. Functions are told by the layout that clang-format gives them: a line that ends
with "{" outside of another function, up to the brace in the column where its declaration begins.
"""
import collections
import os
import re
import sys

import tree

MOST_LINES, MOST_FUNCTION, MOST_FILES, MOST_COLUMNS = 600, 60, 25, 100
# clang-format keeps the columns of code, and leaves comments as they are.
COMMENT = re.compile(r"(^|\s)//")
NOT_FUNCTION = re.compile(r"^\s*(namespace|struct|class|union|enum|extern|inline namespace|template)\b(?!.*\)\s*(const|override|noexcept)*\s*\{$)|=\s*\{$|^\s*(public|private|protected):")


def functions(lines):
    """Yields (first line, name, number of lines) of each function."""
    lines = [COMMENT.split(line)[0].rstrip() for line in lines]
    i = 0
    while i < len(lines):
        line = lines[i]
        indent = len(line) - len(line.lstrip(" "))
        if not line.endswith("{") or line.lstrip().startswith("#") or NOT_FUNCTION.search(line):
            i += 1
            continue
        # The declaration may have begun some lines above: go back over continuation lines.
        begin = i
        while begin > 0 and indent > 3 and lines[begin - 1] and not lines[begin - 1].endswith((";", "}", "{", ":")):
            begin -= 1
            indent = len(lines[begin]) - len(lines[begin].lstrip(" "))
        head = " ".join(lines[begin : i + 1])
        if "(" not in head or indent > 4 or NOT_FUNCTION.search(lines[begin]) and "(" not in lines[begin]:
            i += 1
            continue
        end = i + 1
        closing = re.compile("^" + " " * indent + r"\}")
        while end < len(lines) and not closing.match(lines[end]):
            end += 1
        name = re.search(r"([~\w:]+)\s*\(", head)
        yield begin + 1, name.group(1) if name else "?", end - begin + 1
        i = end + 1


def main():
    root = sys.argv[1]
    tracked = tree.files(root)
    named = set(sys.argv[2:])
    bad = 0

    def say(text):
        nonlocal bad
        bad += 1
        print(text)

    modules, folders = collections.Counter(), collections.Counter()
    for name in tracked:
        folders[os.path.dirname(name)] += 1
        if not name.endswith((".h", ".cc")):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            lines = file.read().split("\n")
        modules[name.rsplit(".", 1)[0]] += len(lines) - 1
        if named and name not in named:
            continue
        for number, line in enumerate(lines, 1):
            if len(line) > MOST_COLUMNS and COMMENT.search(line):
                say(f"{name}:{number}: a comment has {len(line)} columns; at most {MOST_COLUMNS}")
        for line, function, count in functions(lines):
            if count > MOST_FUNCTION:
                say(f"{name}:{line}: the function {function} has {count} lines; at most {MOST_FUNCTION}")
    wanted = {name.rsplit(".", 1)[0] for name in named}
    for module, count in modules.items():
        if count > MOST_LINES and (not named or module in wanted):
            say(f"{module}: {count} lines with its header; at most {MOST_LINES}")
    if not named:
        for folder, count in folders.items():
            if count > MOST_FILES:
                say(f"{folder or '.'}: {count} files side by side; at most {MOST_FILES}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
