// WritePages makes a MariaDB server write its dirty pages, by statements.
//
//   WritePages("innodb", ask, look, {});
//
// ChangedVariables are global variables of the server that have other values while the object
// lives. The destructor gives them back the values that they had, the last one first. It stops at
// an error without throwing: after a lost connection the next statement throws.
//
//   ChangedVariables changed("innodb", ask);
//   changed.Set("innodb_max_dirty_pages_pct", "0.001");
#ifndef TESTBED_ENGINES_SQL_MARIADB_PAGES_H_
#define TESTBED_ENGINES_SQL_MARIADB_PAGES_H_

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"

namespace testbed::mariadb {

// An Ask runs a statement on the server and returns the rows of its answer, as text.
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

  // Sets the variable. Throws Error (kRun) when the server does not tell the value that it has
  // before.
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

// A PageState is what a server tells about its log and its pages.
struct PageState {
  uint64_t log_end = 0;     // log sequence number of the log's end
  uint64_t checkpoint = 0;  // log sequence number before which all changes are in the data files
  uint64_t dirty_pages = 0;
};

// Returns the state by the numbers of InnoDB's status, whose names are without "Innodb_". A number
// that the server does not tell is 0.
PageState PageStateOf(const std::map<std::string, uint64_t>& status);

// This statement runs a checkpoint up to the end of the log.
inline constexpr char kCheckpointNow[] = "SET GLOBAL innodb_log_checkpoint_now = 1";
// If the log has not moved for this time, no session writes: a session that commits, and waits for
// its device meanwhile, moves the log on within it.
inline constexpr std::chrono::milliseconds kLogAtRest(50);
// This is long enough for a batch of the page cleaner, which has a million pages at most, and after
// which the page cleaner takes a checkpoint.
inline constexpr std::chrono::milliseconds kWritePatience(300'000);

struct PageWriting {
  bool has_statement = true;  // the server knows kCheckpointNow
  // This is how long the log must have stood still before the statement is run; 0 where no session
  // writes.
  std::chrono::milliseconds at_rest = kLogAtRest;
  std::chrono::milliseconds patience = kWritePatience;
};

// Makes the server write all pages that were changed before the call, and returns once its
// checkpoint covers these changes. When nothing is written meanwhile, no page is dirty afterwards.
//
// InnoDB ends kCheckpointNow only when the checkpoint has reached the end of the log. Each session
// that writes moves that end on, so the statement might never end. So WritePages sets variables by
// which the page cleaner keeps no dirty page, and runs the statement when no page is dirty and the
// log has stood still. Where nobody writes it runs the statement at once. The variables have their
// earlier values again when the function returns.
//
// `engine` begins the sentences of errors; `look` returns the present state. Throws Error (kRun)
// when for `patience` the checkpoint has not moved on and the dirty pages have not become fewer;
// and Stopped when the run should end while others write.
void WritePages(const std::string& engine, const Ask& ask, const std::function<PageState()>& look,
                const PageWriting& how);

}  // namespace testbed::mariadb

#endif  // TESTBED_ENGINES_SQL_MARIADB_PAGES_H_
