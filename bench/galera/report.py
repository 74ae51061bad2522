"""Makes figures of phases, and a text and a document of the figures."""
import math

from galera import clients, testbed_run

KEY_BYTES = 12  # INT and BIGINT
CAUSES = (("redo_log", "redo log"), ("pages", "pages"), ("doublewrite", "doublewrite"), ("write_sets", "gcache"))
# The redo log is counted without the rest of the 4 KiB blocks that a sync writes; that and the file system's own files are the rest.
SHOWN = CAUSES + (("rest", "rest"),)


def percentile(ordered, share):
    """Returns the percentile `share` of an ordered list by nearest rank; None when it is empty."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def longest_gap(times, begin, end):
    """Returns (length, begin) of the longest time without one of the times."""
    inside = [begin, *sorted(time for time in times if begin < time < end), end]
    return max((b - a, a) for a, b in zip(inside, inside[1:]))


def rate(times, begin, end):
    return sum(begin <= time < end for time in times) / (end - begin) if end > begin else None


def clients_of(phase):
    """Returns the figures of the phase's writers: commits, latencies, errors and rates."""
    commits = [commit for writer in phase.writers for commit in writer.commits]
    done = [commit for commit in commits if commit.state == clients.ACKNOWLEDGED]
    latencies = sorted(1000 * (commit.end - commit.begin) for commit in done)
    errors = {}
    for thread in phase.writers:
        for code, count in thread.errors.items():
            errors[str(code)] = errors.get(str(code), 0) + count
    times = [commit.end for commit in done]
    return {"seconds": phase.end - phase.begin, "commits": {state: sum(commit.state == state for commit in commits) for state in
                                                            (clients.ACKNOWLEDGED, clients.REFUSED_STATE, clients.UNKNOWN)},
            "rows_acknowledged": sum(commit.rows for commit in done), "commits_per_second": len(done) / (phase.end - phase.begin),
            "latency_ms": {"p50": percentile(latencies, 0.5), "p99": percentile(latencies, 0.99), "max": latencies[-1] if latencies else None},
            "errors": errors, "commits_in_each_tenth_of_a_second": histogram(times, phase.begin, phase.end)}


def histogram(times, begin, end):
    counts = [0] * max(1, math.ceil((end - begin) * 10))
    for time in times:
        counts[min(len(counts) - 1, int((time - begin) * 10))] += 1
    return counts


def stalls_of(phase):
    """Returns the longest times without an acknowledged commit from the fault on, of all clients
    together, of one client of the other nodes and of one of the victim, and the commit rates."""
    begin = phase.events["fault"]
    by_home = {False: [], True: []}
    every = []
    for writer in phase.writers:
        times = [commit.end for commit in writer.commits if commit.state == clients.ACKNOWLEDGED]
        every += times
        by_home[writer.home == phase.victim].append(longest_gap(times, begin, phase.end)[0])
    length, at = longest_gap(every, begin, phase.end)
    back = phase.events["back"]
    return {"all_clients_seconds": length, "all_clients_begin_after_fault_seconds": at - begin,
            "client_of_other_nodes_seconds": max(by_home[False], default=None), "client_of_victim_seconds": max(by_home[True], default=None),
            "commits_per_second_before": rate(every, phase.begin, begin), "commits_per_second_while_away": rate(every, begin, back),
            "commits_per_second_while_it_returns": rate(every, back, phase.events["caught_up"]),
            "commits_per_second_after": rate(every, phase.events["caught_up"], phase.end)}


def reads_of(phase):
    found = []
    for reader in phase.readers:
        late = [seconds for _, seconds in reader.late if seconds is not None]
        found.append({"node": reader.node + 1, "answers": len(reader.answers), "stale": sum(not there for _, _, there in reader.answers),
                      "longest_stale_ms": 1000 * max(late) if late else None, "never_there_while_asked": sum(seconds is None for _, seconds in reader.late),
                      "errors": {str(code): count for code, count in reader.errors.items()}})
    return found


