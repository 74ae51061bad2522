#include "tests/engine/engine_test.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>

#include "device/account/kernel_account.h"
#include "device/account/ledger.h"

namespace testbed {
namespace {

// A ledger tells its kernel account the kind of each file. This account remembers the kinds, and
// counts nothing.
class FileKinds : public KernelAccount {
 public:
  void Attach(ThreadLedger*, int) override {}
  void Detach(ThreadLedger*, int) override {}
  void RegisterFile(uint64_t, uint64_t inode, FileKind kind) override { kinds_[inode] = kind; }
  bool RegisterJournal(uint64_t, uint64_t) override { return true; }
  void AddCounts(LedgerCounts*) const override {}
  const std::map<uint64_t, FileKind>& kinds() const { return kinds_; }

 private:
  std::map<uint64_t, FileKind> kinds_;
};

}  // namespace

void PrintTo(const EngineCase& c, std::ostream* out) {
  *out << c.engine << " " << IoModeName(c.io) << " " << c.compression << " " << c.variant;
}

namespace {

std::vector<EngineCase> FindEngineCases() {
  std::vector<EngineCase> cases;
  for (const EngineInfo& info : Engines()) {
    if (!info.capabilities.persistent || !info.capabilities.reads) continue;
    for (IoMode io : info.capabilities.io_modes) {
      cases.push_back({info.name, io});
      if (info.capabilities.server) break;  // a server is started for each test
    }
  }
  // Other engines compress pages inside their libraries. btree does it itself, so it has cases with
  // compression.
  cases.push_back({"btree", IoMode::kDirect, "lz4"});
  cases.push_back({"btree", IoMode::kBuffered, "zstd"});
#ifdef TESTBED_HAVE_SQLITE
  cases.push_back({"sqlite", IoMode::kBuffered, "none", "delete"});
#endif
#ifdef TESTBED_HAVE_INNODB
  cases.push_back({"innodb", IoMode::kBuffered, "none", "sql"});
#endif
#ifdef TESTBED_HAVE_MYSQL
  cases.push_back({"mysql", IoMode::kBuffered, "none", "access=handler"});
  cases.push_back({"mysql", IoMode::kBuffered, "none", "access=select"});
  cases.push_back({"mysql", IoMode::kBuffered, "none", "access=batched"});
  cases.push_back({"mysql", IoMode::kBuffered, "none", "server=rocksdb"});
  for (const ServerChoice& server : FindEngine("mysql").servers()) {
    cases.push_back({"mysql", IoMode::kBuffered, "none", "server=" + server.name});
  }
#endif
#ifdef TESTBED_HAVE_POSTGRES
  for (const ServerChoice& server : FindEngine("postgres").servers()) {
    cases.push_back({"postgres", IoMode::kBuffered, "none", "server=" + server.name});
  }
#endif
  return cases;
}

}  // namespace

const std::vector<EngineCase>& EngineCases() {
  // Each suite asks twice before main begins, and the search for servers looks at many paths.
  static const auto* const cases = new std::vector<EngineCase>(FindEngineCases());
  return *cases;
}

namespace {

// Returns whether the case is an IO mode of its engine and nothing else.
bool IsPlain(const EngineCase& c) { return c.variant.empty() && c.compression == "none"; }

// Returns a number that is the same on each machine (FNV-1a).
uint32_t HashOf(const std::string& text) {
  uint32_t hash = 2166136261;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
  return hash >> 16;
}

// Returns whether the case is part of each run. `modes` are the IO modes that its engine has in the
// suite.
bool IsOfEachRun(const std::string& suite, const CaseChoice& choice, const EngineCase& c,
                 const std::vector<IoMode>& modes) {
  if (c.variant.find('=') != std::string::npos) return false;
  if (!c.variant.empty()) return choice.variants;
  if (c.compression != "none") return choice.own_modes || choice.variants;
  // The engines of this project have a check of their own.
  if (FindEngine(c.engine).check ? choice.own_modes : choice.library_modes) return true;
  return modes[HashOf(c.engine + suite) % modes.size()] == c.io;
}

}  // namespace

std::vector<EngineCase> CasesOf(const std::string& suite, const CaseChoice& choice,
                                bool (*is_for)(const EngineCase&), TestRun run) {
  std::vector<EngineCase> cases = EngineCases();
  std::erase_if(cases, [&](const EngineCase& c) { return !is_for(c); });
  std::map<std::string, std::vector<IoMode>> modes;
  for (const EngineCase& c : cases) {
    if (IsPlain(c)) modes[c.engine].push_back(c.io);
  }
  std::erase_if(cases, [&](const EngineCase& c) {
    return IsOfEachRun(suite, choice, c, modes[c.engine]) != (run == TestRun::kEach);
  });
  return cases;
}

std::string EngineCaseName(const testing::TestParamInfo<EngineCase>& info) {
  const EngineCase& c = info.param;
  std::string name = c.engine + "_" + IoModeName(c.io) +
                     (c.compression == "none" ? "" : "_" + c.compression) +
                     (c.variant.empty() ? "" : "_" + c.variant.substr(c.variant.find('=') + 1));
  // googletest takes letters, digits and _: mysql_buffered_mariadb_10_1_23.
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '@' || c == '.' || c == '-'; }, '_');
  return name;
}

