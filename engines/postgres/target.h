// What the option `connect` names: a server that runs already, or several nodes that hold the same
// tables.
//
//   postgresql://user@host:5432/database
//   postgresql://user@primary:5432,replica:5432/database
//   host=/n1,/n2 user=me dbname=test
//
// libpq takes several hosts, too, and connects to the first that answers. Here each of them is an
// address of its own, and a connection to one never goes on to another: a run would measure a
// server that it does not name. Hosts that come from PGHOST or a service file are left to libpq.
#ifndef TESTBED_ENGINES_POSTGRES_TARGET_H_
#define TESTBED_ENGINES_POSTGRES_TARGET_H_

#include <string>
#include <vector>

namespace testbed::postgres {

struct Target {
  std::string conninfo;  // URL or keywords, as libpq takes them, with one host at most
  std::string name;      // of the address, as errors and results have it
};

// Returns the addresses, in the order of the hosts; at least one. Throws Error (kUsage) for what
// libpq does not understand, for a password, and when one of several addresses is empty or there
// twice. No sentence prints a part of `connect`, as there may be a password in it.
std::vector<Target> ParseTargets(const std::string& connect);

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_TARGET_H_
