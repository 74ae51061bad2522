"""A node of the cluster: a mariadbd of this program's own, which ends with it, however it ends."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from galera import account, client, programs

STORAGE = ["--innodb-page-size=16384", "--innodb-flush-method=O_DIRECT", "--innodb-stats-persistent=0", "--innodb-autoinc-lock-mode=2",
           "--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0", "--loose-innodb-change-buffering=none"]
SERVER = ["--skip-grant-tables", "--skip-networking=1", "--skip-log-bin", "--binlog-format=ROW", "--binlog-annotate-row-events=0", "--skip-name-resolve=1", "--performance-schema=0",
          "--thread-handling=one-thread-per-connection", "--max-connections=300", "--sql-mode=STRICT_ALL_TABLES", "--transaction-isolation=READ-COMMITTED"]
FLUSH = {"sync": 1, "lazy": 2}
PATIENCE = 400  # seconds for a start, a transfer of data or an end: a busy machine takes its time


class Node:
    """One server of the cluster, with its data and its log. Not thread-safe except for `connect`.

    The kernel kills the server when the thread that started it ends (setpriv --pdeathsig), so the
    main thread starts all servers.
    """

    def __init__(self, number, directory, options, its_programs, its_network, user):
        """`number` counts from 0. The server runs as `user`; None: as this program's user."""
        self.number, self.options, self.programs, self.network, self.user = number, options, its_programs, its_network, user
        self.name = f"node{number + 1}"
        self.data = pathlib.Path(directory) / self.name
        self.log = pathlib.Path(directory) / f"{self.name}.log"
        self.data.mkdir(mode=0o700)
        # Galera keeps its tables in this schema, which --skip-grant-tables leaves unmade.
        (self.data / "mysql").mkdir(mode=0o700)
        self._folder = os.open(self.data, os.O_PATH | os.O_DIRECTORY)
        if user:
            for path in (self.data, self.data / "mysql"):
                os.chown(path, user.pw_uid, user.pw_gid)
        self.process = None
        self.account = account.Account(self)
        self._watch_from = 0  # where this start's messages begin in the log

    # -- Start and end ------------------------------------------------------------------------------------------------------------

    def _words(self, more):
        fixed = ["--no-defaults", f"--datadir={self.data}", f"--tmpdir={self.data}", "--socket=mysqld.sock", "--pid-file=server.pid",
                 f"--innodb-buffer-pool-size={self.options.pool}", f"--innodb-log-file-size={self.options.log}",
                 f"--innodb-flush-log-at-trx-commit={FLUSH[self.options.durability]}"]
        as_user = ["setpriv", "--pdeathsig", "KILL"]
        if self.user:
            as_user += [f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups"]
        within, self._descriptors = self.network.within(self.number)
        return [*within, *as_user, "--", self.programs.server, *fixed, *STORAGE, *SERVER, *more]

    def _cluster_words(self, nodes):
        group, incremental, snapshot = self.network.ports(self.number)
        address = self.network.address(self.number)
        every = ",".join(f"{self.network.address(n)}:{self.network.ports(n)[0]}" for n in range(nodes))
        provider = {"gmcast.listen_addr": f"tcp://{address}:{group}", "ist.recv_addr": f"{address}:{incremental}", "gcache.size": self.options.gcache}
        provider.update(word.split("=", 1) for word in self.options.provider)
        return ["--wsrep-on=ON", f"--wsrep-provider={self.programs.provider}", "--wsrep-cluster-name=testbed", f"--wsrep-node-name={self.name}",
                f"--wsrep-node-address={address}:{group}", "--wsrep-sst-method=rsync", f"--wsrep-sst-receive-address={address}:{snapshot}",
                f"--wsrep-slave-threads={self.options.appliers}", f"--wsrep-cluster-address=gcomm://{every}",
                "--wsrep-provider-options=" + ";".join(f"{name}={value}" for name, value in provider.items())]

    def _popen(self, words, output):
        environment = {**os.environ, "PATH": self.programs.path}
        if self.programs.libraries:
            environment["LD_LIBRARY_PATH"] = self.programs.libraries
        # The server has a session of its own, so that Ctrl-C reaches this program alone, which then
        # ends the servers.
        return subprocess.Popen(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=self.data, env=environment,
                                pass_fds=self._descriptors, start_new_session=True)

    def start(self, nodes=0, bootstrap=False, position=None):
        """Starts the server and does not wait for it: as a member of a cluster of `nodes`, or,
        with 0, alone. With `bootstrap` it makes the cluster. `position` is what `recovered`
        returned."""
        more = self._cluster_words(nodes) if nodes else ["--wsrep-on=OFF"]
        if bootstrap:
            more.append("--wsrep-new-cluster")
        if position:
            more.append(f"--wsrep-start-position={position}")
        (self.data / "mysqld.sock").unlink(missing_ok=True)
        self._watch_from = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as output:
            self.process = self._popen(self._words(more), output)
        self.account.begin(self.process.pid)

    def recovered(self):
        """Lets InnoDB recover after a kill and returns the position that the node's data have, UUID:NUMBER."""
        words = self._words([*self._cluster_words(self.number + 1), "--wsrep-recover", "--disable-log-error"])
        file = self.data.with_suffix(".recovery")
        with open(file, "wb") as output:
            process = self._popen(words, output)
            self.account.begin(process.pid)
            deadline = time.monotonic() + PATIENCE
            while not account.has_ended(process.pid):
                if time.monotonic() > deadline:
                    process.kill()
                time.sleep(0.005)
            self.account.end()
            process.wait()
        found = re.findall(r"WSREP: Recovered position:\s*(\S+)", file.read_text(errors="replace"))
        if not found:
            raise programs.Failed(f"{self.name} did not recover; {file} has its messages")
        return found[-1]

    def running(self):
        return self.process is not None and not account.has_ended(self.process.pid)

    def kill(self):
        """Kills the server and what it has started."""
        if self.process is None:
            return
        self.account.take()
        self._signal(signal.SIGKILL)
        self._reap()

    def end(self):
        """Ends the server in order."""
        if self.process is None:
            return
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.02)
        self._signal(signal.SIGKILL)
        self._reap()

    def _signal(self, number):
        """Sends a signal to the server. SIGKILL also goes to each process that it has started,
        because its scripts for transfers may be in process groups of their own."""
        children = account.descendants(self.process.pid) if number == signal.SIGKILL else []
        for pid in [self.process.pid, *children]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def _reap(self):
        while not account.has_ended(self.process.pid):
            time.sleep(0.001)
        self.account.end()
        self.process.wait()
        self.process = None

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def proceed(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def close(self):
        os.close(self._folder)

    # -- What it says -------------------------------------------------------------------------------------------------------------

    @property
    def socket(self):
        # A socket's path has at most 107 bytes. The path through the descriptor is short.
        return f"/proc/{os.getpid()}/fd/{self._folder}/mysqld.sock"

    def connect(self, timeout=10.0):
        return client.Connection(self.socket, timeout)

    def mark(self):
        """Lets `said` begin here."""
        self._watch_from = self.log.stat().st_size

    def said(self):
        """Returns the messages since the last start or `mark`."""
        with open(self.log, "rb") as file:
            file.seek(self._watch_from)
            return file.read().decode(errors="replace")

    def complaint(self):
        """Returns the first error of this start, for a sentence."""
        found = re.findall(r"\[ERROR\] (.*)", self.said())
        return found[0][:300] if found else f"it did not say why, see {self.log}"

    def state(self):
        """Returns the state in the group, such as Synced; None while it does not answer."""
        try:
            with self.connect(2) as connection:
                return connection.status("wsrep_local_state_comment").get("wsrep_local_state_comment") or "alone"
        except client.ServerError:
            return None

    def await_state(self, wanted, seconds=PATIENCE):
        """Waits for a state, and returns when it came (time.monotonic); raises Failed when the server ends or takes longer."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self.running():
                raise programs.Failed(f"{self.name} ended while it started: {self.complaint()}")
            if (self.data / "mysqld.sock").exists() and self.state() == wanted:
                return time.monotonic()
            time.sleep(0.02)
        raise programs.Failed(f"{self.name} was not {wanted} within {seconds:.0f} s: {self.complaint()}")

    def transfer(self):
        """Returns how the node got what it lacked since its last start: {"snapshot": bool, "increments": number of write sets}."""
        said = self.said()
        increments = re.findall(r"Receiving IST\.\.\. ?100\.0% \((\d+)/\d+ events\) complete", said)
        return {"snapshot": "rsync SST completed on joiner" in said and "SST received" in said,
                "increments": sum(map(int, increments))}


def free_user():
    """Returns the user that servers run as: None for this one, unless it is root, as which rsync transfers nothing."""
    if os.geteuid() != 0:
        return None
    import pwd
    for name in ("mysql", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    raise programs.Missing("servers may not run as root, and this machine has neither a user mysql nor nobody")


def can_enter(directory, user):
    """Returns whether the user may enter a directory."""
    if user is None:
        return True
    words = [shutil.which("setpriv") or "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--", "test", "-x", str(directory)]
    return subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode == 0
