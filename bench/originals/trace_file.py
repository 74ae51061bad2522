"""Reads a trace of testbed (docs/trace-format.md), with Python's standard library and Debian's zstd.

    trace = trace_file.read("a.trace")
    for operation in trace.operations: print(operation.kind, operation.client, operation.calls)
"""
import json
import struct
import subprocess
from typing import NamedTuple

CALLS = ["end", "begin", "commit", "rollback", "get", "put", "erase", "multi-get", "open-cursor", "close-cursor", "seek", "seek-for-prev",
         "first", "last", "next", "prev", "next-values", "prev-values", "value"]


class Call(NamedTuple):
    name: str
    table: str = ""  # the table of the call, or of its cursor
    key: bytes = b""
    number: int = 0  # bytes of a put's value, steps of a cursor
    keys: tuple = ()  # keys of a multi-get


class Operation(NamedTuple):
    kind: str
    client: int
    calls: list
    start_ns: int = 0  # since the phase began


class Trace(NamedTuple):
    facts: dict
    operations: list  # block by block


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def string(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at]


def unpacked(frames):
    return subprocess.run(["zstd", "-dcq"], input=frames, capture_output=True, check=True).stdout


def read_call(data, tables, cursors):
    name = CALLS[data.number()]
    if name in ("get", "put", "erase"):
        table, key = tables[data.number()], data.string()
        return Call(name, table, key, 0 if name == "erase" else data.number())
    if name == "multi-get":
        table, keys = tables[data.number()], []
        for _ in range(data.number()):
            keys.append(data.string())
            data.number()
        return Call(name, table, keys[0] if keys else b"", len(keys), tuple(keys))
    if name in ("end", "begin", "commit", "rollback"):
        return Call(name)
    cursor = data.number()
    if name == "open-cursor":
        cursors[cursor] = tables[data.number()]
    table = cursors.get(cursor, "")
    if name in ("seek", "seek-for-prev"):
        return Call(name, table, data.string())
    return Call(name, table, number=data.number() if name[:4] in ("next", "prev") else 0)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"tbtrace\n" or data[-8:] != b"tbtrend\n" or struct.unpack("<I", data[8:12])[0] != 1:
        raise ValueError(f"{path} is no whole trace of version 1")
    at, size, _ = struct.unpack("<QQQ", data[-40:-16])
    index = unpacked(data[at:at + size])
    length = struct.unpack("<Q", index[:8])[0]
    facts = json.loads(index[8:8 + length])
    tables = {table["id"]: table["name"] for table in facts["tables"]}
    entries = list(struct.iter_unpack("<QQIIII", index[8 + length:]))
    raw = unpacked(b"".join(data[offset + 40:offset + 40 + stored] for offset, _, _, _, stored, _ in entries))
    operations, cursors, begin = [], {}, 0
    for _, start_ns, client, count, _, raw_bytes in entries:
        block = Bytes(raw[begin:begin + raw_bytes])
        begin += raw_bytes
        for _ in range(count):
            start_ns += block.number()
            kind, calls = facts["kinds"][block.number()], []
            while (call := read_call(block, tables, cursors.setdefault(client, {}))).name != "end":
                calls.append(call)
            operations.append(Operation(kind, client, calls, start_ns))
    return Trace(facts, operations)
