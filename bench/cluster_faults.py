#!/usr/bin/env python3
"""Hurts a node of a Galera cluster in the middle of inserts: what clients see, what is lost, and what replication costs in bytes (docs/clusters.md).

    bench/cluster_faults.py                                        # three nodes, the last one is killed
    bench/cluster_faults.py --fault kill,pause,partition --json faults.json
    bench/cluster_faults.py --fetch build/galera                   # unpacks Debian's packages there, and installs none
    bench/cluster_faults.py --files build/galera --testbed build/release/testbed

Clients insert rows at all nodes and write down which commits were acknowledged. Then the last node is killed (SIGKILL), paused (SIGSTOP) or cut
off from the others, comes back, and gets what it lacks. At the end the whole table of each node, the hurt one included, is compared with what
the clients wrote down. Before, the same clients insert into one server without Galera, and into the whole cluster, for comparison.

The nodes are servers of this program's own: they listen on Unix sockets, and at each other in network namespaces (root) or on the loopback;
they end with it, however it ends. As root they run as the user mysql or nobody. It needs mariadbd, libmariadb.so.3, Galera's library, rsync
and the script wsrep_sst_rsync, and says what is missing.

Exit code 0 when nothing was lost, 1 when something was, or a program failed, 2 when the options are wrong, 77 when a program is missing.
"""
import argparse
import contextlib
import json
import pathlib
import re
import shutil
import signal
import sys
import tempfile

from galera import check, client, cluster, network, node, programs, report, testbed_run

SKIPPED = 77


def size(text):
    if not re.fullmatch(r"[1-9]\d{0,5}[MG]", text):
        raise argparse.ArgumentTypeError(f"{text} is no size; give a number and M or G, such as 64M")
    return text


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fault", default="kill", help=f"faults, one after the other, of {', '.join(cluster.FAULTS)}; none [kill]")
    parser.add_argument("--nodes", type=int, default=3, help="3 to 9; of two, the one that is left alone stops [3]")
    parser.add_argument("--clients", type=int, default=6, help="that insert; they are at all nodes in turn [6]")
    parser.add_argument("--rows", type=int, default=1, help="of a commit [1]")
    parser.add_argument("--value-size", type=int, default=1000, help="[1000]")
    parser.add_argument("--rate", type=float, default=0, help="commits a second of each client; 0: as many as it can [0]")
    parser.add_argument("--durability", choices=node.FLUSH, default="sync", help="the redo log is synced at each commit, or each second [sync]")
    parser.add_argument("--seconds", type=float, default=10, help="of the phases without a fault [10]")
    parser.add_argument("--lead", type=float, default=5, help="seconds before the fault [5]")
    parser.add_argument("--down", type=float, default=20, help="seconds until the node may come back [20]")
    parser.add_argument("--after", type=float, default=5, help="seconds after it has caught up [5]")
    parser.add_argument("--client-timeout", type=int, default=10, help="seconds after which a client gives a node up [10]")
    parser.add_argument("--sync-wait", type=int, default=0, help="wsrep_sync_wait of the clients: 1 has reads wait for what is committed elsewhere [0]")
    parser.add_argument("--no-readers", dest="readers", action="store_false", help="nobody asks the nodes for what others have just acknowledged")
    parser.add_argument("--no-baseline", dest="baseline", action="store_false", help="no server without Galera; replication's share is not known then")
    parser.add_argument("--pool", type=size, default="64M", help="buffer pool of a node [64M]")
    parser.add_argument("--log", type=size, default="64M", help="redo log of a node [64M]")
    parser.add_argument("--gcache", type=size, default="128M", help="write sets that a node keeps for others; who lacks more gets the whole data [128M]")
    parser.add_argument("--appliers", type=int, default=2, help="threads of a node that apply what others have committed [2]")
    parser.add_argument("--provider", action="append", default=[], metavar="NAME=VALUE", help="option of Galera, such as evs.suspect_timeout=PT2S; again for each")
    parser.add_argument("--network", choices=("auto", "namespaces", "loopback"), default="auto", help="[auto: namespaces where they can be made]")
    parser.add_argument("--seed", type=int, default=1, help="of the values [1]")
    parser.add_argument("--dir", help="where the nodes' directories are made, which are removed at the end [the directory for temporary files]")
    parser.add_argument("--keep", action="store_true", help="leaves the nodes' directories and the clients' log (clients.csv) there")
    parser.add_argument("--files", metavar="DIR", help="a directory that --fetch has filled")
    parser.add_argument("--fetch", metavar="DIR", help="downloads and unpacks Debian's packages there, and ends")
    parser.add_argument("--testbed", metavar="PROGRAM", help="the program testbed: the first fault comes once more, while it inserts at the first node in the place of the clients")
    parser.add_argument("--json", metavar="FILE", help="writes the figures there")
    parser.add_argument("--plant", choices=("lost", "wrong", "foreign"), help=argparse.SUPPRESS)  # a fault that the check must find; tests use it
    options = parser.parse_args(words)
    check_options(parser, options)
    return options


