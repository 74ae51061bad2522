"""Clients that insert rows and write down what was acknowledged, and readers that ask other nodes for it.

A row's key is (client, number) and its value follows from them, so what any row must be is known without a database. A commit has `rows` rows
with numbers that follow each other; it is *acknowledged* when the server has answered it, *refused* when the server has said that it is not
there (a deadlock, which is how Galera tells a conflict; a node that is not ready), and *unknown* when the connection was lost or its answer
took too long. No number is used again.
"""
import dataclasses
import hashlib
import random
import threading
import time

from galera import client

TABLE = "testbed_faults.t"
REFUSED = (1047, 1205, 1213)  # not ready for application use, lock wait timeout, deadlock
ACKNOWLEDGED, REFUSED_STATE, UNKNOWN = "acknowledged", "refused", "unknown"


def value_of(seed, number_of_client, number, size):
    return hashlib.shake_128(b"%d/%d/%d" % (seed, number_of_client, number)).digest(size)


def make_table(connection):
    connection.run("CREATE DATABASE testbed_faults")
    connection.run(f"CREATE TABLE {TABLE} (client INT NOT NULL, number BIGINT NOT NULL, value LONGBLOB NOT NULL, PRIMARY KEY (client, number)) ENGINE=InnoDB")


@dataclasses.dataclass
class Commit:
    client: int
    first: int
    rows: int
    state: str
    node: int
    begin: float
    end: float
    code: int = 0  # the error's code, from the server or the library; 0: none


class Writer(threading.Thread):
    """Inserts until it is told to stop. When a node fails it goes on at the next one."""

    def __init__(self, number, nodes, options, seed):
        super().__init__(daemon=True)
        self.number, self._nodes, self._options, self._seed = number, nodes, options, seed
        self.home = number % len(nodes)  # the node that it prefers
        self.commits = []  # appended to by this thread alone; others read what is there
        self.errors = {}   # number of errors by code, those of attempts to connect included
        self.fault = None
        self._told = threading.Event()
        self._connection, self._node = None, self.home

    def stop(self):
        self._told.set()

    def run(self):
        try:
            number = 0
            while not self._told.is_set():
                if self._connection is None and not self._connect():
                    continue
                begin = time.monotonic()
                self._commit(number)
                number += self._options.rows
                if self._options.rate and (wait := begin + 1 / self._options.rate - time.monotonic()) > 0:
                    self._told.wait(wait)
        except Exception as error:  # pylint: disable=broad-except
            self.fault = error  # the main thread tells it
        finally:
            self._leave()

    def _leave(self):
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self):
        """Connects to the node and returns whether that succeeded. When the node does not answer
        or is not ready, the next call tries the next node."""
        try:
            self._connection = self._nodes[self._node].connect(self._options.client_timeout)
            self._connection.run(f"SET SESSION wsrep_sync_wait = {self._options.sync_wait}")
            return True
        except client.ServerError as error:
            self._count(error)
            self._next_node()
            self._told.wait(0.05)
            return False

    def _next_node(self):
        self._leave()
        self._node = (self._node + 1) % len(self._nodes)

    def _count(self, error):
        self.errors[error.code] = self.errors.get(error.code, 0) + 1

    def _commit(self, first):
        """Inserts the rows from number `first` on, in one statement, which is one commit."""
        options = self._options
        rows = ",".join(f"({self.number},{n},x'{value_of(self._seed, self.number, n, options.value_size).hex()}')" for n in range(first, first + options.rows))
        commit = Commit(self.number, first, options.rows, UNKNOWN, self._node, time.monotonic(), 0.0)
        try:
            self._connection.run(f"INSERT INTO {TABLE} VALUES {rows}")
            commit.state = ACKNOWLEDGED
        except client.ServerError as error:
            commit.code = error.code
            commit.state = REFUSED_STATE if error.code in REFUSED else UNKNOWN
            self._count(error)
        commit.end = time.monotonic()
        self.commits.append(commit)
        if commit.state == UNKNOWN or commit.code == 1047:
            self._next_node()


class Reader(threading.Thread):
    """Asks its node for commits that were acknowledged just before, by whichever node. One that is not there yet is a stale answer."""

    PERIOD = 0.02

    def __init__(self, node, writers, options, seed):
        super().__init__(daemon=True)
        self._node, self._writers, self._options = node, writers, options
        self._random = random.Random(seed * 1000 + node.number)
        self.node = node.number
        self.answers = []  # (time, seconds after the acknowledgement, was it there)
        self.late = []     # (time of the first stale answer, seconds until it was there; None: not while the reader asked)
        self.errors = {}
        self.fault = None
        self._told = threading.Event()

    def stop(self):
        self._told.set()

    def run(self):
        connection = None
        try:
            while not self._told.wait(self.PERIOD):
                try:
                    connection = connection or self._connect()
                    self._ask(connection)
                except client.ServerError as error:
                    self.errors[error.code] = self.errors.get(error.code, 0) + 1
                    if connection is not None and (error.connection_lost or error.code not in REFUSED):
                        connection.close()
                        connection = None
        except Exception as error:  # pylint: disable=broad-except
            self.fault = error
        finally:
            if connection is not None:
                connection.close()

    def _connect(self):
        connection = self._node.connect(self._options.client_timeout)
        connection.run(f"SET SESSION wsrep_sync_wait = {self._options.sync_wait}")
        return connection

    def _ask(self, connection):
        commits = self._random.choice(self._writers).commits
        if not commits or commits[-1].state != ACKNOWLEDGED:
            return
        commit = commits[-1]
        question = f"SELECT 1 FROM {TABLE} WHERE client = {commit.client} AND number = {commit.first}"
        asked = time.monotonic()
        there = bool(connection.run(question))
        self.answers.append((asked, asked - commit.end, there))
        if there:
            return
        seconds = None
        try:
            while seconds is None and not self._told.wait(0.001):
                if connection.run(question):
                    seconds = time.monotonic() - commit.end
        finally:  # also when the node answers no more, as at a fault
            self.late.append((asked, seconds))

