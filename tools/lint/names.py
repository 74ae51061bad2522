#!/usr/bin/env python3
"""Finds names that are given twice where they may be given once.

    tools/lint/names.py TREE [FILE...]     FILE: these only are reported

- A type in a named namespace. The linker takes two of one name for one and keeps either definition.
- A name in an unnamed namespace of a room (a folder). The files of a room are compiled together
  (cmake/Rooms.cmake), and so are the files of tools/ that include CLI11. In the latter such a name
  must not be that of a type of a named namespace either: the next file may include its header.
"""
import collections
import pathlib
import re
import sys

import tree

NAMESPACE = re.compile(r"^namespace\s*([\w:]*)\s*\{")
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union)\s+(?:[A-Z_]+\([^)]*\)\s+)?(\w+)(?:\s+final)?\s*(?::[^:;].*)?\{")
VALUE = re.compile(r"^(?:static\s+)?(?:constexpr|const|constinit|std::\w|\w[\w:<>]*)\s[^(){};=]*?\b(\w+)(?:\[[^\]]*\])*\s*(?:=|\{)")

ALIAS = re.compile(r"^using\s+(\w+)\s*=")
FUNCTION = re.compile(r"^(?:\[\[\w+\]\]\s+)?(?!using|return|typedef|namespace|template|friend|TEST|INSTANTIATE|TESTBED)(?:[\w:<>,*&]+[\s*&]+)+(\w+)\((?!.*\);$)")


def names(path):
    """Yields (line number, namespaces, name, whether it is a type) of each definition at the margin."""
    spaces = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if begin := NAMESPACE.match(line):
            spaces.append(begin.group(1))
        elif re.match(r"^\}\s*//\s*namespace", line) and spaces:
            spaces.pop()
        elif found := TYPE.match(line):
            yield number, tuple(spaces), found.group(1), True
        elif "" in spaces and (found := ALIAS.match(line)):
            yield number, tuple(spaces), found.group(1), False
        elif not line.startswith(("template", "namespace", "using", "return", "#", "//", "inline", "class", "struct")) and (found := VALUE.match(line)):
            yield number, tuple(spaces), found.group(1), False
        elif found := FUNCTION.match(line):
            yield number, tuple(spaces), found.group(1), False


def rooms(root, file):
    """Yields the places in which a name of the file's unnamed namespace may be given once."""
    yield str(pathlib.Path(file).parent)
    if file.startswith("tools/") and "#include <CLI/CLI.hpp>" in (root / file).read_text(errors="replace"):
        yield "files that include CLI11"


def main():
    root, wanted = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    places, types, private = collections.defaultdict(dict), {}, []
    for file in tree.files(root, ["*.h", "*.cc"]):
        for number, spaces, name, is_type in names(root / file):
            if "" in spaces and file.endswith(".cc") and not file.startswith(("tests/fuzz/", "bench/")):
                where = rooms(root, file)
                where = list(where)
                if len(where) > 1:
                    private.append((name, file, number))
            elif "" not in spaces and is_type and spaces and spaces[0] == "testbed" and not file.startswith(("tests/", "bench/", "examples/")):
                where = ["the linker"]
                types[name] = f"{file}:{number}"
            else:
                continue
            for place in where:
                places[place, spaces, name].setdefault(file, number)
    bad = 0
    for (where, _, name), files in sorted(places.items()):
        if len(files) > 1 and (not wanted or wanted & set(files)):
            bad = 1
            lines = ", ".join(f"{file}:{number}" for file, number in sorted(files.items()))
            print(f"{name} is given twice, in {lines}; once is the rule for {where}")
    for name, file, number in private:
        if name in types and (not wanted or file in wanted):
            bad = 1
            print(f"{file}:{number}: {name} is the name of a type already, in {types[name]}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
