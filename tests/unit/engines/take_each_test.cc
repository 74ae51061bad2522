// Tests Session::MultiGet and TakeEach of sessions that have no MultiGet of their own, and of one
// that has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

class TogetherSession : public SingleSession {
 public:
  void MultiGet(TableId, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override {
    if (keys[0] == "fail") throw Error(Error::kIo, "the device fails");
    rows->assign(keys.size(), {});
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto at = kStored.find(keys[i]);
      if (at != kStored.end()) (*rows)[i] = {true, at->second};
    }
  }
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
  session.TakeEach(0, kKeys, [&](size_t, const FoundRow& row) {
    if (row.found) {
      EXPECT_EQ(static_cast<const void*>(row.value.data()), session.place());
    }
  });
}

TEST(TakeEachTest, AnErrorLeavesNothingBehind) {
  SingleSession single;
  TogetherSession together;
  const std::vector<std::string_view> fail = {"fail"};
  for (Session* session : {static_cast<Session*>(&single), static_cast<Session*>(&together)}) {
    EXPECT_THROW(session->TakeEach(0, fail, [](size_t, const FoundRow&) { FAIL(); }), Error);
    std::vector<FoundRow> rows;
    session->MultiGet(0, kKeys, &rows);
    EXPECT_EQ(Text(rows[3]), "=1");
  }
}

}  // namespace
}  // namespace testbed
