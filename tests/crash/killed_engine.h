// An engine that commits until it is killed. A transaction puts two rows into two tables, advances
// a counter and now and then erases an older row. The counter alone tells which rows must be found
// afterwards.
#ifndef TESTBED_TESTS_CRASH_KILLED_ENGINE_H_
#define TESTBED_TESTS_CRASH_KILLED_ENGINE_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "engines/registry.h"
#include "tests/crash/killed_child.h"

namespace testbed {

class KilledEngine {
 public:
  explicit KilledEngine(const std::string& engine)
      : options(DefaultEngineOptions(FindEngine(engine))), engine_(engine) {
    // Not under /tmp, which may be a tmpfs without direct IO.
    std::string pattern = std::filesystem::current_path() / (engine + "_crash_XXXXXX");
    dir_ = ::mkdtemp(pattern.data());
  }
  ~KilledEngine() {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  KilledEngine(const KilledEngine&) = delete;
  KilledEngine& operator=(const KilledEngine&) = delete;

  EngineOptions options;
  uint64_t longest_value = 1500;
  // The time after its return at which a commit must be durable. Nothing: commits may be lost, but
  // only as a whole.
  std::optional<std::chrono::milliseconds> durable_after = std::chrono::milliseconds(0);

  const std::string& dir() const { return dir_; }
  std::unique_ptr<Engine> Open() const { return OpenEngine(engine_, dir_, options); }

  // Continues where the last run was killed, and kills the process some time after its first
  // acknowledgement.
  void RunAndKill(std::chrono::microseconds after_first) {
    acknowledged_ = testbed::RunAndKill(rows_, after_first, [this](const Acknowledge& acknowledge) {
      InsertUntilKilled(acknowledge);
    });
  }

  // Expects that the database holds only whole transactions, and all that were acknowledged as
  // durable. Returns the number of their rows. Reads the database in a child (see InChild).
  uint64_t ExpectWhole() {
    const std::optional<std::string> rows = InChild([this] { return std::to_string(Look()); });
    EXPECT_TRUE(rows) << "the child that looked has printed why";
    if (rows) rows_ = std::stoull(*rows);
    return rows_;
  }

  void ExpectSound(const std::string& when) const {
    const Inspection found = FindEngine(engine_).check(dir_, InspectOptions());
    for (const Fault& fault : found.faults.kept) ADD_FAILURE() << when << ": " << fault.Text();
  }

 private:
  using Clock = std::chrono::steady_clock;

  uint64_t Look() {
    const std::unique_ptr<Engine> engine = Open();
    const TableId tables[] = {engine->OpenTable("even"), engine->OpenTable("odd")};
    const auto session = engine->NewSession();
    std::string_view value;
    const bool counted = session->Get(engine->OpenTable("counter"), "rows", &value);
    EXPECT_TRUE(counted);
    rows_ = counted ? std::stoull(std::string(value)) : 0;
    if (durable_after) {
      EXPECT_GE(rows_, acknowledged_);
    }
    // The transaction that was under way may be found, too.
    if (!Delayed()) {
      EXPECT_LE(rows_, acknowledged_ + 2);
    }
    uint64_t there = 0, walked = 0;
    for (uint64_t i = 0; i < rows_ && !testing::Test::HasFailure(); ++i) {
      const bool found = session->Get(tables[i % 2], Key(i), &value);
      EXPECT_EQ(found, !Erased(i)) << "row " << i << " of " << rows_;
      if (found) {
        EXPECT_EQ(value, Value(i));
      }
      there += found;
    }
    EXPECT_FALSE(session->Get(tables[0], Key(rows_), &value)) << "half a transaction";
    EXPECT_FALSE(session->Get(tables[1], Key(rows_ + 1), &value)) << "half a transaction";
    for (const TableId table : tables) {
      const auto cursor = session->NewCursor(table);
      for (bool on = cursor->First(); on; on = cursor->Next()) ++walked;
    }
    EXPECT_EQ(walked, there);
    return rows_;
  }

  static std::string Key(uint64_t i) { return "key" + std::to_string(i * 2654435761u % 1000003u); }
  std::string Value(uint64_t i) const {
    return "value of " + std::to_string(i) +
           std::string(i % longest_value, static_cast<char>('a' + i % 26));
  }
  // Returns whether the transactions that the database holds have erased row i.
  bool Erased(uint64_t i) const { return i % 3 == 0 && 2 * i + 2 <= rows_; }
  bool Delayed() const { return durable_after && durable_after->count() > 0; }

  // Acknowledges the number of rows as soon as they must be durable.
  void InsertUntilKilled(const Acknowledge& acknowledge) const {
    const std::unique_ptr<Engine> engine = Open();
    const TableId tables[] = {engine->OpenTable("even"), engine->OpenTable("odd")};
    const TableId counter = engine->OpenTable("counter");
    const auto session = engine->NewSession();
    std::deque<std::pair<Clock::time_point, uint64_t>> waiting;
    for (uint64_t i = rows_;; i += 2) {
      session->Begin();
      session->Put(tables[0], Key(i), Value(i));
      session->Put(tables[1], Key(i + 1), Value(i + 1));
      session->Put(counter, "rows", std::to_string(i + 2));
      if (i % 6 == 0) session->Erase(tables[i / 2 % 2], Key(i / 2));
      session->Commit();
      waiting.emplace_back(Clock::now() + durable_after.value_or(std::chrono::milliseconds(0)),
                           i + 2);
      for (; !waiting.empty() && waiting.front().first <= Clock::now(); waiting.pop_front()) {
        if (!acknowledge(waiting.front().second)) return;
      }
      if (Delayed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::string engine_, dir_;
  uint64_t rows_ = 0, acknowledged_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_CRASH_KILLED_ENGINE_H_
