// The fixture of the tests of what is special to WiredTiger: a database in a directory of its own.
#ifndef TESTBED_TESTS_ENGINE_WIREDTIGER_DATABASE_H_
#define TESTBED_TESTS_ENGINE_WIREDTIGER_DATABASE_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "device/account/ledger.h"
#include "device/error.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/setting_in_force.h"
#include "tests/own_counter.h"

namespace testbed {

class WiredtigerTest : public testing::Test {
 protected:
  WiredtigerTest() {
    // Not under /tmp, which may be a tmpfs without direct IO.
    std::string pattern = std::filesystem::current_path() / "wiredtiger_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.cache_bytes = 4 * kMiB;
  }
  ~WiredtigerTest() override {
    Close();
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
    std::filesystem::remove_all(dir_ + ".image", ignored);
  }

  void Open() { OpenAt(dir_); }
  void OpenAt(const std::string& dir) {
    Close();
    engine_ = OpenEngine("wiredtiger", dir, options_);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
  }
  void Close() {
    session_.reset();
    engine_.reset();
  }
  // Opens in direct mode, or says why not.
  bool OpenDirect() {
    options_.io = IoMode::kDirect;
    try {
      Open();
    } catch (const Error& e) {
      if (e.kind() != Error::kUsage) throw;
      return false;
    }
    return true;
  }

  // Rows in scattered order, so that leaves fill as they do in real use.
  void Load(uint64_t rows, size_t value_size) {
    const OpKind insert = DefineOp("insert", Ground::kForeground);
    for (uint64_t i = 0; i < rows; ++i) {
      IoScope scope(insert);
      const uint64_t row = i * 7919 % rows;
      session_->Put(table_, RowKey(row), RowValue(row, value_size));
    }
  }

  std::string Get(std::string_view key) {
    std::string_view value;
    return session_->Get(table_, key, &value) ? std::string(value) : "(absent)";
  }

  // Copies the files as a crash of the process would leave them now. Returns the directory of the
  // copy.
  std::string Image() {
    const std::string image = dir_ + ".image";
    CopyFiles(dir_, image);
    return image;
  }
  // Copies the files of a database. WiredTiger may remove files of its log meanwhile.
  static void CopyFiles(const std::string& from_dir, const std::filesystem::path& to_dir) {
    std::filesystem::remove_all(to_dir);
    std::filesystem::create_directory(to_dir);
    for (const auto& entry : std::filesystem::directory_iterator(from_dir)) {
      std::ifstream from(entry.path(), std::ios::binary);
      std::ofstream to(to_dir / entry.path().filename(), std::ios::binary);
      to << from.rdbuf();
    }
  }

  void DamageEveryBlock() {
    const std::string path = dir_ + "/t.wt";
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (uint64_t at = 4096 + 2000; at + 6 < std::filesystem::file_size(path); at += 4096) {
      file.seekp(static_cast<std::streamoff>(at));
      file.write("damage", 6);
    }
  }

  static FileCounts Charged(const LedgerCounts& counts, OpKind op, FileKind kind) {
    return counts.ops[op.id].file[static_cast<size_t>(kind)];
  }

  uint64_t More(const std::string& name) { return OwnCounter(engine_->Counters(), name); }

  std::string Setting(const std::string& name) { return SettingInForce(*engine_, name); }

  std::string dir_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_ENGINE_WIREDTIGER_DATABASE_H_
