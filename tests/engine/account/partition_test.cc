// Tests the kernel account on a disk with two partitions: what is written to the other one is none
// of the run's files, nor its journal or metadata.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "device/account/block_device.h"
#include "device/account/journal.h"
#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "device/machine/scratch.h"

namespace testbed {
namespace {

class PartitionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!ScratchDevice::Available(&why)) GTEST_SKIP() << why;
    std::string pattern = std::filesystem::current_path() / "partition_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    EnterPrivateMountNamespace();
    const std::string image = directory_ + "/image";
    if (!Runs("truncate -s 64M " + image)) GTEST_SKIP() << "no image";
    loop_ = Said("losetup -f --show " + image);
    if (loop_.empty()) GTEST_SKIP() << "no loop device";
    RemovePartitions();  // a test that was killed may have left some
    for (const char* partition : {"1 2048 49152", "2 53248 49152"}) {
      if (!Runs("addpart " + loop_ + " " + partition)) GTEST_SKIP() << "no partitions";
    }
    for (const char* number : {"1", "2"}) {
      const std::string node = loop_ + "p" + number, place = directory_ + "/m" + number;
      std::filesystem::create_directory(place);
      if (!Runs("mkfs.ext4 -q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 " + node) ||
          !Runs("mount " + node + " " + place)) {
        GTEST_SKIP() << "no file system on " << node;
      }
    }
  }
  void TearDown() override {
    Ledger::Get().Configure(AccountDepth::kFile, nullptr);
    account_.reset();
    for (const char* number : {"1", "2"}) Runs("umount " + directory_ + "/m" + number);
    if (!loop_.empty()) RemovePartitions();
    if (!loop_.empty()) Runs("losetup -d " + loop_);
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  // A loop device keeps its partitions for whoever uses it next.
  void RemovePartitions() const {
    for (const char* number : {"1", "2"}) Runs("delpart " + loop_ + " " + number);
  }
  static bool Runs(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
  }
  // Returns the first word that the command writes.
  static std::string Said(const std::string& command) {
    FILE* const pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
    char word[64] = "";
    if (pipe == nullptr || std::fscanf(pipe, "%63s", word) != 1) word[0] = 0;
    if (pipe != nullptr) ::pclose(pipe);
    return word;
  }

  std::string directory_, loop_;
  std::unique_ptr<KernelAccount> account_;
};

TEST_F(PartitionTest, WhatIsWrittenToAnotherPartitionIsOfOtherFiles) {
  const std::optional<BlockDevice> device = BlockDevice::Find(directory_ + "/m1");
  ASSERT_TRUE(device.has_value());
  EXPECT_EQ(device->volume_start(), 2048u);
  EXPECT_NE(device->volume_dev(), device->dev());
  std::string why;
  account_ = KernelAccount::Start(*device, &why);
  if (account_ == nullptr) GTEST_SKIP() << why;
  for (const SectorRange& range : JournalUnder(directory_ + "/m1")) {
    ASSERT_TRUE(account_->RegisterJournal(range.first, range.sectors));
  }
  Runs("sync -f " + directory_ + "/m1");
  Ledger::Get().Configure(AccountDepth::kKernel, account_.get());
  const auto written = [this](const char* place) {
    const LedgerCounts before = Ledger::Get().Counts();
    EXPECT_TRUE(Runs("cd " + directory_ + "/" + place +
                     "; for i in $(seq 40); do echo $i > file$i; sync file$i; done"));
    LedgerCounts after = Ledger::Get().Counts();
    after -= before;
    uint64_t own = 0, other = 0;
    for (const LedgerCounts::Foreign& f : after.foreign) {
      (f.kind == FileKind::kOtherFile ? other : own) += f.counts.write_bytes;
    }
    return std::pair(own, other);
  };
  const auto [own, other] = written("m2");
  EXPECT_GT(other, 40u * 8192) << "a block of data and one of the journal at least for each file";
  EXPECT_LT(own, other / 10);
  EXPECT_GT(written("m1").first, 40u * 4096) << "the journal of the file system itself";
}

}  // namespace
}  // namespace testbed
