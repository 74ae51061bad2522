// ChangedVariables are global variables of a MariaDB server that have other values while the object
// lives. The destructor gives them back the values that they had, the last one first. It ignores a
// lost connection, of which the next statement will tell.
//
//   ChangedVariables changed("innodb", ask);
//   changed.Set("innodb_max_dirty_pages_pct", "0.001");
#ifndef TESTBED_ENGINES_SQL_CHANGED_VARIABLES_H_
#define TESTBED_ENGINES_SQL_CHANGED_VARIABLES_H_

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"

namespace testbed::mariadb {

// Runs a statement on the server and returns the rows of its answer, as text.
using Ask = std::function<std::vector<std::vector<std::string>>(const std::string& sql)>;

// Not thread-safe.
class ChangedVariables {
 public:
  // `engine` begins the sentences of errors. `ask` must outlive the object.
  ChangedVariables(std::string engine, const Ask& ask) : engine_(std::move(engine)), ask_(ask) {}
  ~ChangedVariables() {
    for (auto it = before_.rbegin(); it != before_.rend(); ++it) {
      try {
        ask_(fmt::format("SET GLOBAL {} = {}", it->first, it->second));
      } catch (const std::exception&) {
        return;
      }
    }
  }
  ChangedVariables(const ChangedVariables&) = delete;
  ChangedVariables& operator=(const ChangedVariables&) = delete;

  // Throws Error (kRun) when the server does not tell the variable's value.
  void Set(const std::string& name, const std::string& value) {
    const auto rows = ask_(fmt::format("SELECT @@GLOBAL.{}", name));
    if (rows.empty() || rows[0].empty()) {
      throw Error(Error::kRun, engine_ + ": the server does not tell its variable " + name);
    }
    before_.emplace_back(name, rows[0][0]);
    ask_(fmt::format("SET GLOBAL {} = {}", name, value));
  }

 private:
  const std::string engine_;
  const Ask& ask_;
  std::vector<std::pair<std::string, std::string>> before_;
};

}  // namespace testbed::mariadb

#endif  // TESTBED_ENGINES_SQL_CHANGED_VARIABLES_H_
