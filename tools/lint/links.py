#!/usr/bin/env python3
"""Checks that what the documents point at is there: links to files and headings, and paths of the tree in `code`.

Usage: links.py SOURCE_DIR [FILE...]   (all .md files of the tree when none is named)
Prints one line for each that is not; exit code 1 when there is one.
"""
import os
import re
import sys

import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# `device/log/log.cc`, `tools/test.sh --all`: paths from the root of the tree, to a file or a folder.
PATH = re.compile(r"(?<![\w/.-])((?:bench|cmake|device|docs|embed|engines|examples|\.github|python|tests|third_party|tools|workloads)/[\w./-]*[\w/])")


def headings(text):
    """The anchors of a page's headings, as forges make them."""
    fences = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for title in re.findall(r"^#+ +(.*)$", fences, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", title.lower())
        yield plain.replace(" ", "-")


def main():
    root = os.path.abspath(sys.argv[1])
    tracked = set(tree.files(root))
    folders = {"/".join(name.split("/")[:i]) for name in tracked for i in range(1, name.count("/") + 1)}
    pages = sys.argv[2:] or sorted(name for name in tracked if name.endswith(".md"))
    bad = 0
    for page in pages:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        wrong = []
        for link in LINK.findall(text):
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            path = os.path.normpath(os.path.join(root, os.path.dirname(page), target)) if target else os.path.join(root, page)
            if not os.path.exists(path):
                wrong.append(f"links to {link}, which is not there")
            elif anchor and path.endswith(".md"):
                with open(path, encoding="utf-8") as file:
                    if anchor not in headings(file.read()):
                        wrong.append(f"links to {link}, a heading that is not there")
        for path in PATH.findall(re.sub(r"\]\([^)\s]+\)", "]", text)):  # a link's target begins at the page's folder
            plain = path.rstrip("/.")
            if "NAME" in plain or plain in tracked or plain in folders:
                continue
            if "/" not in plain or any(name.startswith(plain + ".") for name in tracked):
                continue  # a module, named without its ending
            wrong.append(f"names {path}, which is not in the tree")
        for reason in dict.fromkeys(wrong):
            print(f"{page}: {reason}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
