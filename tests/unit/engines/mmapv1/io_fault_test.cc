// Injects an error at each IO call of an mmapv1 database in turn, including msync. The operation
// that needs the call must fail with an error, no acknowledged commit may be lost, no transaction
// may be found by half, and the database must open again and be sound.
//
// TESTBED_FAULT_STRIDE is the distance between the calls that are tried; 1 tries all. By default
// about forty calls are tried.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

struct Fault {
  int error;
  bool lasts;  // all later calls fail, too, as on a device that is gone
};

class Mmapv1IoFaultTest : public Mmapv1Test, public testing::WithParamInterface<Fault> {
 protected:
  ~Mmapv1IoFaultTest() override { FileFaults::Clear(); }

  // Opens the database, writes and closes it. Ends at the first error.
  void Scenario(uint64_t seed) {
    std::mt19937_64 random(seed);
    try {
      std::unique_ptr<Store> store = OpenStore();
      const TableId table = store->OpenTable("t");
      for (int i = 0; i < 24; ++i) {
        WriteSet writes;
        doubtful_ = rows_;
        for (int n = 0; n < 30; ++n) {
          const std::string key = "row" + std::to_string(random() % 400);
          const std::string value(random() % 3000 + 1, static_cast<char>('a' + random() % 26));
          const bool erase = random() % 5 == 0;
          writes.Set(table, key, erase, erase ? "" : value);
          erase ? static_cast<void>(doubtful_.erase(key))
                : static_cast<void>(doubtful_[key] = value);
        }
        store->Apply(writes);
        rows_ = doubtful_;
        if (i % 8 == 7) store->Checkpoint();
      }
    } catch (const Error& error) {
      failed_ = true;
      EXPECT_EQ(error.kind(), Error::kIo) << error.what();
      EXPECT_EQ(error.code(), GetParam().error) << error.what();
    }
  }

  void ExpectWhatWasAcknowledged() {
    const bool there = std::filesystem::exists(NsPath(dir_));
    if (there) {
      EXPECT_EQ(FirstFault(dir_), "");
    }
    std::unique_ptr<Store> store = OpenStore();
    const Rows found = AllRows(store.get(), store->OpenTable("t"));
    EXPECT_TRUE(found == rows_ || found == doubtful_)
        << found.size() << " rows, of " << rows_.size() << " or " << doubtful_.size();
    rows_ = doubtful_ = found;
  }

  Rows rows_;      // rows after the acknowledged transactions
  Rows doubtful_;  // rows_ with the transaction that was in flight
  bool failed_ = false;
};

TEST_P(Mmapv1IoFaultTest, NothingAcknowledgedIsLost) {
  FileFaults::Set(UINT64_MAX, UINT64_MAX, GetParam().error);
  Scenario(1);
  const uint64_t calls = FileFaults::Clear();
  ASSERT_GT(calls, 60u);
  ASSERT_FALSE(failed_);
  const char* const set = std::getenv("TESTBED_FAULT_STRIDE");
  const uint64_t stride = set != nullptr ? std::strtoull(set, nullptr, 10) : calls / 40 + 1;
  int failures = 0;
  // Every third call is tried on a new database, the others on the database of the round before.
  for (uint64_t call = 0; call < calls; call += stride) {
    SCOPED_TRACE("call " + std::to_string(call));
    if (call % 3 == 0) {
      std::filesystem::remove_all(dir_);
      rows_.clear();
      doubtful_.clear();
    }
    failed_ = false;
    FileFaults::Set(call, GetParam().lasts ? UINT64_MAX : call + 1, GetParam().error);
    Scenario(call + 2);
    FileFaults::Clear();
    failures += failed_ ? 1 : 0;
    ExpectWhatWasAcknowledged();
    if (HasFailure()) break;
  }
  // Errors in closing or preallocating are reported to no caller.
  EXPECT_GT(failures, 10);
}

INSTANTIATE_TEST_SUITE_P(Faults, Mmapv1IoFaultTest,
                         testing::Values(Fault{EIO, false}, Fault{EIO, true}, Fault{ENOSPC, false},
                                         Fault{ENOSPC, true}),
                         [](const auto& info) {
                           return std::string(info.param.error == EIO ? "io" : "full") +
                                  (info.param.lasts ? "_lasting" : "_once");
                         });

}  // namespace
}  // namespace testbed::mmapv1
