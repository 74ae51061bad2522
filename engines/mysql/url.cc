#include "engines/mysql/url.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "device/lower_case.h"
#include "engines/sql/addresses.h"
#include "engines/sql/server_options.h"

namespace testbed::mysql {
namespace {

constexpr char kSample[] = "mysql://user@host1:3306,host2:3306/";
constexpr char kSocketHost[] = "localhost";

// Returns whether the library would connect to the host by a Unix socket, whatever the port.
bool IsBySocket(const UrlAddress& address) {
  return address.name == kSocketHost || address.name.starts_with(std::string(kSocketHost) + ":");
}

[[noreturn]] void RefuseUrl(const std::string& why) {
  RefuseEngineOption("mysql", "connect", "URL", why);
}

// Returns what is in front of the last @ of the text; empty when it has none.
std::string UserIn(const std::string& text) {
  const size_t at = text.rfind('@');
  return at == std::string::npos ? "" : text.substr(0, at);
}

// Throws the refusal of a password. `more` follows its sentence.
[[noreturn]] void RefusePassword(const std::string& more = "") {
  throw Error(Error::kUsage,
              "mysql takes no password in --engine-option connect, which is printed and stored: "
              "put it into MYSQL_PWD or ~/.my.cnf" +
                  more);
}

// Throws when the text gives a secret by its keyword, as URLs of other clients do
// (?user=me&password=secret), whatever else is wrong with it: an experiment stores its text even if
// its cells are left out.
void RefuseSecrets(const std::string& url) {
  const std::string text = LowerCase(url);
  for (const std::string_view secret : {"password=", "passwd=", "pwd="}) {
    if (text.find(secret) != std::string::npos) RefusePassword();
  }
}

// Throws when the part before the last @ is more than the name of a user, such as a name with a
// password, or another address.
void CheckUser(const std::string& user) {
  if (user.find_first_of(":,") == std::string::npos) return;
  // Before the last @ there may be a user with a password, or a whole address with another user.
  std::string more;
  if (user.find(',') != std::string::npos) {
    more = std::string("; it takes one user, in front of all addresses, as in ") + kSample;
  }
  RefusePassword(more);
}

// Parses "host", "host:port" or "[host]:port".
UrlAddress ParseAddress(const std::string& text, UrlAddress address) {
  const bool bracket = text.starts_with('[');
  const size_t end = bracket ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string::npos) RefuseUrl("the bracket in front of an IPv6 address has no other");
  address.host = text.substr(bracket ? 1 : 0, end - (bracket ? 1 : 0));
  const std::string rest = text.substr(end + (bracket ? 1 : 0));
  if (!rest.empty()) {
    const std::string digits = rest.substr(1);
    const bool number = rest[0] == ':' && !digits.empty() && digits.size() <= 5 &&
                        digits.find_first_not_of("0123456789") == std::string::npos;
    address.port = number ? static_cast<unsigned>(std::strtoul(digits.c_str(), nullptr, 10)) : 0;
    if (address.port == 0 || address.port > 65535) {
      RefuseUrl("its port is no number from 1 to 65535");
    }
  }
  address.name = AddressName(address.host, std::to_string(address.port == 0 ? 3306 : address.port));
  if (address.port == 0 && IsBySocket(address)) address.name = kSocketHost;
  return address;
}

// Parses what follows the question mark. Returns the sockets.
std::vector<std::string> TakeSettings(const std::string& text, UrlAddress* all) {
  std::vector<std::string> sockets;
  if (text.empty()) return sockets;
  for (const std::string& setting : SplitAt(text, '&')) {
    const size_t equals = std::min(setting.find('='), setting.size());
    const std::string name = setting.substr(0, equals);
    const std::string value = setting.substr(std::min(equals + 1, setting.size()));
    if (name == "socket") {
      sockets.push_back(value);
    } else if (name == "tls" && (value == "on" || value == "off")) {
      all->tls = value == "on";
    } else {
      RefuseUrl("behind the question mark it accepts socket=PATH and tls=on");
    }
  }
  return sockets;
}

// Returns the addresses of the hosts, or that of the one host by each of the sockets.
std::vector<UrlAddress> AddressesOf(const std::vector<std::string>& hosts,
                                    const std::vector<std::string>& sockets,
                                    const UrlAddress& all) {
  std::vector<UrlAddress> addresses;
  for (const std::string& host : hosts) addresses.push_back(ParseAddress(host, all));
  if (hosts.size() > 1) {
    if (!sockets.empty()) RefuseUrl("it takes several hosts or several socket=PATH, not both");
    for (const UrlAddress& address : addresses) {
      if (address.port != 0 && IsBySocket(address)) {
        RefuseUrl(
            "localhost is a Unix socket, whatever its port; several addresses take 127.0.0.1:PORT, "
            "or one host and several socket=PATH");
      }
    }
    return addresses;
  }
  const UrlAddress first = addresses[0];
  for (size_t i = 0; i < sockets.size(); ++i) {
    UrlAddress& address = i == 0 ? addresses[0] : addresses.emplace_back(first);
    address.socket = sockets[i];
    // The library ignores a socket when the host is not this one.
    const bool here = first.host.empty() || IsBySocket(first);
    if (!here && sockets.size() > 1) RefuseUrl("several socket=PATH take the host localhost");
    if (here && (!sockets[i].empty() || sockets.size() > 1)) address.name = sockets[i];
  }
  return addresses;
}

}  // namespace

std::vector<UrlAddress> ParseUrl(const std::string& url) {
  RefuseSecrets(url);
  const size_t scheme = url.find("://");
  // An equals sign in front of any colon is that of a keyword of PostgreSQL, host=h.
  if (scheme == std::string::npos && url.find(':') < url.find('=')) CheckUser(UserIn(url));
  if (scheme == std::string::npos ||
      (url.substr(0, scheme) != "mysql" && url.substr(0, scheme) != "mariadb")) {
    RefuseUrl("it takes a URL such as mysql://user@host:3306/?tls=on");
  }
  if (HasPasswordForPort(url)) RefusePassword();
  std::string rest = url.substr(scheme + 3);
  if (rest.substr(0, rest.find('?')).find("://") != std::string::npos) {
    RefuseUrl(std::string("it takes one scheme, in front of all addresses, as in ") + kSample);
  }
  const size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string hosts = rest.substr(0, end);
  rest.erase(0, rest.substr(end, 1) == "/" ? end + 1 : end);
  UrlAddress all;
  all.user = UserIn(hosts);
  CheckUser(all.user);
  if (const size_t at = hosts.rfind('@'); at != std::string::npos) hosts.erase(0, at + 1);
  if (!rest.empty() && rest[0] != '?') {
    // A password of digits and a slash looks like a port, and the rest of it like a database.
    if (hosts.find(':') != std::string::npos) CheckUser(UserIn(hosts + rest));
    RefuseUrl(
        "it takes no database behind the host; --engine-option schema=NAME names the one that the "
        "tables are in");
  }
  const std::vector<std::string> sockets = TakeSettings(rest.empty() ? "" : rest.substr(1), &all);
  std::vector<UrlAddress> addresses = AddressesOf(SplitAt(hosts, ','), sockets, all);
  std::vector<std::string> names;
  for (const UrlAddress& address : addresses) names.push_back(address.name);
  CheckAddresses("mysql", names);
  if (addresses.size() == 1 && addresses[0].name.empty()) {
    addresses[0].name = "the place that ~/.my.cnf or the library names";
  }
  return addresses;
}

}  // namespace testbed::mysql
