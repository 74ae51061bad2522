// Tests Session::MultiGet and TakeEach of a session that has neither of its own, and of one that
// looks all keys up at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "engines/engine.h"

namespace testbed {
namespace {

using testing::ElementsAre;

const std::map<std::string, std::string, std::less<>> kStored = {{"a", "1"}, {"b", ""}, {"d", "4"}};

// Gets one row after the other; a value is lost with the next Get.
class SingleSession : public Session {
 public:
  void Begin() override {}
  void Commit() override {}
  void Rollback() override {}
  bool Get(TableId, std::string_view key, std::string_view* value) override {
    if (key == "fail") throw Error(Error::kIo, "the device fails");
    const auto at = kStored.find(key);
    value_ = at == kStored.end() ? "lost" : at->second;
    if (at != kStored.end()) *value = value_;
    return at != kStored.end();
  }
  void Put(TableId, std::string_view, std::string_view) override {}
  void Erase(TableId, std::string_view) override {}
  std::unique_ptr<Cursor> NewCursor(TableId) override { return nullptr; }
  const char* place() const { return value_.data(); }

 private:
  std::string value_ = std::string(100, ' ');
};

// Looks all keys up at once, and never calls Get.
class TogetherSession : public SingleSession {
 public:
  bool Get(TableId, std::string_view, std::string_view*) override {
    ADD_FAILURE() << "a single Get";
    return false;
  }
  void MultiGet(TableId, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override {
    ++calls_;
    if (std::find(keys.begin(), keys.end(), "fail") != keys.end()) {
      throw Error(Error::kIo, "the device fails");
    }
    rows->assign(keys.size(), {});
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto at = kStored.find(keys[i]);
      if (at != kStored.end()) (*rows)[i] = {true, at->second};
    }
  }
  void TakeEach(TableId table, std::span<const std::string_view> keys,
                const TakeRow& take) override {
    TakeEachOfMultiGet(table, keys, take);
  }
  int calls() const { return calls_; }

 private:
  int calls_ = 0;  // of MultiGet
};

const std::vector<std::string_view> kKeys = {"d", "c", "b", "a", "d"};

std::string Text(const FoundRow& row) { return row.found ? "=" + std::string(row.value) : "none"; }

std::vector<std::string> Taken(Session& session) {
  std::vector<std::string> taken;
  session.TakeEach(0, kKeys, [&](size_t i, const FoundRow& row) {
    EXPECT_EQ(i, taken.size());
    taken.push_back(Text(row));
  });
  return taken;
}

TEST(TakeEachTest, BothFormsFindTheSameRows) {
  SingleSession single;
  TogetherSession together;
  for (Session* session : {static_cast<Session*>(&single), static_cast<Session*>(&together)}) {
    for (int round = 0; round < 2; ++round) {
      EXPECT_THAT(Taken(*session), ElementsAre("=4", "none", "=", "=1", "=4"));
      std::vector<FoundRow> rows;
      session->MultiGet(0, kKeys, &rows);
      std::vector<std::string> found;
      for (const FoundRow& row : rows) found.push_back(Text(row));
      EXPECT_THAT(found, ElementsAre("=4", "none", "=", "=1", "=4"));
    }
  }
}

TEST(TakeEachTest, AValueIsTheOneOfGetAndNoCopy) {
  SingleSession session;
  int found = 0;
  session.TakeEach(0, kKeys, [&](size_t, const FoundRow& row) {
    if (!row.found) return;
    ++found;
    EXPECT_EQ(static_cast<const void*>(row.value.data()), session.place());
  });
  EXPECT_EQ(found, 4);
}

TEST(TakeEachTest, KeysThatAreLookedUpAtOnceAreOneCallAndNoCopies) {
  TogetherSession session;
  int found = 0;
  session.TakeEach(0, kKeys, [&](size_t i, const FoundRow& row) {
    if (!row.found) return;
    ++found;
    EXPECT_EQ(row.value.data(), kStored.find(kKeys[i])->second.data());
  });
  EXPECT_EQ(found, 4);
  EXPECT_EQ(session.calls(), 1);
}

TEST(TakeEachTest, AnErrorEndsTheCall) {
  SingleSession single;
  TogetherSession together;
  const std::vector<std::string_view> keys = {"a", "fail", "d"};
  for (Session* session : {static_cast<Session*>(&single), static_cast<Session*>(&together)}) {
    size_t taken = 0;
    const auto take = [&](size_t, const FoundRow& row) {
      EXPECT_EQ(Text(row), "=1");
      ++taken;
    };
    EXPECT_THROW(session->TakeEach(0, keys, take), Error);
    EXPECT_EQ(taken, session == &single ? 1u : 0u) << "rows of keys before the one that failed";
    EXPECT_THAT(Taken(*session), ElementsAre("=4", "none", "=", "=1", "=4"));
  }
}

}  // namespace
}  // namespace testbed
