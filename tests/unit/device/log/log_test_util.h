// Helpers that the log's tests share: a directory for each test, records that differ from each
// other, and reading a log back.
#ifndef TESTBED_TESTS_UNIT_DEVICE_LOG_LOG_TEST_UTIL_H_
#define TESTBED_TESTS_UNIT_DEVICE_LOG_LOG_TEST_UTIL_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/log/log.h"
#include "device/log/log_format.h"
#include "device/log/log_reader.h"

namespace testbed {

class LogTestDirectory : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = Base() + "/log_test_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr) << pattern;
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Returns the directory that the tests' directories are made in. It is not /tmp, which may be a
  // tmpfs without direct IO.
  virtual std::string Base() const { return std::filesystem::current_path(); }

  // Makes a further empty directory inside the test's own.
  std::string Fresh(const std::string& name) {
    const std::string path = directory_ + "/" + name;
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
    return path;
  }

  std::string directory_;
};

// A base for tests that check the contents of files and not the device's IO. Thousands of opens and
// syncs are fast in memory.
class LogTestInMemory : public LogTestDirectory {
 protected:
  std::string Base() const override {
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : LogTestDirectory::Base();
  }
};

inline LogOptions SmallLogOptions() {
  LogOptions options;
  options.segment_bytes = 64 << 10;
  options.buffer_bytes = 64 << 10;
  return options;
}

// Returns a record whose bytes follow from its number. No two numbers give equal records, and no
// record of more than 8 bytes is part of another.
inline std::string NumberedRecord(uint64_t number, size_t size) {
  std::string record(size, '\0');
  uint64_t x = number * 0x9e3779b97f4a7c15ull + 1;
  for (size_t i = 0; i < size; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    record[i] = static_cast<char>(x);
  }
  return record;
}

struct ReadBack {
  std::vector<std::string> records;
  std::vector<LogRange> ranges;
  std::optional<std::string> damage;  // the message of the kCorruption error, if it was thrown
};

inline ReadBack ReadLog(const std::string& directory, Lsn from = 0,
                        IoMode mode = IoMode::kBuffered) {
  ReadBack back;
  try {
    LogReader reader(directory, from, mode);
    LogRecord record;
    while (reader.Next(&record)) {
      back.records.emplace_back(record.bytes);
      back.ranges.push_back({record.lsn, record.end});
    }
  } catch (const Error& e) {
    if (e.kind() != Error::kCorruption) throw;
    back.damage = e.what();
  }
  return back;
}

// Opens the log and adds the records that it replays to *replayed.
inline std::unique_ptr<Log> OpenLog(const std::string& directory, const LogOptions& options,
                                    std::vector<std::string>* replayed = nullptr, Lsn from = 0) {
  return Log::Open(directory, options, from, [&](const LogRecord& r) {
    if (replayed != nullptr) replayed->emplace_back(r.bytes);
  });
}

inline std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

inline void Spill(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Copies the log's files as another process would find them if this one died now.
inline void CopyLog(const std::string& from, const std::string& to) {
  std::filesystem::remove_all(to);
  std::filesystem::create_directory(to);
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    if (entry.is_regular_file()) {
      std::filesystem::copy_file(entry.path(), to / entry.path().filename());
    }
  }
}

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_DEVICE_LOG_LOG_TEST_UTIL_H_
