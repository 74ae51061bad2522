// Tests that engines refuse wrong input, damage and full disks with one sentence, and lose nothing
// by it.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "device/machine/scratch.h"
#include "tests/contents.h"
#include "tests/engine/engine_test.h"
#include "tests/every_way.h"
#include "tools/database/copy_tree.h"

namespace testbed {
namespace {

char ByteAt(const std::string& path, uint64_t offset) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<char>(file.get());
}

void OverwriteByte(const std::string& path, uint64_t offset, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
  file.flush();
  ASSERT_TRUE(file.good()) << path;
}

size_t Threads() {
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

// Takes all but `free` bytes of a file system.
void FillUntilFree(const std::string& path, uint64_t free) {
  FileOptions options;
  options.create = FileOptions::kMustCreate;
  const std::unique_ptr<File> file = File::Open(path, options);
  const uint64_t available = std::filesystem::space(path).available;
  ASSERT_GT(available, free);
  file->Allocate(0, available - free);
}

const std::string kNonsense = "no such value";

class RefusalTest : public EngineTest {
 protected:
  ~RefusalTest() override {
    Close();
    if (!mounted_.empty()) ::umount2(mounted_.c_str(), MNT_DETACH);
  }
  // Turns off copies of pages. An engine that keeps copies against torn writes may repair a damaged
  // page from them, and then the test would not see the damage.
  void WithoutSpareCopies() {
    for (const auto& [name, meaning] : FindEngine(GetParam().engine).capabilities.extra_options) {
      if (name == "torn_page") options_.extra[name] = "none";
    }
  }
  void TearDown() override {
    if (read_only_) LetWrite(true);
  }
  // Gives the owner the right to write to dir_ and everything below it, or takes it away.
  void LetWrite(bool may) {
    const auto how =
        may ? std::filesystem::perm_options::add : std::filesystem::perm_options::remove;
    const auto let = [&](const std::filesystem::path& path) {
      std::filesystem::permissions(path, std::filesystem::perms::owner_write, how);
    };
    let(dir_);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) let(entry.path());
  }

  // Skips servers, because each try starts one, and their checksums have tests of their own. Set
  // TESTBED_SERVER_DAMAGE=1 after a change of their settings.
  void SkipServer() {
    if (info().capabilities.server && std::getenv("TESTBED_SERVER_DAMAGE") == nullptr) {
      GTEST_SKIP() << "slow: with TESTBED_SERVER_DAMAGE=1 alone";
    }
  }

  // Takes the right to write in dir_ from this process. Returns why it cannot; an empty string when
  // it could.
  std::string MakeReadOnly() {
    if (::geteuid() != 0) {
      LetWrite(false);
      read_only_ = true;
      return "";
    }
    // Permissions do not bind root; a read-only mount does.
    if (::mount(dir_.c_str(), dir_.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        ::mount(nullptr, dir_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return std::string("no read-only bind mount here: ") + std::strerror(errno);
    }
    mounted_ = dir_;
    return "";
  }

  bool read_only_ = false;
  std::string mounted_;
};

TEST_P(RefusalTest, ADatabaseOfAnotherEngine) {
  const EngineInfo* other = nullptr;
  for (const EngineInfo& candidate : Engines()) {
    if (candidate.capabilities.persistent && candidate.name != info().name) other = &candidate;
  }
  if (other == nullptr) GTEST_SKIP() << "this build has one engine only";
  Open();
  Load(100, 100);
  Close();
  const std::string sentence =
      ErrorOf(Error::kUsage, [&] { OpenEngine(other->name, dir_, DefaultEngineOptions(*other)); });
  EXPECT_NE(sentence.find(dir_), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(info().name), std::string::npos) << sentence;
  Open();
  EXPECT_EQ(Get(RowKey(99)), RowValue(99, 100));
}

TEST_P(RefusalTest, AnotherPageSize) {
  const Capabilities& can = info().capabilities;
  if (can.max_page_size == can.min_page_size) {
    GTEST_SKIP() << info().name << " has no page size that could be another";
  }
  options_.page_size = 8192;
  Open();
  Load(1000, 100);
  Close();
  options_.page_size = 16384;
  const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
  EXPECT_NE(sentence.find("8192"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("--page-size"), std::string::npos) << sentence;
  options_.page_size = 8192;
  Open();
  EXPECT_EQ(Get(RowKey(999)), RowValue(999, 100));
}

TEST_P(RefusalTest, OptionsThatItCannotHonour) {
  const EngineOptions good = options_;
  const auto refused = [&](const std::string& name) {
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    Close();
    options_ = good;
    if (sentence.find(name) == std::string::npos) {
      // This option is passed to the library of the engine unchanged, so the message of the library
      // must quote it.
      EXPECT_NE(sentence.find(kNonsense), std::string::npos) << name << ": " << sentence;
      std::filesystem::remove_all(dir_);
      std::filesystem::create_directory(dir_);
    }
    EXPECT_TRUE(std::filesystem::is_empty(dir_)) << "made files before it refused " << name;
  };
  if (info().capabilities.max_page_size != 0) {
    for (uint32_t size : {0u, 3000u, 1u << 31}) {
      options_.page_size = size;
      refused("--page-size");
    }
  }
  const std::vector<Durability>& durabilities = info().capabilities.durabilities;
  if (std::find(durabilities.begin(), durabilities.end(), Durability::kLazy) !=
      durabilities.end()) {
    options_.durability = Durability::kLazy;
    options_.lazy_interval_ms = 0;
    refused("--lazy-interval");
  }
  options_.compression = "middle-out";
  refused("--compression");
  options_.extra["no_such_option"] = "1";
  refused("no_such_option");
  for (const auto& [name, meaning] : info().capabilities.extra_options) {
    options_.extra[name] = kNonsense;
    const std::string sentence =
        ErrorOf(Error::kUsage, [&] { CheckEngineOptions(info(), options_); });
    EXPECT_NE(sentence.find(name), std::string::npos) << sentence << " before it is opened";
    refused(name);
  }
}

TEST_P(RefusalTest, WaysOfReadingThatItDoesNotHave) {
  const Capabilities& can = info().capabilities;
  const EngineOptions good = options_;
  const auto has = [](const auto& accepted, auto value) {
    return std::find(accepted.begin(), accepted.end(), value) != accepted.end();
  };
  int refused = 0;
  const auto refuse = [&](const std::string& option, const std::string& value) {
    const std::string sentence = ErrorOf(Error::kUsage, [&] { Open(); });
    EXPECT_NE(sentence.find(option + " " + value), std::string::npos) << sentence;
    EXPECT_TRUE(std::filesystem::is_empty(dir_)) << "made files before it refused " << value;
    options_ = good;
    ++refused;
  };
  for (IoMode io : {IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap}) {
    if (has(can.io_modes, io)) continue;
    options_.io = io;
    refuse("--io", IoModeName(io));
  }
  for (Advice advice : {Advice::kNormal, Advice::kRandom, Advice::kSequential, Advice::kWillNeed}) {
    if (options_.io != IoMode::kMmap || has(can.mmap_advices, advice)) continue;
    options_.mmap_advice = advice;
    refuse("--mmap-advice", AdviceName(advice));
  }
  if (refused == 0) GTEST_SKIP() << info().name << " has all of them";
}

TEST_P(RefusalTest, NoDatabaseWhereOneMustBe) {
  options_.create = false;
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { Open(); }).find(dir_), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
  const std::string inner = dir_ + "/no/such/directory";
  EXPECT_NE(ErrorOf(Error::kUsage, [&] { OpenEngine(info().name, inner, options_); }).find(inner),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

TEST_P(RefusalTest, MakesTheDirectoryWhenItMayCreate) {
  const std::string inner = dir_ + "/new/directory";
  std::unique_ptr<Engine> engine = OpenEngine(info().name, inner, options_);
  engine->NewSession()->Put(engine->OpenTable("default"), "k", "v");
  engine.reset();
  EXPECT_TRUE(info().recognises(inner));
}

TEST_P(RefusalTest, ADatabaseThatIsOpenAlready) {
  Open();
  Put("k", "v");
  const std::string sentence =
      ErrorOf(Error::kUsage, [&] { OpenEngine(info().name, dir_, options_); });
  EXPECT_NE(sentence.find(dir_), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find("another process"), std::string::npos) << sentence;
  EXPECT_EQ(Get("k"), "v");
  Reopen();
  EXPECT_EQ(Get("k"), "v");
}

TEST_P(RefusalTest, ADirectoryThatItMayNotWriteTo) {
  Open();
  Load(100, 100);
  Close();
  const std::string why_not = MakeReadOnly();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  const std::string sentence = ErrorOf(Error::kIo, [&] { Open(); });
  EXPECT_NE(sentence.find(dir_), std::string::npos) << sentence;
  const std::string inner =
      ErrorOf(Error::kIo, [&] { OpenEngine(info().name, dir_ + "/new", options_); });
  EXPECT_NE(inner.find(dir_), std::string::npos) << inner;
}

// A device that a large file fills. The file stands for that of another user, and is removed later.
class FullDeviceTest : public RefusalTest {
 public:
  // FullDiskTest has our engines in each mode, on a disk that is only in memory.
  static constexpr CaseChoice kChoice = {};
  // Engines without Durability::kSync do not promise to keep what was committed.
  static bool IsFor(const EngineCase& c) {
    const std::vector<Durability>& able = FindEngine(c.engine).capabilities.durabilities;
    return std::find(able.begin(), able.end(), Durability::kSync) != able.end();
  }

 protected:
  static constexpr uint64_t kMostRows = 200000;

  void SetUp() override {
    RefusalTest::SetUp();
    if (IsSkipped()) return;
    std::string why_not;
    if (!ScratchDevice::Available(&why_not)) GTEST_SKIP() << why_not;
    if (Threads() > 1) {
      GTEST_SKIP()
          << "an engine's threads of an earlier test cannot see a new mount: run it alone, "
             "as ctest does";
    }
    // InnoDB allocates all of its log when it makes a database, and undo spaces. A server's
    // database begins with a catalogue.
    const uint64_t free = info().name == "innodb" ? 112 : info().capabilities.server ? 88 : 48;
    ScratchOptions small;
    small.directory = dir_;
    small.bytes = (free + (free > 48 ? 160 : 96)) << 20;  // the whole device is written
    scratch_ = ScratchDevice::Create(small);
    FillUntilFree(Ballast(), free << 20);
    // With a rollback journal, durability sync would take minutes.
    if (GetParam().variant != "delete") options_.durability = Durability::kSync;
    options_.cache_bytes = std::max<uint64_t>(4 << 20, info().capabilities.min_cache_bytes);
    options_.ram_bytes = 32 << 20;
  }
  void TearDown() override {
    Close();
    scratch_.reset();
    RefusalTest::TearDown();
  }
  // Returns the size of a value. PostgreSQL would keep one of 2,000 bytes outside the row.
  size_t Size() const { return RowsInOne() == 1 ? 1000 : 1900; }
  std::string Ballast() const { return scratch_->path() + "/ballast"; }
  void OpenThere() {
    engine_ = OpenEngine(info().name, scratch_->path() + "/db", options_);
    table_ = engine_->OpenTable("default");
    session_ = engine_->NewSession();
  }
  // Commits until the device is full. Returns the number of committed rows. Commits have many rows,
  // because each one waits for the disk or for a timer of the engine; the device still becomes full
  // in the middle of one. A btree with compressed pages gets smaller commits: large ones leave its
  // pool full of dirty pages that need new space, and then it cannot read on a full device.
  uint64_t CommitUntilFull() {
    uint64_t at_once = GetParam().compression == "none" ? 50 : 10;
    if (info().name == "innodb" || info().capabilities.server) at_once = 200;
    uint64_t committed = 0;
    const std::string sentence = ErrorOf(Error::kIo, [&] {
      for (; committed < kMostRows; committed += at_once) {
        session_->Begin();
        for (uint64_t row = committed; row < committed + at_once; ++row) {
          Put(RowKey(row), RowValue(row, Size()));
        }
        session_->Commit();
      }
    });
    EXPECT_NE(sentence.find("o space left"), std::string::npos) << sentence;
    EXPECT_GT(committed, 1000u);
    return committed;
  }
  void ExpectRows(uint64_t rows, uint64_t step, const char* when) {
    for (uint64_t row = 0; row < rows; row += step) {
      ASSERT_EQ(Get(RowKey(row)), RowValue(row, Size()))
          << when << ": row " << row << " of " << rows;
    }
  }

  std::unique_ptr<ScratchDevice> scratch_;
};
TESTBED_FOR_EVERY_ENGINE(FullDeviceTest);

TEST_P(FullDeviceTest, LosesNothingThatWasCommitted) {
  OpenThere();
  const uint64_t committed = CommitUntilFull();
  // Engines of this project, which have a check of their own, promise more: reads go on, and a
  // database that was closed on a full device is opened on it. A compressed page needs new space to
  // be written, so that nothing is read while the pool is full of dirty ones.
  if (info().check && GetParam().compression == "none") {
    ExpectRows(committed, 61, "after the failed commit");
    Close();
    OpenThere();
    ExpectRows(committed, 61, "opened while it is full");
  }
  Close();
  std::filesystem::remove(Ballast());
  OpenThere();
  ExpectRows(committed, 1, "with room again");
  Put("after", "works");
  EXPECT_EQ(Get("after"), "works");
}

// The engines whose log may fill the device. mmapv1 flushes its data files when its journal finds
// no room, and goes on; the others have logs that end before, or of their own.
class DeviceFullOfLogTest : public FullDeviceTest {
 public:
  static bool IsFor(const EngineCase& c) {
    const auto& options = FindEngine(c.engine).capabilities.extra_options;
    return std::any_of(options.begin(), options.end(),
                       [](const auto& option) { return option.first == "checkpoint_log"; });
  }
};
TESTBED_FOR_EVERY_ENGINE(DeviceFullOfLogTest);

// The same rows are written again and again until the log has filled the device. Opening must need
// no further space, and its checkpoint must give the space of the log back.
TEST_P(DeviceFullOfLogTest, IsReplayedOnIt) {
  options_.extra["checkpoint_log"] = "1G";
  OpenThere();
  constexpr uint64_t kRows = 1000, kAtOnce = 50;
  std::vector<uint64_t> version(kRows), next(kRows);
  const auto value = [](uint64_t row, uint64_t version) {
    return RowValue(row + version * kRows, 1000);
  };
  ErrorOf(Error::kIo, [&] {
    for (uint64_t n = 0; n < 300; ++n) {
      for (uint64_t from = 0; from < kRows; from += kAtOnce) {
        session_->Begin();
        for (uint64_t row = from; row < from + kAtOnce; ++row) {
          next[row] = n;
          Put(RowKey(row), value(row, n));
        }
        session_->Commit();
        for (uint64_t row = from; row < from + kAtOnce; ++row) version[row] = n;
      }
    }
  });
  EXPECT_GT(version[kRows - 1], 5u);
  Close();
  for (const char* when : {"on the full device", "once more"}) {
    OpenThere();
    for (uint64_t row = 0; row < kRows; ++row) {
      const auto found = Get(RowKey(row));
      ASSERT_TRUE(found == value(row, version[row]) || found == value(row, next[row]))
          << when << ": row " << row;
    }
    Close();
  }
  OpenThere();
  Put("after", "works");
  EXPECT_EQ(Get("after"), "works");
}

// A changed byte inside a value can never be without effect, so it must be detected.
TEST_P(RefusalTest, AChangedValueIsDetected) {
  if (!info().capabilities.checksums) GTEST_SKIP() << info().name << " has no checksums";
  SkipServer();
  if (IsSkipped()) return;
  constexpr uint64_t kRows = 3000;
  WithoutSpareCopies();
  WithSmallLog();
  Open();
  Load(kRows, 200);
  engine_->Settle();
  Close();
  // The database is opened and closed once more, so that no log is left that would repair the page.
  Open();
  engine_->Settle();
  const std::vector<std::string> files = FilesOfKind(dir_, FileKind::kData);
  Close();
  std::mt19937_64 random(301);
  // Engines of other projects have their own tests of their checksums; each value opens one twice.
  const int values = !info().check ? 3 : EveryWay() ? 10 : 4;
  for (int i = 0; i < values; ++i) {
    const uint64_t row = random() % kRows;
    const std::string value = RowValue(row, 200);
    int places = 0;
    for (const std::string& file : files) {
      if (!std::filesystem::exists(file)) continue;
      const std::string content = ContentOf(file);
      // The file may also contain old copies of a page.
      for (size_t at = content.find(value); at != std::string::npos;
           at = content.find(value, at + 1), ++places) {
        OverwriteByte(file, at + 100, static_cast<char>(content[at + 100] ^ 0x10));
      }
    }
    ASSERT_GT(places, 0) << "row " << row << " is nowhere";
    ErrorOf(Error::kCorruption, [&] {
      Open();
      Get(RowKey(row));
    });
    Close();
    for (const std::string& file : files) {
      if (!std::filesystem::exists(file)) continue;
      const std::string content = ContentOf(file);
      std::string changed = value;
      changed[100] ^= 0x10;
      for (size_t at = content.find(changed); at != std::string::npos;
           at = content.find(changed, at + 1)) {
        OverwriteByte(file, at + 100, value[100]);
      }
    }
    Open();
    EXPECT_EQ(Get(RowKey(row)), value);
    Close();
  }
}

// The test above shows that an engine checks what it reads in each IO mode.
class ChangedByteTest : public RefusalTest {
 public:
  static constexpr CaseChoice kChoice = {};
  static bool IsFor(const EngineCase& c) { return FindEngine(c.engine).capabilities.checksums; }
};
TESTBED_FOR_EVERY_ENGINE(ChangedByteTest);

// A changed byte anywhere must be detected or be without effect, but must never give a wrong
// answer.
TEST_P(ChangedByteTest, NeverGivesWrongRows) {
  SkipServer();
  if (IsSkipped()) return;
  constexpr uint64_t kRows = 2000;
  WithoutSpareCopies();
  WithSmallLog();
  Open();
  Load(kRows, 100);
  engine_->Settle();
  const std::vector<std::string> files = FilesOfKind(dir_, FileKind::kData);
  Close();
  const std::string saved = dir_ + ".saved";
  CopyTree(dir_, saved);
  std::mt19937_64 random(302);
  int detected = 0;
  // Engines of other projects have their own tests of their checksums; each try here opens one.
  const int all = info().check ? 40 : 10;
  const int flips = EveryWay() ? all : all / 2;
  for (int i = 0; i < flips; ++i) {
    const std::string& file = files[random() % files.size()];
    const uint64_t size = std::filesystem::file_size(file);
    if (size == 0) continue;
    const uint64_t offset = random() % size;
    OverwriteByte(file, offset,
                  static_cast<char>(ByteAt(file, offset) ^ static_cast<char>(1 << random() % 8)));
    try {
      Open();
      for (uint64_t row = 0; row < kRows; ++row) {
        ASSERT_EQ(Get(RowKey(row)), RowValue(row, 100)) << file << " byte " << offset;
      }
      uint64_t row = 0;
      std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
      for (bool on = cursor->First(); on; on = cursor->Next(), ++row) {
        ASSERT_EQ(cursor->key(), RowKey(row)) << file << " byte " << offset;
        ASSERT_EQ(cursor->value(), RowValue(row, 100)) << file << " byte " << offset;
      }
      ASSERT_EQ(row, kRows) << file << " byte " << offset;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
      ++detected;
    }
    Close();
    std::filesystem::remove_all(dir_);
    CopyTree(saved, dir_);
  }
  std::filesystem::remove_all(saved);
  // How many bytes of a file matter differs between engines, so the number is only recorded. The
  // test above shows that damage is detected at all.
  RecordProperty("detected", detected);
}

TESTBED_FOR_EVERY_ENGINE(RefusalTest);

}  // namespace
}  // namespace testbed