EngineTest::EngineTest() {
  // The directory is not under /tmp, which may be a tmpfs without direct IO.
  std::string pattern = std::filesystem::current_path() / "engine_test_XXXXXX";
  dir_ = mkdtemp(pattern.data());
  options_ = DefaultEngineOptions(info());
  options_.io = GetParam().io;
  options_.compression = GetParam().compression;
  if (options_.compression != "none") {
    options_.page_size = 8192;
    options_.extra["compressed_cache_pct"] = "30";
  }
  if (const std::string& variant = GetParam().variant; !variant.empty()) {
    const size_t equals = variant.find('=');
    const bool named = equals != std::string::npos;
    options_.extra[named ? variant.substr(0, equals) : info().variants] =
        named ? variant.substr(equals + 1) : variant;
  }
  // With a rollback journal each commit would sync four times. Tests of durability set the
  // durability themselves.
  if (GetParam().variant == "delete") options_.durability = Durability::kNone;
  if (info().capabilities.cache) options_.cache_bytes = 16 << 20;
  // A log is made for each test. Its default size is 64 MB.
  for (const auto& [name, meaning] : info().capabilities.extra_options) {
    if (name == "log_file_size") options_.extra[name] = "16M";
  }
  if (GetParam().engine == "postgres") {
    // Each test starts a server of its own, on a copy of a small cluster that is made once.
    if (!GetParam().IsOldPostgres()) options_.extra["wal_segment_size"] = "1M";
    const std::string templates = std::filesystem::current_path() / "engine_test_templates";
    ::setenv("TESTBED_SERVER_TEMPLATES", templates.c_str(), 1);
  }
}

EngineTest::~EngineTest() {
  session_.reset();
  engine_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

void EngineTest::SetUp() {
  if (info().missing != nullptr && !info().missing().empty()) GTEST_SKIP() << info().missing();
  if (info().capabilities.server) {
    try {
      CheckEngineOptions(info(), options_);
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();  // no server is installed
    }
  }
  if (GetParam().io != IoMode::kDirect) return;
  FileOptions options;
  options.mode = IoMode::kDirect;
  options.create = FileOptions::kMustCreate;
  try {
    File::Open(dir_ + "/probe", options);
  } catch (const Error& e) {
    if (e.kind() != Error::kUsage) throw;
    GTEST_SKIP() << e.what();
  }
  std::filesystem::remove(dir_ + "/probe");
}

void EngineTest::Open() {
  engine_ = OpenEngine(GetParam().engine, dir_, options_);
  table_ = engine_->OpenTable("default");
  session_ = engine_->NewSession();
}

void EngineTest::WithSmallLog() {
  for (const auto& [name, meaning] : info().capabilities.extra_options) {
    if (name == "log_segment") options_.extra[name] = "1M";
  }
}

void EngineTest::Close() {
  session_.reset();
  engine_.reset();
}

std::string EngineTest::Get(TableId table, std::string_view key) {
  std::string_view value;
  return session_->Get(table, key, &value) ? std::string(value) : kAbsent;
}

std::vector<std::string> EngineTest::Rows(TableId table) {
  std::vector<std::string> rows;
  std::unique_ptr<Cursor> cursor = session_->NewCursor(table);
  for (bool on = cursor->First(); on; on = cursor->Next()) {
    rows.push_back(std::string(cursor->key()) + "=" + std::string(cursor->value()));
  }
  return rows;
}

void EngineTest::Load(uint64_t count, size_t value_size) {
  for (uint64_t row = 0; row < count;) {
    session_->Begin();
    for (const uint64_t end = std::min(count, row + 100); row < end; ++row) {
      Put(RowKey(row), RowValue(row, value_size));
    }
    session_->Commit();
  }
}

std::string RowKey(uint64_t row) {
  std::string digits = std::to_string(row);
  return "row" + std::string(13 - digits.size(), '0') + digits;
}

std::string RowValue(uint64_t row, size_t size) {
  std::string value = "value of " + RowKey(row) + ":";
  size_t at = value.size();
  value.resize(size);
  uint64_t state = row * 2 + 1;
  for (; at < size; ++at) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    value[at] = static_cast<char>('!' + (state >> 33) % 94);
  }
  return value;
}

std::vector<std::string> FilesOfKind(const std::string& dir, FileKind kind) {
  FileKinds kinds;
  Ledger& ledger = Ledger::Get();
  const AccountDepth depth = ledger.depth();
  ledger.Configure(AccountDepth::kKernel, &kinds);
  ledger.Configure(depth, nullptr);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    struct stat st;
    if (!entry.is_regular_file() || ::stat(entry.path().c_str(), &st) != 0) continue;
    // An empty file is a lock. It was not opened through the file layer, and its inode may have
    // been another file's before.
    if (st.st_size == 0) continue;
    const auto it = kinds.kinds().find(st.st_ino);
    if (it != kinds.kinds().end() && it->second == kind) files.push_back(entry.path());
  }
  return files;
}

}  // namespace testbed
