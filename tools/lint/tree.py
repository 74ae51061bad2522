#!/usr/bin/env python3
"""Lists the files of the tree: what git knows and does not ignore; in a tree without git, or that git ignores as a whole, what lies outside build/.

Usage: tree.py SOURCE_DIR [--changed COMMIT [--code]] [PATTERN...]   ("*.h"; all files when none is given)

With --code the files in which only comments and white space changed are left out: what reads C++ alone says of them what it said before.
"""
import argparse
import fnmatch
import os
import re
import subprocess

# A comment is what begins outside of literals. A number may have quotes between its digits.
_TOKEN = re.compile(
    r'''//[^\n]*|/\*.*?\*/|R"(?P<end>[^(\s]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\])*"|\b\d[\w'.]*|'(?:\\.|[^'\\])*'|\s+|\w+|.''', re.DOTALL
)


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--changed")
    parser.add_argument("--code", action="store_true")
    parser.add_argument("patterns", nargs="*")
    given = parser.parse_intermixed_args()
    for found in files(given.root, given.patterns, given.changed, given.code):
        print(found)
