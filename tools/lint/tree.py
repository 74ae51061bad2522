#!/usr/bin/env python3
"""Lists the files of the tree: what git knows and does not ignore; in a tree without git, or that git ignores as a whole, what lies outside build/.

Usage: tree.py SOURCE_DIR [--changed COMMIT [--code]] [--units] [PATTERN...]   ("*.h"; all files when none is given)

With --code the files in which only comments and white space changed are left out: what reads C++ alone says of them what it said before.
With --units each header is replaced by a file that compiles it, for what reads such files alone.
"""
import argparse
import collections
import fnmatch
import os
import re
import subprocess

# A comment is what begins outside of literals. A number may have quotes between its digits.
_TOKEN = re.compile(
    r'''//[^\n]*|/\*.*?\*/|R"(?P<end>[^(\s]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\])*"|\b\d[\w'.]*|'(?:\\.|[^'\\])*'|\s+|\w+|.''', re.DOTALL
)
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)


def _git(root, *arguments):
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def code_of(text):
    """The tokens of a C++ text without its comments, and without the white space between them."""
    found = (token.group() for token in _TOKEN.finditer(text))
    return [token for token in found if not token.isspace() and not token.startswith(("//", "/*"))]


def has_other_code(root, commit, name):
    """Whether the file's code differs from that of the commit, or the commit has no such file."""
    then = subprocess.run(["git", "-C", root, "show", f"{commit}:./{name}"], capture_output=True, text=True, errors="replace", check=False)
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as now:
        return then.returncode != 0 or code_of(then.stdout) != code_of(now.read())


def files(root, patterns=(), changed=None, code=False):
    """Paths from the root of the tree, sorted; only files that are there."""
    if changed:
        names = (_git(root, "diff", "--name-only", changed) or []) + (_git(root, "ls-files", "--others", "--exclude-standard") or [])
    else:
        names = _git(root, "ls-files", "--cached", "--others", "--exclude-standard")
    if names is None or (not names and not changed):
        names = []
        for folder, below, here in os.walk(root):
            below[:] = [name for name in below if not name.startswith(("build", ".git", ".cache"))]
            names += [os.path.relpath(os.path.join(folder, name), root) for name in here]
    return sorted(
        name
        for name in set(names)
        if os.path.isfile(os.path.join(root, name))
        and (not patterns or any(fnmatch.fnmatch(os.path.basename(name), p) or name == p for p in patterns))
        and (not code or not changed or has_other_code(root, changed, name))
    )


def units(root, names):
    """The .cc files of these, and for each header the one of its name, or else one that includes it, itself or by other headers; its own folder's first."""
    includers = collections.defaultdict(list)
    for name in files(root, ["*.h", "*.cc"]):
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            for header in INCLUDE.findall(file.read()):
                includers[header].append(name)

    def unit(name):
        if not name.endswith(".h"):
            return name
        own = name.removesuffix(".h") + ".cc"
        if os.path.isfile(os.path.join(root, own)):
            return own
        found = [name]
        for header in found:
            for includer in sorted(includers[header], key=lambda other: os.path.dirname(other) != os.path.dirname(name)):
                if not includer.endswith(".h"):
                    return includer
                if includer not in found:
                    found.append(includer)
        return None

    return sorted({unit(name) for name in names} - {None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--changed")
    parser.add_argument("--code", action="store_true")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--units", action="store_true")
    given = parser.parse_intermixed_args()
    listed = files(given.root, given.patterns, given.changed, given.code)
    for found in units(given.root, listed) if given.units else listed:
        print(found)
