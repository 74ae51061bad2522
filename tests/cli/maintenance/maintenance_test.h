// A fixture with databases of btree for `testbed backup` and `testbed compact`.
#ifndef TESTBED_TESTS_CLI_MAINTENANCE_MAINTENANCE_TEST_H_
#define TESTBED_TESTS_CLI_MAINTENANCE_MAINTENANCE_TEST_H_

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/started_command.h"

namespace testbed {

class MaintenanceTest : public StartedCommandTest {
 protected:
  static constexpr char kSmall[] = " --ram 64M --threads 2 --account file --quiet ";

  // Loads rows in random order, so that the leaves are not full.
  void Load(const std::string& dir, const std::string& more = "", int rows = 3000) {
    const CommandResult result = Run("--engine btree --workload insert --key-order random --dir " +
                                     dir + kSmall + "--rows " + std::to_string(rows) + " " + more);
    ASSERT_EQ(result.code, 0) << result.err;
  }
  // Loads three databases of one run.
  void LoadThree(const std::string& dir) {
    const CommandResult result =
        Run("--engine btree --workload concurrent-inserts --databases 3 --threads 3 --dir " + dir +
            " --ram 64M --rows 3000 --account file --quiet");
    ASSERT_EQ(result.code, 0) << result.err;
  }
  // Copies the engine's directory out of a run's directory, as another program would have it:
  // without the record of the run.
  void TakeOut(const std::string& dir, const std::string& to) const {
    std::filesystem::copy(directory_ / dir / "db", directory_ / to,
                          std::filesystem::copy_options::recursive);
  }
  // Checks all databases of the directory, and returns the number of rows in all their tables,
  // including the catalogues; 0 when a database is damaged.
  uint64_t Rows(const std::string& dir) {
    const CommandResult check = Run("check " + dir + " --json check.json");
    EXPECT_EQ(check.code, 0) << check.out << check.err;
    if (check.code != 0) return 0;
    uint64_t rows = 0;
    const nlohmann::json document = Json("check.json");
    for (const nlohmann::json& database : document["databases"]) {
      for (const nlohmann::json& table : database["tables"]) rows += table["rows"].get<uint64_t>();
    }
    return rows;
  }
  // Expects that a run reads the database of the directory with --reuse.
  void ExpectReusable(const std::string& dir) {
    const CommandResult run =
        Run("--workload point-read --operations 500 --verify all --reuse "
            "--dir " +
            dir + kSmall);
    EXPECT_EQ(run.code, 0) << run.err;
  }
  // Returns the bytes of a file by the entry of a document's "databases"; 0 when it has none.
  static uint64_t FileBytes(const nlohmann::json& database, const std::string& name,
                            const std::string& which) {
    for (const nlohmann::json& file : database["files"]) {
      if (file["name"] == name) return file.value(which, uint64_t{0});
    }
    return 0;
  }
  // Expects the figures that the entries of both commands have.
  static void ExpectFigures(const nlohmann::json& database) {
    EXPECT_EQ(database["engine"], "btree");
    EXPECT_EQ(database["engine_version"], "1");
    EXPECT_GT(database["seconds"].get<double>(), 0);
    for (const char* which : {"bytes_before", "bytes_after"}) {
      uint64_t bytes = 0;
      for (const nlohmann::json& file : database["files"]) bytes += file.value(which, uint64_t{0});
      EXPECT_EQ(database[which], bytes);
      EXPECT_GT(bytes, 0u);
    }
    const nlohmann::json& data = database["file_by_kind"]["data"];
    for (const char* count : {"reads", "read_bytes", "writes", "write_bytes", "syncs"}) {
      EXPECT_GT(data[count].get<uint64_t>(), 0u) << count;
    }
  }
  bool Has(const std::string& path) const { return std::filesystem::exists(directory_ / path); }
  uint64_t DataBytes(const std::string& dir) const {
    return std::filesystem::file_size(directory_ / dir / "btree.data");
  }
  uint64_t BytesBelow(const std::string& dir) const {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / dir)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }
  // Runs a shell command in a mount namespace in which the directory "small" is a tmpfs of `bytes`
  // bytes. Returns its exit code, or -1 on a machine that allows no mount namespace. Standard error
  // goes to the file "err".
  int OnSmallDisk(uint64_t bytes, const std::string& words) const {
    std::filesystem::create_directory(directory_ / "small");
    const std::string command =
        "unshare --mount --propagation private sh -c 'cd " + directory_.string() +
        " && mount -t tmpfs -o size=" + std::to_string(bytes / 1024) + "k none small && " + words +
        "' 2>" + (directory_ / "err").string() + " </dev/null";
    const int status = std::system(command.c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code == 1 && Contains(Read(directory_ / "err"), "unshare") ? -1 : code;
  }
  static bool Contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_MAINTENANCE_MAINTENANCE_TEST_H_
