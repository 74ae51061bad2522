#!/usr/bin/env python3
"""Checks that includes go down only: between floors, between the rooms of device/, between engines; that workloads and tools include no engine; and that
the unit test of a header lies in the folder of tests/unit that mirrors the header's.

Usage: floors.py SOURCE_DIR [FILE...]   (all files of the tree when none is named)
Prints one line for each include that goes up or sideways, and for each test that lies elsewhere; exit code 1 when there is one.
docs/architecture.md has the picture.
"""
import os
import sys

import tree

# Each floor with those that it stands on.
FLOORS = {
    "device": set(),
    "engines": {"device"},
    "workloads": {"device", "engines"},
    "tools": {"device", "engines", "workloads"},
    "embed": {"device", "engines"},
    "bench": {"device", "engines", "workloads", "tools"},
    "tests": {"device", "engines", "workloads", "tools", "embed"},
}
# Rooms of the ground floor, from the lowest. A room may include those before it.
DEVICE = ["os", "account", "file", "log", "machine"]
# Rooms within an engine, likewise; files beside the rooms may include all of them, and no room includes such a file.
ENGINE_ROOMS = {
    "btree": ["page", "pool", "tree", "store", "inspect"],
    "fractal": ["node", "cache", "tree"],
    "mmapv1": ["files", "journal", "tree", "check"],
}
# Rooms of engines/ that are no engine: engines stand on them, and they know none.
ENGINES_COMMON = {"data_file", "sql"}
# The harness measures itself on this engine, so workloads and tools may include it.
ENGINES_KNOWN = {"null"}


def wrong(source, target):
    """Returns why `source` may not include `target`; None when it may."""
    a, b = source.split("/"), target.split("/")
    if b[0] not in FLOORS:
        return "it is not named from the root of the tree"
    if a[0] != b[0] and b[0] not in FLOORS[a[0]]:
        return f"{a[0]}/ does not stand on {b[0]}/"
    if a[0] in ("workloads", "tools") and b[0] == "engines" and len(b) > 2 and b[1] not in ENGINES_KNOWN:
        return f"{a[0]}/ knows Engine and Session, not the engine {b[1]}"
    if a[0] != b[0]:
        return None
    if a[0] == "device":
        if len(b) == 2:
            return None  # device/error.h, the ground of all rooms
        for room in (parts[1] for parts in (a, b) if len(parts) > 2):
            if room not in DEVICE:
                return f"DEVICE of tools/lint/floors.py does not say where device/{room} stands"
        if len(a) == 2 or DEVICE.index(b[1]) > DEVICE.index(a[1]):
            return f"device/{a[1]} is below device/{b[1]}"
    if a[0] == "engines" and len(b) > 2:
        if b[1] in ENGINES_COMMON:
            return None
        if len(a) == 2 or a[1] in ENGINES_COMMON:
            return "the engines' common files know no engine"
        if a[1] != b[1]:
            return f"the engine {a[1]} may not know the engine {b[1]}"
        rooms = ENGINE_ROOMS.get(a[1])
        for room in (parts[2] for parts in (a, b) if rooms and len(parts) > 3):
            if room not in rooms:
                return f"ENGINE_ROOMS of tools/lint/floors.py does not say where engines/{a[1]}/{room} stands"
        if rooms and len(a) > 3 and len(b) == 3:
            return f"engines/{a[1]}/{a[2]} is below what lies beside the rooms"
        if rooms and len(a) > 3 and rooms.index(b[2]) > rooms.index(a[2]):
            return f"engines/{a[1]}/{a[2]} is below engines/{a[1]}/{b[2]}"
    return None


def mirror(test, targets):
    """Returns the folder of tests/unit in which `test` belongs, when it has the name of a header that it includes and lies elsewhere; else None."""
    stem = os.path.basename(test).removesuffix("_test.cc")
    if not test.startswith("tests/unit/") or stem + "_test.cc" != os.path.basename(test):
        return None
    # The public headers of embed/ lie in testbed/, as they do where they are installed.
    own = [target for target in targets if os.path.basename(target) == stem + ".h" and not target.startswith("tests/")]
    folders = ["tests/unit/" + os.path.dirname(target).removesuffix("/testbed") for target in own]
    return None if os.path.dirname(test) in folders else next(iter(folders), None)


def main():
    root = sys.argv[1]
    files = sys.argv[2:] or tree.files(root, ["*.h", "*.cc"])
    bad = 0
    for name in files:
        if name.split("/")[0] not in FLOORS or not name.endswith((".h", ".cc")):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            targets = tree.INCLUDE.findall(file.read())
        for target in targets:
            reason = wrong(name, target)
            if reason is None and not os.path.exists(os.path.join(root, target)):
                reason = "there is no such file"
            if reason is not None:
                print(f"{name}: includes {target}, but {reason}")
                bad += 1
        if folder := mirror(name, targets):
            print(f"{name}: belongs in {folder}, which mirrors the folder of its header")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
