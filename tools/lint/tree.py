#!/usr/bin/env python3
"""Lists the files of the tree: what git knows and does not ignore; in a tree without git, or that git ignores as a whole, what lies outside build/.

Usage: tree.py SOURCE_DIR [--changed COMMIT] [PATTERN...]   ("*.h"; all files when none is given)
"""
import argparse
import fnmatch
import os
import subprocess


def _git(root, *arguments):
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def files(root, patterns=(), changed=None):
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
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--changed")
    parser.add_argument("patterns", nargs="*")
    given = parser.parse_intermixed_args()
    for found in files(given.root, given.patterns, given.changed):
        print(found)