def bytes_of(phase, rows, value_size):
    """Returns the bytes that each node has written, by cause, and the bytes that went over the
    network, each also for a byte of the user."""
    user = rows * (KEY_BYTES + value_size) + phase.testbed.get("user_bytes_written", 0)
    nodes = []
    for number, figures in enumerate(phase.nodes, 1):
        causes = {ours: figures.get(f"innodb.{ours}", 0) for ours, _ in CAUSES}
        one = {"node": number, "written": figures["written"], "read": figures["read"], "by_cause": {**causes, "rest": figures["written"] - sum(causes.values())},
               "transfer_written": figures["transfer_written"], "transfer_read": figures["transfer_read"]}
        if "network.sent" in figures:
            one["network"] = {"sent": figures["network.sent"], "received": figures["network.received"]}
        nodes.append(one)
    written = sum(one["written"] + one["transfer_written"] for one in nodes)
    sent = sum(one["network"]["sent"] for one in nodes) if all("network" in one for one in nodes) else None
    return {"user": user, "nodes": nodes, "written": written, "written_per_user_byte": written / user if user else None,
            "network_sent": sent, "network_per_user_byte": sent / user if user and sent is not None else None}


def figures(phase, value_size):
    told = {"name": phase.name, "clients": clients_of(phase)}
    told["bytes"] = bytes_of(phase, told["clients"]["rows_acknowledged"], value_size)
    told["reads"] = reads_of(phase)
    if phase.events:
        fault = phase.events["fault"]
        told["fault"] = {"victim": phase.victim + 1, "stalls": stalls_of(phase) if phase.writers else None, "transfer": phase.transfer,
                         "seconds_after_fault": {name: time - fault for name, time in phase.events.items()},
                         "recovery_seconds": phase.events["caught_up"] - phase.events["back"]}
    if phase.testbed:
        told["testbed"] = phase.testbed
    return told


