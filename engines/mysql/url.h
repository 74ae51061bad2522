// ParseUrl parses the URL of a server that runs already, as the option `connect` has it:
//
//   mysql://user@host:3306/?tls=on
//   mysql://user@host1:3306,host2:3306/                       several nodes of a cluster
//   mysql://user@localhost/?socket=/n1/socket&socket=/n2/socket
//
// A host is a name, an IPv4 address, or an IPv6 address in brackets. The user and tls=on hold for
// all addresses.
#ifndef TESTBED_ENGINES_MYSQL_URL_H_
#define TESTBED_ENGINES_MYSQL_URL_H_

#include <string>
#include <vector>

namespace testbed::mysql {

struct UrlAddress {
  std::string user, host, socket;  // empty: the URL does not give it
  unsigned port = 0;               // 0: the URL does not give it
  bool tls = false;
  std::string name;  // name of the address in errors and results
};

// Returns the addresses of the URL, in its order; at least one. Throws Error (kUsage) for another
// form, for a password, and when one of several addresses is empty or given twice. No sentence
// prints a part of the URL, as there may be a password in it.
std::vector<UrlAddress> ParseUrl(const std::string& url);

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_URL_H_
