// Tests files that are missing, cut, too long, older than the others, or have a flipped bit. An
// engine of ours whose pages have checksums must report the damage, or answer rightly. It must
// never take damaged rows for absent. Where it refuses to open it must change nothing: with the
// file back in its place, all rows must be found.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/engine/engine_test.h"
#include "tools/database/copy_tree.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRows = 400;
constexpr size_t kValueSize = 500;

class DamageTest : public EngineTest {
 public:
  // One way of reading each time is enough.
  static constexpr CaseChoice kChoice = {};
  // What an engine does that is not ours is its developers' affair. Ours are those whose databases
  // `testbed check` reads.
  static bool IsFor(const EngineCase& c) { return FindEngine(c.engine).check != nullptr; }

 protected:
  void SetUp() override {
    EngineTest::SetUp();
    WithSmallLog();
    // With its default sizes, a hundred megabytes of empty space would be copied for each file.
    if (info().name == "mmapv1") {
      options_.extra["small_files"] = "on";
      options_.extra["first_file_size"] = "1M";
      options_.extra["journal_file_size"] = "1M";
    }
  }
  // Makes a database with rows in its data files and in its log, in dir_ + "/db", as a clean close
  // or, with `killed`, a kill leaves it.
  void MakeDatabase(bool killed) {
    options_.durability = Durability::kSync;
    options_.cache_bytes = 8 << 20;
    options_.create = true;
    const std::string live = dir_ + "/live";
    OpenAt(live);
    Load(kRows / 2, kValueSize);
    engine_->Checkpoint();
    CopyTree(live, older_);
    for (uint64_t row = kRows / 2; row < kRows; row += 50) {
      session_->Begin();
      for (uint64_t r = row; r < row + 50; ++r) Put(RowKey(r), RowValue(r, kValueSize));
      session_->Commit();
    }
    if (!killed) Close();
    CopyTree(live, database_);
    Close();
    fs::remove_all(live);
    options_.create = false;
  }
  void OpenAt(const std::string& dir) {
    engine_ = OpenEngine(info().name, dir, options_);
    table_ = engine_->OpenTable("default");
    session_ = engine_->NewSession();
  }
  // Opens the database and reads all rows. Returns an empty string when all are right, the sentence
  // of an Error, or "WRONG" and what was found.
  std::string Look() {
    std::string why;
    try {
      OpenAt(database_);
      for (uint64_t row = 0; row < kRows && why.empty(); ++row) {
        const std::string value = Get(RowKey(row));
        if (value != RowValue(row, kValueSize)) {
          why =
              "WRONG: row " + std::to_string(row) + (value == kAbsent ? " is absent" : " differs");
        }
      }
      const size_t rows = why.empty() ? Rows(table_).size() : kRows;
      if (rows != kRows) why = "WRONG: a scan finds " + std::to_string(rows) + " rows";
    } catch (const Error& error) {
      why = error.what();
    }
    session_.reset();
    engine_.reset();
    return why;
  }
  // Damages one file at a time, looks, and puts the database back.
  void ForEachFile(const std::string& what,
                   const std::function<bool(const fs::path& file)>& damage) {
    const fs::path good = dir_ + "/good";
    CopyTree(database_, good);
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(good)) {
      if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(good));
    }
    for (const fs::path& file : files) {
      if (!damage(fs::path(database_) / file)) continue;
      const std::string why = Look();
      EXPECT_FALSE(why.starts_with("WRONG")) << what << " " << file << ": " << why;
      if (!why.empty()) {
        // The files that were not damaged must be unchanged.
        std::error_code none;
        fs::copy_file(good / file, fs::path(database_) / file, fs::copy_options::overwrite_existing,
                      none);
        EXPECT_EQ(Look(), "") << "after it was refused: " << what << " " << file << ": " << why;
      }
      fs::remove_all(database_);
      CopyTree(good, database_);
    }
    fs::remove_all(good);
  }

  const std::string database_ = dir_ + "/database";
  const std::string older_ = dir_ + "/older";  // copy from a checkpoint with half of the rows
};

bool Flip(const fs::path& file, uint64_t at) {
  if (at >= fs::file_size(file)) return false;
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const int c = stream.get();
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(static_cast<char>(c ^ 0x04));
  return true;
}

TEST_P(DamageTest, AMissingFile) {
  for (const bool killed : {false, true}) {
    MakeDatabase(killed);
    ForEachFile(killed ? "killed, without" : "closed, without",
                [](const fs::path& file) { return fs::remove(file); });
    fs::remove_all(database_);
  }
}

TEST_P(DamageTest, AFileThatWasCut) {
  for (const bool killed : {false, true}) {
    MakeDatabase(killed);
    ForEachFile(killed ? "killed, emptied" : "closed, emptied", [](const fs::path& file) {
      if (fs::file_size(file) == 0) return false;
      fs::resize_file(file, 0);
      return true;
    });
    fs::remove_all(database_);
  }
}

TEST_P(DamageTest, AFileThatIsLonger) {
  for (const bool killed : {false, true}) {
    MakeDatabase(killed);
    ForEachFile(killed ? "killed, longer" : "closed, longer", [](const fs::path& file) {
      fs::resize_file(file, fs::file_size(file) + 65536);
      return true;
    });
    fs::remove_all(database_);
  }
}

// Somebody puts back one file from a copy that is older than the last checkpoint.
TEST_P(DamageTest, AnOlderFile) {
  MakeDatabase(/*killed=*/false);
  ForEachFile("closed, older", [this](const fs::path& file) {
    const fs::path older = fs::path(older_) / file.lexically_relative(database_);
    return fs::exists(older) && fs::copy_file(older, file, fs::copy_options::overwrite_existing);
  });
}

TEST_P(DamageTest, AFlippedBit) {
  if (!info().capabilities.checksums) GTEST_SKIP() << info().name << " has no checksums";
  MakeDatabase(/*killed=*/true);
  std::vector<uint64_t> places = {20, 8200};
  if (std::getenv("TESTBED_FAULT_STRIDE") != nullptr) {
    places = {0, 9, 20, 33, 70, 4096, 4100, 8192, 8200, 20'000, 24'590, 60'000};
  }
  for (const uint64_t at : places) {
    ForEachFile("byte " + std::to_string(at),
                [at](const fs::path& file) { return Flip(file, at); });
  }
}

TESTBED_FOR_EVERY_ENGINE(DamageTest);

}  // namespace
}  // namespace testbed