def write_log(path, phases):
    """Writes each commit that a client began as a line: the record of what was acknowledged, to be looked at."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("phase,client,first,rows,state,node,begin_seconds,end_seconds,code\n")
        for phase in phases:
            for c in (commit for writer in phase.writers for commit in writer.commits):
                file.write(f"{phase.name},{c.client},{c.first},{c.rows},{c.state},{c.node + 1},{c.begin - phase.begin:.6f},{c.end - phase.begin:.6f},{c.code}\n")


# -- Text -------------------------------------------------------------------------------------------------------------------------------


def number(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def ratio(value, user):
    return number(value / user, 2) if user and value is not None else "-"


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))) for row in rows)


def phases_table(phases):
    rows = [("phase", "commits/s", "p50 ms", "p99 ms", "max ms", "refused", "unknown", "written/user byte", "sent/user byte")]
    for phase in phases:
        its, latency = phase["clients"], phase["clients"]["latency_ms"]
        rows.append((phase["name"], number(its["commits_per_second"] or None, 0), number(latency["p50"], 2), number(latency["p99"], 2), number(latency["max"], 0),
                     str(its["commits"]["refused"]), str(its["commits"]["unknown"]), number(phase["bytes"]["written_per_user_byte"], 2),
                     number(phase["bytes"]["network_per_user_byte"], 2)))
    return table(rows)


def nodes_table(phases):
    rows = [("bytes for a byte of the user", "written", *(name for _, name in SHOWN), "transfer", "read", "sent", "received")]
    for phase in phases:
        user = phase["bytes"]["user"]
        for one in phase["bytes"]["nodes"]:
            network = one.get("network", {})
            rows.append((f"{phase['name']}, node{one['node']}", ratio(one["written"], user), *(ratio(one["by_cause"][ours], user) for ours, _ in SHOWN),
                         ratio(one["transfer_written"], user), ratio(one["read"], user), ratio(network.get("sent"), user), ratio(network.get("received"), user)))
    return table(rows)


def stall_lines(phase, its):
    return [f"  stall: no client had a commit for {its['all_clients_seconds']:.2f} s, from {its['all_clients_begin_after_fault_seconds']:.2f} s after the fault; "
            f"one client of another node {number(its['client_of_other_nodes_seconds'], 2)} s, one of node{phase['fault']['victim']} {number(its['client_of_victim_seconds'], 2)} s",
            f"  commits/s: {number(its['commits_per_second_before'], 0)} before, {number(its['commits_per_second_while_away'], 0)} while it was away, "
            f"{number(its['commits_per_second_while_it_returns'], 0)} while it came back, {number(its['commits_per_second_after'], 0)} after",
            "  errors of clients: " + (", ".join(f"{count} of {code}" for code, count in sorted(phase["clients"]["errors"].items())) or "none")]


def fault_lines(phase):
    fault = phase["fault"]
    after, transfer = fault["seconds_after_fault"], fault["transfer"]
    how = "the whole data, by rsync" if transfer["snapshot"] else f"{transfer['increments']} write sets, from another node's gcache" if transfer["increments"] else "nothing: it was a member still"
    recovered = f", of which its own recovery took {after['recovered'] - after['back']:.1f} s" if "recovered" in after else ""
    lines = [f"{phase['name']} of node{fault['victim']}:", *(stall_lines(phase, fault["stalls"]) if fault["stalls"] else []),
             f"  back after {after['back']:.1f} s, had caught up {fault['recovery_seconds']:.1f} s later{recovered}; it took {how}"]
    for reads in phase["reads"]:
        lines.append(f"  reads at node{reads['node']}: {reads['answers']} answers, {reads['stale']} stale" +
                     (f" (up to {reads['longest_stale_ms']:.0f} ms)" if reads["longest_stale_ms"] is not None else "") +
                     (f", {reads['never_there_while_asked']} of them until the node answered no more or the phase ended" if reads["never_there_while_asked"] else "") +
                     (", errors " + ", ".join(f"{count} of {code}" for code, count in reads["errors"].items()) if reads["errors"] else ""))
    if ours := phase.get("testbed"):
        lines.insert(1, "  " + testbed_run.line(ours))
    return lines


def text(document):
    settings, versions = document["settings"], document["versions"]
    lines = [f"Galera {versions.get('galera', '?')} in MariaDB {versions['mariadb']}: {settings['nodes']} nodes, {settings['clients']} clients, commits of {settings['rows']} "
             f"rows of {settings['value_size']} bytes, durability {settings['durability']}, network: {document['network']['kind']}" +
             (f" ({document['network']['why']}: no bytes of it, no partition)" if document["network"]["kind"] == "loopback" else ""), "",
             phases_table(document["phases"]), "", nodes_table(document["phases"])]
    share = document.get("replication_share")
    if share is not None:
        alone, together = (next(phase["bytes"]["written_per_user_byte"] for phase in document["phases"] if phase["name"] == name) for name in ("alone", "cluster"))
        lines += ["", f"replication's share: of the {together:.1f} bytes that {settings['nodes']} nodes write for a byte of the user, {100 * share:.0f} % are more than the "
                  f"{alone:.1f} of one server without Galera"]
    for phase in document["phases"]:
        if "fault" in phase:
            lines += ["", *fault_lines(phase)]
    lines.append("")
    for one in document["check"]["nodes"]:
        lines.append(f"node{one['node']}: {one['rows']} rows, of {one['acknowledged_rows']} acknowledged {one['lost_commits']} commits lost, {one['wrong_rows']} rows wrong, "
                     f"{one['torn_commits']} commits torn, {one['foreign_rows']} rows foreign, {one['refused_commits_there']} refused commits there")
    lines.append(f"commits of an unknown outcome: {document['check']['unknown']}, of which {document['check']['unknown_there']} are there, on all nodes alike"
                 if not document["check"]["faults"] else "")
    lines += [f"! {fault}" for fault in document["check"]["faults"]] or ["no acknowledged row was lost"]
    return "\n".join(lines)
