#!/usr/bin/env python3
"""Finds names that are given twice where they may be given once, and functions of a class that lie in another room.

    tools/lint/names.py TREE [FILE...]     FILE: these only are reported

- A type in a named namespace. The linker takes two of one name for one and keeps either definition.
- A name in an unnamed namespace of a room (a folder). The files of a room are compiled together
  (cmake/Rooms.cmake), and so are the files of tools/ that include CLI11. In the latter such a name
  must not be that of a type of a named namespace either: the next file may include its header.
- A function of a class is defined in the folder of the header that has the class, so that a reader
  who follows a call stays in one room.
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
# A class in a header or a .cc file, and a function of a class at the margin of a .cc file.
CLASS = re.compile(r"^\s*(?:struct|class)\s+(?:[A-Z_]+\([^)]*\)\s+)?(\w+)\b(?!\s*;)", re.MULTILINE)
METHOD = re.compile(r"^(?=\S)[^(=\n]*?\b(\w+)::(?:\w+::)*~?\w+\(", re.MULTILINE)


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


def strays(root, files):
    """Yields (file, line number, class, folders of its headers) of each class with functions in another folder."""
    texts = {file: (root / file).read_text(errors="replace") for file in files}
    homes = collections.defaultdict(set)
    for file in files:
        if file.endswith(".h"):
            for name in CLASS.findall(texts[file]):
                homes[name].add(str(pathlib.Path(file).parent))
    for file in files:
        if not file.endswith(".cc"):
            continue
        seen = set(CLASS.findall(texts[file]))  # those of the file's own
        for found in METHOD.finditer(texts[file]):
            name = found.group(1)
            if name not in homes or name in seen or str(pathlib.Path(file).parent) in homes[name]:
                continue
            seen.add(name)
            yield file, texts[file].count("\n", 0, found.start()) + 1, name, sorted(homes[name])


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
    code = [file for file in tree.files(root, ["*.h", "*.cc"]) if not file.startswith(("tests/", "bench/", "examples/", "third_party/"))]
    for file, number, name, folders in strays(root, code):
        if not wanted or file in wanted:
            bad = 1
            print(f"{file}:{number}: has functions of {name}, whose header lies in {', '.join(folders)}; they lie in one folder")
    return bad


if __name__ == "__main__":
    sys.exit(main())
