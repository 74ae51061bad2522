// An engine of ordered maps in memory. It counts the calls of its cursors, and gives wrong answers
// when a test tells it to. Not thread-safe.
#ifndef TESTBED_TESTS_UNIT_WORKLOADS_LYING_ENGINE_H_
#define TESTBED_TESTS_UNIT_WORKLOADS_LYING_ENGINE_H_

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"

namespace testbed {

class LyingEngine : public Engine {
 public:
  enum class Lie : uint8_t {
    kNone,
    kWrongValue,   // the last byte of each value is another one
    kEmptyCursor,  // a cursor finds no row
    kWrongFirst,   // a seek leads to the row behind the right one
    kShortWalk,    // a cursor ends after a step
    kLeftOut,      // a step leaves a row out
    kLeftOutBack,  // a step back leaves a row out
    kStuckCursor,  // a step leads to the row on which the cursor stands
    kNotFound,     // a Get finds no row
    kFoundAbsent,  // a Get finds a row that is not there
    kWrongOld,     // the last byte of each value is another one until the row is written anew
    kLostPut,      // a Put writes nothing
    kLostSecond,   // every second Put writes nothing
    kLostErase,    // an Erase removes nothing
    kLostEntry,    // a Put or an Erase of a row with an empty value, an index entry, does nothing
  };
  Lie lie = Lie::kNone;
  uint64_t seeks = 0, steps = 0;   // calls that positioned and that moved a cursor
  std::vector<uint64_t> expected;  // what each call of Cursor::Expect told
  uint64_t gets = 0, takes = 0;    // calls of Get, and of TakeEach, which calls Get
  uint64_t puts = 0;

  std::string name() const override { return "lying"; }
  TableId OpenTable(const std::string& table) override {
    return ids_.try_emplace(table, static_cast<TableId>(ids_.size())).first->second;
  }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<LyingSession>(this); }
  void Flush() override {}
  void Checkpoint() override {}
  void Settle() override {}
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override { return {}; }
  EngineCounters Counters() const override { return {}; }
  DiskSize SizeOnDisk() const override { return {}; }

  using Table = std::map<std::string, std::string>;
  Table& table(TableId id) { return tables_[id]; }

 private:
  std::string Told(std::string value, bool is_old = false) const {
    if ((lie == Lie::kWrongValue || (lie == Lie::kWrongOld && is_old)) && !value.empty()) {
      value.back() = static_cast<char>(value.back() ^ 1);
    }
    return value;
  }

  class LyingCursor : public Cursor {
   public:
    LyingCursor(LyingEngine* engine, TableId id) : engine_(*engine), table_(engine->table(id)) {}
    void Expect(uint64_t rows) override { engine_.expected.push_back(rows); }
    bool Seek(std::string_view key) override {
      at_ = table_.lower_bound(std::string(key));
      if (engine_.lie == Lie::kWrongFirst && at_ != table_.end()) ++at_;
      return Arrive();
    }
    bool SeekForPrev(std::string_view key) override {
      at_ = table_.upper_bound(std::string(key));
      at_ = at_ == table_.begin() ? table_.end() : std::prev(at_);
      return Arrive();
    }
    bool First() override {
      at_ = table_.begin();
      return Arrive();
    }
    bool Last() override {
      at_ = table_.empty() ? table_.end() : std::prev(table_.end());
      return Arrive();
    }
    bool Next() override {
      ++engine_.steps;
      if (engine_.lie == Lie::kShortWalk && stepped_++ > 0) return false;
      if (engine_.lie == Lie::kStuckCursor) return Take();
      ++at_;
      if (engine_.lie == Lie::kLeftOut && at_ != table_.end()) ++at_;
      return Take();
    }
    bool Prev() override {
      ++engine_.steps;
      if (at_ == table_.begin()) return false;
      --at_;
      if (engine_.lie == Lie::kLeftOutBack && at_ != table_.begin()) --at_;
      return Take();
    }
    std::string_view key() const override { return at_->first; }
    std::string_view value() const override { return value_; }

   private:
    bool Arrive() {
      ++engine_.seeks;
      stepped_ = 0;
      return engine_.lie != Lie::kEmptyCursor && Take();
    }
    bool Take() {
      if (at_ == table_.end()) return false;
      value_ = engine_.Told(at_->second);
      return true;
    }

    LyingEngine& engine_;
    Table& table_;
    Table::iterator at_;
    std::string value_;
    int stepped_ = 0;
  };

  class LyingSession : public Session {
    static constexpr const char* kOfAnotherCall = "of another call";
    // AfterCall changes the memory of the last value that Get gave when its scope ends, as an
    // engine may do in the next call of the session.
    class AfterCall {
     public:
      explicit AfterCall(std::string* value) : value_(*value) {}
      ~AfterCall() { value_ = kOfAnotherCall; }
      AfterCall(const AfterCall&) = delete;
      AfterCall& operator=(const AfterCall&) = delete;

     private:
      std::string& value_;
    };

   public:
    explicit LyingSession(LyingEngine* engine) : engine_(*engine) {}
    void Begin() override {}
    void Commit() override {}
    void Rollback() override {}
    bool Get(TableId id, std::string_view key, std::string_view* value) override {
      ++engine_.gets;
      const Table& table = engine_.table(id);
      const auto at = table.find(std::string(key));
      value_ = kOfAnotherCall;
      const bool there = at != table.end();
      if (engine_.lie == Lie::kNotFound || (!there && engine_.lie != Lie::kFoundAbsent)) {
        return false;
      }
      if (there) value_ = engine_.Told(at->second, !written_.contains({id, at->first}));
      *value = value_;
      return true;
    }
    void TakeEach(TableId id, std::span<const std::string_view> keys,
                  const TakeRow& take) override {
      ++engine_.takes;
      Session::TakeEach(id, keys, take);
    }
    void Put(TableId id, std::string_view key, std::string_view value) override {
      const AfterCall after(&value_);
      const bool is_second = engine_.puts++ % 2 == 1;
      if (engine_.lie == Lie::kLostPut || (engine_.lie == Lie::kLostSecond && is_second)) return;
      if (engine_.lie == Lie::kLostEntry && value.empty()) return;
      engine_.table(id)[std::string(key)] = value;
      written_.emplace(id, key);
    }
    void Erase(TableId id, std::string_view key) override {
      const AfterCall after(&value_);
      if (engine_.lie == Lie::kLostErase) return;
      Table& table = engine_.table(id);
      const auto at = table.find(std::string(key));
      if (at == table.end() || (engine_.lie == Lie::kLostEntry && at->second.empty())) return;
      table.erase(at);
    }
    std::unique_ptr<Cursor> NewCursor(TableId id) override {
      return std::make_unique<LyingCursor>(&engine_, id);
    }

   private:
    LyingEngine& engine_;
    std::string value_;
    std::set<std::pair<TableId, std::string>> written_;  // rows that the session has put
  };

  std::map<std::string, TableId> ids_;
  std::map<TableId, Table> tables_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_WORKLOADS_LYING_ENGINE_H_
