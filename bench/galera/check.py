"""Compares the tables of each node with what the clients wrote down."""
import collections

from galera import clients


class Expected:
    """The rows that the clients have written. `compare` compares the rows of a node with them."""

    def __init__(self, writers, seed, size):
        self._seed, self._size = seed, size
        self._commits = {(writer.number, commit.first): commit for writer in writers for commit in writer.commits}
        self._of_row = {(key[0], number): commit for key, commit in self._commits.items() for number in range(commit.first, commit.first + commit.rows)}
        self.acknowledged_rows = sum(commit.rows for commit in self._commits.values() if commit.state == clients.ACKNOWLEDGED)

    def compare(self, rows):
        """Compares the `rows` (client, number, value) of a node. Returns counts and examples of
        faults, and which commits that were not acknowledged are there."""
        present, seen, count, wrong, foreign = collections.Counter(), set(), 0, [], []
        for number_of_client, number, value in rows:
            number_of_client, number, count = int(number_of_client), int(number), count + 1
            commit = self._of_row.get((number_of_client, number))
            if commit is None or (number_of_client, number) in seen:  # a broken index may return a row twice
                foreign.append((number_of_client, number))
                continue
            seen.add((number_of_client, number))
            present[(commit.client, commit.first)] += 1
            if value != clients.value_of(self._seed, number_of_client, number, self._size):
                wrong.append((number_of_client, number))
        lost, torn, refused_there, unknown_there = [], [], [], set()
        for key, commit in self._commits.items():
            there = present[key]
            if 0 < there < commit.rows:
                torn.append(key)
            if commit.state == clients.ACKNOWLEDGED:
                if there < commit.rows:
                    lost.append(key)
            elif there:
                (refused_there if commit.state == clients.REFUSED_STATE else []).append(key)
                unknown_there.add(key)
        return {"rows": count, "acknowledged_rows": self.acknowledged_rows, "lost_commits": len(lost), "wrong_rows": len(wrong),
                "torn_commits": len(torn), "foreign_rows": len(foreign), "refused_commits_there": len(refused_there),
                "examples": {"lost": lost[:5], "wrong": wrong[:5], "torn": torn[:5], "foreign": foreign[:5], "refused_there": refused_there[:5]}}, unknown_there


def check_nodes(nodes, writers, seed, size):
    """Reads the whole table of each node by a connection of its own. Returns the findings of each node and the faults as sentences."""
    expected = Expected(writers, seed, size)
    found, faults, unknown = [], [], []
    for node in nodes:
        with node.connect(120) as connection:
            connection.run("SET SESSION wsrep_sync_wait = 0")
            one, there = expected.compare(connection.rows(f"SELECT client, number, value FROM {clients.TABLE} ORDER BY client, number"))
        found.append({"node": node.number + 1, **one})
        unknown.append(there)
        for what, sentence in (("lost_commits", "{} acknowledged commits are not there"), ("wrong_rows", "{} rows have another value than was written"),
                               ("torn_commits", "{} commits are there in part"), ("foreign_rows", "{} rows are there that no client wrote, or are there twice"),
                               ("refused_commits_there", "{} commits are there that the client was told had failed")):
            if one[what]:
                faults.append(f"{node.name}: " + sentence.format(one[what]))
    if any(there != unknown[0] for there in unknown):
        faults.append("the nodes differ in which commits of an unknown outcome are there")
    return found, faults, len(unknown[0]) if unknown else 0


def plant(node, kind):
    """Makes one node differ from the others, for the test of this check."""
    with node.connect() as connection:
        connection.run("SET SESSION wsrep_on = 0")
        statement = {"lost": f"DELETE FROM {clients.TABLE} ORDER BY client, number LIMIT 1",
                     "wrong": f"UPDATE {clients.TABLE} SET value = CONCAT('x', SUBSTR(value, 2)) ORDER BY client, number LIMIT 1",
                     "foreign": f"INSERT INTO {clients.TABLE} VALUES (1000000, 0, 'x')"}[kind]
        connection.run(statement)
