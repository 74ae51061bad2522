"""What a node has written and read: the kernel's figures of its processes, InnoDB's counters, and the network's.

/proc/PID/io counts what a process had the block layer write (pages that it made dirty, when it made them dirty) and read. The processes of a
node are its server in all its lives, and the scripts of transfers with their rsync, which are looked at while they run. InnoDB's counters begin
at 0 in each life of the server; they are taken before its end where that is known, so a kill loses what came after the last look.
"""
import os
import threading

from galera import client

PERIOD = 0.05  # seconds between two looks at the processes
INNODB = {"Innodb_os_log_written": "redo_log", "Innodb_pages_written": "pages", "Innodb_dblwr_pages_written": "doublewrite"}
PAGE = 16384


def has_ended(pid):
    """Returns whether a child has ended, even when nobody has waited for it yet (a zombie)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def descendants(pid):
    """Returns the processes that a process has started, and those that they have."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children", encoding="utf-8") as file:
                    children = [int(word) for word in file.read().split()]
                found += children
                waiting += children
        except OSError:
            pass
    return found


def process_io(pid):
    """Returns the bytes that a process has written to and read from the block layer; None when it is gone."""
    try:
        with open(f"/proc/{pid}/io", encoding="utf-8") as file:
            values = dict(line.split(": ") for line in file.read().splitlines())
    except OSError:
        return None
    return {"written": int(values["write_bytes"]) - int(values["cancelled_write_bytes"]), "read": int(values["read_bytes"])}


class Account:
    """Sums up the figures of a node over all lives of its server. Thread-safe.

    A thread of its own looks at the processes each PERIOD, because the figures of a script are gone
    when the script has ended.
    """

    def __init__(self, node):
        self._node, self._lock = node, threading.Lock()
        self._pid, self._server, self._helpers = None, {"written": 0, "read": 0}, {}
        self._before = {"written": 0, "read": 0}  # bytes of the node's earlier processes
        self._innodb, self._innodb_before = {}, {}
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def begin(self, pid):
        with self._lock:
            self._pid = pid

    def end(self):
        """Adds the life of a server that has ended. The caller has not waited for the process
        yet, so the kernel still tells its last figures."""
        with self._lock:
            self._look()
            for key in self._before:
                self._before[key] += self._server[key]
            for name, value in self._innodb.items():
                self._innodb_before[name] = self._innodb_before.get(name, 0) + value
            self._pid, self._server, self._innodb = None, {"written": 0, "read": 0}, {}

    def _look(self):
        if self._pid is None:
            return
        self._server = process_io(self._pid) or self._server
        for child in descendants(self._pid):
            self._helpers[child] = process_io(child) or self._helpers.get(child)

    def _watch(self):
        while not self._stop.wait(PERIOD):
            with self._lock:
                self._look()

    def close(self):
        self._stop.set()
        self._watcher.join()

    def take(self):
        """Returns all figures up to now as one flat dictionary of numbers, without the unknown
        ones."""
        figures = self._counters()
        with self._lock:
            if figures is not None:
                self._innodb = {name: figures[name] for name in figures if name.startswith("innodb.")}
            all_innodb = {name: self._innodb_before.get(name, 0) + self._innodb.get(name, 0) for name in {**self._innodb, **self._innodb_before}}
            self._look()
            helpers = [one for one in self._helpers.values() if one]
            total = {"written": self._before["written"] + self._server["written"], "read": self._before["read"] + self._server["read"],
                     "transfer_written": sum(one["written"] for one in helpers), "transfer_read": sum(one["read"] for one in helpers)}
        total.update(all_innodb)
        network = self._node.network.counters(self._node.number)
        for name, value in (network or {}).items():
            total[f"network.{name}"] = value
        return total

    def _counters(self):
        """Returns the server's own counters; None when it does not answer."""
        if self._pid is None:
            return None
        try:
            with self._node.connect(1) as connection:
                status = {**connection.status("Innodb%written"), **connection.status("wsrep_re%_bytes")}
        except client.ServerError:
            return None
        found = {f"innodb.{ours}": int(status.get(theirs, 0)) * (1 if ours == "redo_log" else PAGE) for theirs, ours in INNODB.items()}
        # Each write set goes through gcache, a ring buffer in a file that Galera maps into memory.
        found["innodb.write_sets"] = int(status.get("wsrep_replicated_bytes", 0)) + int(status.get("wsrep_received_bytes", 0))
        return found


def difference(after, before):
    return {name: after[name] - before.get(name, 0) for name in after}
