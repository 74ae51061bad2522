// A Target is what the option `connect` names: a server that runs already, or one of several nodes
// that hold the same tables.
//
//   postgresql://user@host:5432/database
//   postgresql://user@primary:5432,replica:5432/database
//   host=/n1,/n2 user=me dbname=test
//
// libpq takes several hosts, too, and connects to the first that answers. Here each host is an
// address of its own, and a connection to one never goes on to another: otherwise a run could
// measure a server other than the one that it names. libpq alone handles hosts that come from
// PGHOST or a service file.
#ifndef TESTBED_ENGINES_POSTGRES_TARGET_H_
#define TESTBED_ENGINES_POSTGRES_TARGET_H_

#include <string>
#include <vector>

namespace testbed::postgres {

struct Target {
  std::string conninfo;  // URL or keywords, as libpq takes them, with one host at most
  std::string name;      // name of the address in errors and results
};

// Returns the addresses, in the order of the hosts; at least one. Throws Error (kUsage) for a text
// that libpq does not understand, for a password or another secret, and when one of several
// addresses is empty or given twice. No sentence quotes a part of `connect`, because it may hold a
// password.
std::vector<Target> ParseTargets(const std::string& connect);

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_TARGET_H_
