"""The networks between the nodes: a namespace for each node, or the loopback.

With root each node has a network namespace of its own, with one interface at a switch in another namespace. The interface counts each byte
that the node sends and receives, clients are not among them (they use Unix sockets), and pulling its cable is a partition. The namespaces
have no names: they end with this process, however it ends, and the host's own network is not touched.
"""
import os
import re
import shutil
import socket
import subprocess
import time

from galera import programs

SUBNET = "10.23.0"
PORT = 4567


class Loopback:
    """All nodes at 127.0.0.1, each with ports of its own. Counts no bytes, and knows no partition."""

    name = "loopback"
    can_cut = False

    def __init__(self, nodes):
        sockets = [socket.socket() for _ in range(3 * nodes)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
        for one in sockets:
            one.close()
        self._ports = [ports[3 * n:3 * n + 3] for n in range(nodes)]

    def address(self, node):
        return "127.0.0.1"

    def ports(self, node):
        """Returns the node's ports for the group, the incremental and the snapshot transfer."""
        return self._ports[node]

    def within(self, node):
        """Returns the words that run a command at the node when they stand before it, and the file
        descriptors that it must inherit."""
        return [], ()

    def counters(self, node):
        """Returns the bytes that the node has sent and received; None when they are not known."""
        return None

    def close(self):
        pass


class Namespaces:
    """Raises programs.Missing where the kernel or a container allows no namespace."""

    name = "namespaces"
    can_cut = True

    def __init__(self, nodes):
        if os.geteuid() != 0:
            raise programs.Missing("network namespaces take root")
        for program in ("ip", "nsenter", "unshare"):
            if shutil.which(program) is None:
                raise programs.Missing(f"there is no {program} (Debian: apt-get install iproute2 util-linux)")
        self._spaces = []
        try:
            for _ in range(nodes + 1):
                self._spaces.append(self._make())
            self._switch = self._spaces.pop()
            self._ip(self._switch, "link add switch type bridge")
            self._ip(self._switch, "link set switch up")
            for node in range(nodes):
                self._connect(node)
        except programs.Failed as error:
            self.close()
            raise programs.Missing(f"no network namespaces can be made here: {error}") from error

    def _make(self):
        """Returns a descriptor of a new network namespace, which lives as long as it."""
        own = os.stat("/proc/self/ns/net").st_ino
        holder = subprocess.Popen(["unshare", "--net", "sleep", "600"], stderr=subprocess.PIPE, text=True)
        try:
            while holder.poll() is None:
                if os.stat(f"/proc/{holder.pid}/ns/net").st_ino != own:
                    return os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
                time.sleep(0.002)
            raise programs.Failed(holder.stderr.read().strip())
        finally:
            holder.kill()
            holder.wait()
            holder.stderr.close()

    def _ip(self, space, words):
        """Runs ip in a namespace, and returns its output."""
        done = subprocess.run(["nsenter", f"--net=/proc/self/fd/{space}", "ip", *words.split()], pass_fds=tuple(self._spaces + [space]),
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise programs.Failed(f"ip {words}: {done.stderr.strip()}")
        return done.stdout

    def _connect(self, node):
        space = self._spaces[node]
        # The cable: its end at the switch is port0, port1, ...; its end at the node is eth0.
        self._ip(self._switch, f"link add port{node} type veth peer name eth0 netns /proc/self/fd/{space}")
        self._ip(self._switch, f"link set port{node} master switch up")
        self._ip(space, f"address add {self.address(node)}/24 dev eth0")
        self._ip(space, "link set lo up")
        self._ip(space, "link set eth0 up")

    def address(self, node):
        return f"{SUBNET}.{node + 1}"

    def ports(self, node):
        return PORT, PORT + 1, 4444

    def within(self, node):
        space = self._spaces[node]
        return ["nsenter", f"--net=/proc/self/fd/{space}", "--"], (space,)

    def counters(self, node):
        said = self._ip(self._spaces[node], "-s link show dev eth0")
        numbers = re.findall(r"^\s+(\d+)\s", said, re.MULTILINE)
        return {"received": int(numbers[0]), "sent": int(numbers[1])}

    def cut(self, node):
        self._ip(self._switch, f"link set port{node} down")

    def join(self, node):
        self._ip(self._switch, f"link set port{node} up")

    def close(self):
        for space in self._spaces + ([self._switch] if hasattr(self, "_switch") else []):
            os.close(space)
        self._spaces = []
        self.__dict__.pop("_switch", None)


def make(nodes, wanted):
    """Returns the network, and why it is the loopback; "" when it is not."""
    if wanted != "loopback":
        try:
            return Namespaces(nodes), ""
        except programs.Missing as error:
            if wanted == "namespaces":
                raise
            return Loopback(nodes), str(error)
    return Loopback(nodes), "asked for"