def check_options(parser, options):
    options.fault = [] if options.fault == "none" else options.fault.split(",")
    if unknown := [kind for kind in options.fault if kind not in cluster.FAULTS]:
        parser.error(f"--fault {unknown[0]} is not accepted; there are {', '.join(cluster.FAULTS)}, or none")
    for name, least, most in (("nodes", 3, 9), ("clients", 1, 200), ("rows", 1, 1000), ("value_size", 1, 100000), ("seconds", 1, 86400), ("lead", 0, 86400),
                              ("down", 0, 86400), ("after", 0, 86400), ("client_timeout", 1, 600), ("sync_wait", 0, 15), ("appliers", 1, 64), ("rate", 0, 1e6)):
        value = getattr(options, name)
        if not least <= value <= most:
            parser.error(f"--{name.replace('_', '-')} {value:g} is not accepted; give {least:g} to {most:g}")
    if wrong := [word for word in options.provider if "=" not in word or ";" in word]:
        parser.error(f"--provider {wrong[0]} is not accepted; give NAME=VALUE")
    if options.testbed and not options.fault:
        parser.error("--testbed runs beside a fault, and --fault is none; give one of " + ", ".join(cluster.FAULTS))
    if options.testbed:
        options.testbed = str(pathlib.Path(options.testbed).resolve())
        if not testbed_run.is_program(options.testbed):
            parser.error(f"--testbed {options.testbed} is no program")
    if "partition" in options.fault and options.network == "loopback":
        parser.error("--fault partition takes --network namespaces; the loopback cannot be cut")
    if options.json and not pathlib.Path(options.json).resolve().parent.is_dir():
        parser.error(f"--json {options.json} is in no directory; make it first")
    if options.dir and not pathlib.Path(options.dir).is_dir():
        parser.error(f"--dir {options.dir} is no directory; make it first")


def tell(sentence):
    print(f"cluster_faults: {sentence}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def directory_of(options, user):
    """Makes the directory of the nodes, which their user may enter."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="testbed-galera-", dir=options.dir)).resolve()
    keep = options.keep
    try:
        made.chmod(0o755)  # the nodes' own directories are their user's
        if not node.can_enter(made, user):
            raise programs.Failed(f"the servers run as {user.pw_name}, who may not enter {made}; give a --dir below directories that are open to all")
        yield made
    except (programs.Failed, client.ServerError):
        keep = options.keep or leave_messages(made)
        raise
    finally:
        if keep:
            tell(f"what the servers said is in {made}" + (", with the nodes' directories" if options.keep else ""))
        else:
            shutil.rmtree(made, ignore_errors=True)


def leave_messages(directory):
    """Removes all but the servers' messages, which tell why something failed. Returns whether there are some."""
    for path in directory.iterdir():
        if path.is_dir() and path.name != "alone":
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_dir():
            leave_messages(path)
    return any(directory.rglob("*.log"))


def alone(directory, options, its_programs, user):
    """Returns the phase of one server without Galera."""
    (directory / "alone").mkdir()
    with cluster.Cluster(directory / "alone", options, its_programs, network.Loopback(1), user, tell) as one:
        one.start_alone()
        phase = one.steady("alone")
        one.nodes[0].end()
        return phase


def run(directory, options, its_programs, its_network, user):
    """Returns the phases, the findings of the check and the versions."""
    phases = [alone(directory, options, its_programs, user)] if options.baseline else []
    with cluster.Cluster(directory, options, its_programs, its_network, user, tell) as nodes:
        start_seconds = nodes.start()
        versions = nodes.version()
        phases.append(nodes.steady("cluster"))
        for kind in options.fault:
            tell(f"{kind} of {nodes.nodes[-1].name}")
            phases.append(nodes.fault(kind))
        if options.testbed:
            tell(f"{options.fault[0]} of {nodes.nodes[-1].name} while testbed inserts")
            phases.append(nodes.fault(options.fault[0], with_testbed=True))
        if options.plant:
            check.plant(nodes.nodes[-1], options.plant)
        found, faults, unknown_there = check.check_nodes(nodes.nodes, nodes.writers, options.seed, options.value_size)
        if options.keep:
            report.write_log(directory / "clients.csv", phases)
        for one in reversed(nodes.nodes):
            one.end()
        return phases, {"nodes": found, "faults": faults, "unknown_there": unknown_there}, versions, start_seconds


def document_of(options, phases, found, versions, start_seconds, kind, why):
    told = [report.figures(phase, options.value_size) for phase in phases]
    found["unknown"] = sum(phase["clients"]["commits"]["unknown"] for phase in told if phase["name"] != "alone")
    document = {"program": "cluster_faults", "versions": versions, "network": {"kind": kind, "why": why}, "start_seconds": start_seconds,
                "settings": {name: value for name, value in vars(options).items() if name not in ("json", "fetch", "files", "dir", "keep", "testbed", "plant")},
                "phases": told, "check": found}
    by_name = {phase["name"]: phase["bytes"]["written_per_user_byte"] for phase in told}
    if by_name.get("alone") and by_name.get("cluster"):
        document["replication_share"] = 1 - by_name["alone"] / by_name["cluster"]
    return document


def main():
    options = options_of(sys.argv[1:])
    # A signal ends the program in order, and with it the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.fetch:
            programs.fetch(options.fetch)
            tell(f"unpacked; give --files {options.fetch}")
            return 0
        its_programs, user = programs.find(options.files), node.free_user()
        if options.files and not node.can_enter(pathlib.Path(options.files).resolve(), user):
            raise programs.Failed(f"the servers run as {user.pw_name}, who may not enter --files {options.files}; fetch them to a directory below those that are open to all")
        its_network, why = network.make(options.nodes, options.network)
        if "partition" in options.fault and not its_network.can_cut:
            raise programs.Missing(f"a partition takes network namespaces: {why}")
        with contextlib.closing(its_network), directory_of(options, user) as directory:
            phases, found, versions, start_seconds = run(directory, options, its_programs, its_network, user)
        document = document_of(options, phases, found, versions, start_seconds, its_network.name, why)
    except (programs.Missing, client.ClientMissing) as error:
        tell(f"cannot run: {error}")
        return SKIPPED
    except (programs.Failed, client.ServerError) as error:
        tell(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
    print(report.text(document))
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
