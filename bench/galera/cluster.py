"""Starts the nodes, lets clients insert, hurts a node in the middle, and takes the figures of each phase."""
import dataclasses
import pathlib
import time

from galera import account, client, clients, programs, testbed_run
from galera.node import Node

FAULTS = ("kill", "pause", "partition")
SETTLE = 300  # seconds for the writing of dirty pages, and for the nodes to come to the same position


@dataclasses.dataclass
class Phase:
    name: str
    begin: float = 0.0   # when the clients began
    end: float = 0.0
    before: list = dataclasses.field(default_factory=list)   # the account of each node at the begin
    nodes: list = dataclasses.field(default_factory=list)    # what each has written in it, settled
    writers: list = dataclasses.field(default_factory=list)
    readers: list = dataclasses.field(default_factory=list)
    events: dict = dataclasses.field(default_factory=dict)   # time of each, time.monotonic
    victim: int = -1     # the node that was hurt, from 0
    transfer: dict = dataclasses.field(default_factory=dict)
    testbed: dict = dataclasses.field(default_factory=dict)


class Cluster:
    """Use as a context: the servers end with it."""

    def __init__(self, directory, options, its_programs, its_network, user, tell):
        self.directory, self.options, self.programs, self.network, self.user, self.tell = pathlib.Path(directory), options, its_programs, its_network, user, tell
        self.nodes, self.writers = [], []  # writers of all phases
        self.beside = None  # testbed, while it runs

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.beside is not None:
            self.beside.kill()
        for node in reversed(self.nodes):
            try:
                node.kill()
            finally:
                node.account.close()
                node.close()
        self.nodes = []

    def _add(self, number):
        node = Node(number, self.directory, self.options, self.programs, self.network, self.user)
        self.nodes.append(node)
        return node

    def start(self):
        """Starts the cluster, one node after the other, each with the data of those before. Returns the seconds that each took."""
        seconds = []
        for number in range(self.options.nodes):
            begin = time.monotonic()
            node = self._add(number)
            node.start(self.options.nodes, bootstrap=number == 0)
            seconds.append(node.await_state("Synced") - begin)
            self.tell(f"{node.name} is a member after {seconds[-1]:.1f} s")
        with self.nodes[0].connect() as connection:
            clients.make_table(connection)
        self.settle()
        return seconds

    def start_alone(self):
        """Starts one server without Galera."""
        node = self._add(0)
        node.start()
        node.await_state("alone")
        with node.connect() as connection:
            clients.make_table(connection)
        self.settle()

    def version(self):
        with self.nodes[0].connect() as connection:
            found = {"mariadb": connection.run("SELECT version()")[0][0].decode()}
            if galera := connection.status("wsrep_provider_version").get("wsrep_provider_version"):
                found["galera"] = galera.split("(")[0]
        return found

    def settle(self):
        """Waits until all nodes have the same commits, and has them write all dirty pages."""
        deadline = time.monotonic() + SETTLE
        while len(self.nodes) > 1 and len(set(self.positions())) > 1:
            if time.monotonic() > deadline:
                raise programs.Failed(f"the nodes have not the same commits after {SETTLE} s: {self.positions()}")
            time.sleep(0.05)
        for node in self.nodes:
            with node.connect(SETTLE) as connection:
                while True:
                    connection.run("SET GLOBAL innodb_log_checkpoint_now = 1")
                    if connection.status("Innodb_buffer_pool_pages_dirty").get("Innodb_buffer_pool_pages_dirty", "0") == "0":
                        break
                    if time.monotonic() > deadline:
                        raise programs.Failed(f"{node.name} has not written its dirty pages after {SETTLE} s")

    def positions(self):
        """Returns the position and state of each node. They are equal when all nodes have all
        commits."""
        found = []
        for node in self.nodes:
            with node.connect() as connection:
                status = connection.status("wsrep_%")
            found.append((status["wsrep_last_committed"], status["wsrep_local_state_comment"], status["wsrep_cluster_status"], status["wsrep_local_recv_queue"]))
        return found

    # -- Phases -------------------------------------------------------------------------------------------------------------------

    def begin(self, name, writers=True):
        phase = Phase(name)
        phase.before = [node.account.take() for node in self.nodes]
        first = 1000 * (len({writer.number // 1000 for writer in self.writers}))
        if writers:
            phase.writers = [clients.Writer(first + n, self.nodes, self.options, self.options.seed) for n in range(self.options.clients)]
        if phase.writers and len(self.nodes) > 1 and self.options.readers:
            phase.readers = [clients.Reader(node, phase.writers, self.options, self.options.seed) for node in self.nodes]
        self.writers += phase.writers
        phase.begin = time.monotonic()
        for thread in phase.writers + phase.readers:
            thread.start()
        return phase

    def finish(self, phase):
        for thread in phase.readers + phase.writers:
            thread.stop()
        for thread in phase.readers + phase.writers:
            thread.join()
            if thread.fault is not None:
                raise thread.fault
        phase.end = time.monotonic()
        self.settle()
        phase.nodes = [account.difference(node.account.take(), before) for node, before in zip(self.nodes, phase.before)]
        return phase

    def pass_time(self, seconds, phase=None):
        """Sleeps. Raises the error of a client's thread that failed for a reason of its own."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))
            for thread in phase.writers + phase.readers if phase else []:
                if thread.fault is not None:
                    raise thread.fault

    def steady(self, name):
        phase = self.begin(name)
        self.pass_time(self.options.seconds, phase)
        return self.finish(phase)

    def fault(self, kind, with_testbed=False):
        """Hurts the last node in the middle of inserts, heals it, and goes on for a while.

        `with_testbed`: testbed inserts, and the clients do not. At its end testbed has the server
        write all dirty pages, which would not end while clients insert.
        """
        victim = self.nodes[-1]
        if with_testbed:
            self.beside = testbed_run.Beside(self.nodes[0], self.options, self.directory)
            self.settle()
        phase = self.begin(f"{kind} with testbed" if with_testbed else kind, writers=not with_testbed)
        phase.victim = victim.number
        if with_testbed:
            self.beside.begin()
        self.pass_time(self.options.lead, phase)
        victim.account.take()
        phase.events["fault"] = time.monotonic()
        getattr(self, f"_{kind}")(victim, phase)
        phase.events["synced"] = victim.await_state("Synced")
        phase.events["caught_up"] = self._await_caught_up(victim)
        phase.transfer = victim.transfer()
        self.tell(f"{kind}: {victim.name} is back after {phase.events['caught_up'] - phase.events['back']:.1f} s")
        self.pass_time(self.options.after, phase)
        if self.beside is not None:
            phase.testbed, self.beside = self.beside.figures(), None
        self.finish(phase)
        if phase.testbed:
            phase.testbed["rows"] = testbed_run.rows_alike(self.nodes)
        return phase

    def _await_caught_up(self, node):
        """Waits until the node has applied what the others had committed when it was asked."""
        others = [one for one in self.nodes if one is not node]
        with others[0].connect() as connection:
            wanted = int(connection.status("wsrep_last_committed")["wsrep_last_committed"])
        deadline = time.monotonic() + SETTLE
        while time.monotonic() < deadline:
            try:
                with node.connect() as connection:
                    if int(connection.status("wsrep_last_committed")["wsrep_last_committed"]) >= wanted:
                        return time.monotonic()
            except client.ServerError:
                pass
            time.sleep(0.02)
        raise programs.Failed(f"{node.name} has not caught up after {SETTLE} s")

    def _kill(self, victim, phase):
        victim.kill()
        self.pass_time(self.options.down, phase)
        phase.events["back"] = time.monotonic()
        position = victim.recovered()
        phase.events["recovered"] = time.monotonic()
        victim.start(self.options.nodes, position=position)

    def _pause(self, victim, phase):
        victim.mark()
        victim.pause()
        self.pass_time(self.options.down, phase)
        phase.events["back"] = time.monotonic()
        victim.proceed()
        self._await_leaving(victim)

    def _partition(self, victim, phase):
        victim.mark()
        self.network.cut(victim.number)
        self.pass_time(self.options.down, phase)
        phase.events["back"] = time.monotonic()
        self.network.join(victim.number)
        self._await_leaving(victim)

    def _await_leaving(self, victim):
        """Waits, at most 30 s, until a node knows that the others went on without it. When it
        wakes it still calls itself Synced."""
        others = [one for one in self.nodes if one is not victim]
        with others[0].connect() as connection:
            size = int(connection.status("wsrep_cluster_size")["wsrep_cluster_size"])
        if size == len(self.nodes):
            return  # it was not away for long enough, and is a member still
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self._member_count(victim) == len(self.nodes):
            time.sleep(0.005)

    @staticmethod
    def _member_count(node):
        try:
            with node.connect(2) as connection:
                status = connection.status("wsrep_cluster_%")
            return int(status["wsrep_cluster_size"]) if status["wsrep_cluster_status"] == "Primary" else 0
        except client.ServerError:
            return 0
