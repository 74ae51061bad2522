#include "engines/postgres/target.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "engines/postgres/library.h"
#include "engines/sql/addresses.h"
#include "engines/sql/server_options.h"

namespace testbed::postgres {
namespace {

using Keywords = std::map<std::string, std::string>;

[[noreturn]] void RefuseConnect(const std::string& why) {
  RefuseEngineOption("postgres", "connect", "URL", why);
}

// A password is refused, because it would be printed and stored with the options of the run.
[[noreturn]] void RefusePassword() {
  throw Error(Error::kUsage,
              "postgres takes no password in --engine-option connect, which is printed and "
              "stored: put it into PGPASSWORD or ~/.pgpass");
}

// Returns the text with the byte that each %XX stands for in its place.
std::string Decoded(const std::string& text) {
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string hex = text[at] == '%' ? text.substr(at + 1, 2) : "";
    if (hex.size() == 2 && hex.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
      decoded += static_cast<char>(std::strtoul(hex.c_str(), nullptr, 16));
      at += 2;
    } else {
      decoded += text[at];
    }
  }
  return decoded;
}

// Throws when the text gives a secret by its keyword. It also searches a text that libpq refuses:
// an older library lacks some of the keywords, and an experiment stores its text even if its cells
// are left out.
void RefuseSecrets(const std::string& connect) {
  // The keyword sslpassword ends with the keyword password.
  static constexpr std::string_view kPassword = "password";
  static constexpr std::string_view kSecrets[] = {kPassword, "oauth_client_secret",
                                                  "scram_client_key", "scram_server_key"};
  const std::string text = Decoded(connect);
  for (const std::string_view secret : kSecrets) {
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 1)) {
      const size_t next = text.find_first_not_of(" \t\n\r\f\v", at + secret.size());
      if (next == std::string::npos || text[next] != '=') continue;
      if (secret == kPassword) RefusePassword();
      throw Error(Error::kUsage,
                  fmt::format("postgres takes no password and no {} in --engine-option connect, "
                              "which is printed and stored: put it into a service file "
                              "(~/.pg_service.conf)",
                              secret));
    }
  }
}

// Returns the keywords of the text with their values, as libpq parses them.
Keywords Parse(const std::string& connect) {
  RefuseSecrets(connect);
  const bool is_url = connect.starts_with("postgresql://") || connect.starts_with("postgres://");
  if (is_url && HasPasswordForPort(connect)) RefusePassword();
  PQconninfoOption* const options = LoadLibpq().PQconninfoParse(connect.c_str(), nullptr);
  if (options == nullptr || (!is_url && connect.find('=') == std::string::npos)) {
    if (options != nullptr) LoadLibpq().PQconninfoFree(options);
    RefuseConnect("it takes a URL such as postgresql://user@host:5432/database");
  }
  Keywords given;
  for (const PQconninfoOption* o = options; o->keyword != nullptr; ++o) {
    if (o->val != nullptr) given[o->keyword] = o->val;
  }
  LoadLibpq().PQconninfoFree(options);
  if (given.contains("password")) RefusePassword();  // the one in user:password@host
  // In a list of URLs such as postgresql://h1,postgresql://h2/, libpq would take the rest for the
  // name of a database.
  const size_t from = connect.find("://");
  if (is_url &&
      connect.substr(from + 3, connect.find('?') - from - 3).find("://") != std::string::npos) {
    RefuseConnect(
        "it takes one scheme, in front of all addresses, as in "
        "postgresql://user@host1:5432,host2:5432/database");
  }
  return given;
}

// Returns the keywords and values as one text that libpq can read.
std::string TextOf(const Keywords& keywords) {
  std::string text;
  for (const auto& [keyword, value] : keywords) {
    text += text.empty() ? keyword + "='" : " " + keyword + "='";
    for (const char c : value) {
      if (c == '\\' || c == '\'') text += '\\';
      text += c;
    }
    text += '\'';
  }
  return text;
}

std::vector<std::string> ListOf(const Keywords& keywords, const std::string& keyword) {
  const auto found = keywords.find(keyword);
  return found == keywords.end() ? std::vector<std::string>() : SplitAt(found->second, ',');
}

// Returns the i-th part of a list. If the list has one part, that is the i-th part for every i. An
// empty list has the part "".
std::string PartOf(const std::vector<std::string>& list, size_t i) {
  return list.empty() ? "" : list[list.size() == 1 ? 0 : i];
}

}  // namespace

std::vector<Target> ParseTargets(const std::string& connect) {
  const Keywords given = Parse(connect);
  const std::vector<std::string> hosts = ListOf(given, "host"), numbers = ListOf(given, "hostaddr"),
                                 ports = ListOf(given, "port");
  const size_t count = numbers.empty() ? hosts.size() : numbers.size();
  const auto name_of = [&](size_t i) {
    const std::string host = PartOf(hosts, i), port = PartOf(ports, i);
    return AddressName(host.empty() ? PartOf(numbers, i) : host, port.empty() ? "5432" : port);
  };
  if (count <= 1) {
    const std::string name = name_of(0);
    return {Target{connect, name.empty() ? "the place that PGHOST or libpq names" : name}};
  }
  if ((!hosts.empty() && hosts.size() != count) || (ports.size() > 1 && ports.size() != count)) {
    RefuseConnect("it takes as many of host, hostaddr and port, or one port for all hosts");
  }
  std::vector<Target> targets;
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    Keywords one = given;
    if (!hosts.empty()) one["host"] = hosts[i];
    if (!numbers.empty()) one["hostaddr"] = numbers[i];
    if (!ports.empty()) one["port"] = PartOf(ports, i);
    targets.push_back({TextOf(one), name_of(i)});
    names.push_back(targets.back().name);
  }
  CheckAddresses("postgres", names);
  return targets;
}

}  // namespace testbed::postgres
