#include "engines/mmapv1/mmapv1_engine.h"

#include <unistd.h>

#include "device/error.h"
#include "device/file/directory.h"
#include "engines/mmapv1/check/check.h"
#include "engines/mmapv1/files/settings.h"
#include "engines/mmapv1/session.h"
#include "engines/mmapv1/store.h"

namespace testbed {
namespace mmapv1 {
namespace {

class Mmapv1Engine : public Engine {
 public:
  Mmapv1Engine(const std::string& dir, const Settings& settings) : store_(dir, settings) {}

  std::string name() const override { return "mmapv1"; }
  TableId OpenTable(const std::string& table) override { return store_.OpenTable(table); }
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<Mmapv1Session>(&store_);
  }
  void Flush() override { store_.Checkpoint(); }
  void Checkpoint() override { store_.Checkpoint(); }
  void Settle() override {
    store_.Checkpoint();
    store_.WaitForPreallocation();
  }
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override {
    EngineCounters counters;
    store_.AddCounters(&counters);
    return counters;
  }
  DiskSize SizeOnDisk() const override { return store_.SizeOnDisk(); }

 private:
  mutable Store store_;
};

std::vector<std::pair<std::string, std::string>> Mmapv1Engine::EffectiveSettings() const {
  const Settings& s = store_.settings();
  const auto on = [](bool flag) { return std::string(flag ? "on" : "off"); };
  std::vector<std::pair<std::string, std::string>> all = {
      {"generation", s.generation == Generation::k24 ? "2.4" : "2.6"},
      {"allocation", s.allocation == Allocation::kPadding ? "padding" : "power_of_2"},
      {"io", IoModeName(IoMode::kMmap)},
      {"advice", AdviceName(s.advice)},
      {"cache", "none: the page cache has all of the memory"},
      {"bucket_bytes", std::to_string(kBucketRecord)},
      {"durability", DurabilityName(s.durability)},
      {"views", s.journaled() ? "shared and private" : "shared"},
      {"small_files", on(s.small_files)},
      {"first_file_size", std::to_string(s.first_file_bytes)},
      {"most_file_size", std::to_string(s.most_file_bytes)},
      {"ns_size", std::to_string(store_.NamespaceBytes())},
      {"preallocate", on(s.preallocate)},
      {"zero_fill", on(s.zero_fill)},
      {"sync_delay_ms", std::to_string(s.sync_delay_ms)},
      {"journal_io", store_.JournalIo()},
  };
  const std::pair<const char*, uint64_t> of_journal[] = {
      {"journal_commit_interval_ms", s.commit_interval_ms},
      {"journal_file_size", s.journal_file_bytes},
      {"remap_period_ms", s.remap_period_ms},
      {"uncommitted_limit", s.uncommitted_bytes},
  };
  for (const auto& [name, value] : of_journal) {
    all.emplace_back(name, s.journaled() ? std::to_string(value)
                                         : "no effect: --durability none has no journal");
  }
  return all;
}

bool Recognises(const std::string& dir) { return IsFileThere(NsPath(dir)); }

std::string UnfitHere() { return UnfitPages(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))); }

}  // namespace
}  // namespace mmapv1

EngineInfo Mmapv1EngineInfo() {
  EngineInfo info;
  info.name = "mmapv1";
  info.summary = "a heap and b-trees in mapped files with a journal, as MongoDB 2.4 and 2.6 had";
  info.version = std::to_string(mmapv1::kFormatVersion);
  info.capabilities = mmapv1::Mmapv1Capabilities();
  info.files = {"mmapv1.ns",   "mmapv1.ns.creating", "mmapv1.ns.creating.new",
                "mmapv1.#",    "mmapv1.#.new",       "journal.#",
                "journal.lsn", "journal.spare",      "journal.spare.new"};
  info.recognises = mmapv1::Recognises;
  info.check_options = [](const EngineOptions& o) { (void)mmapv1::MakeSettings(o); };
  info.missing = mmapv1::UnfitHere;
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    if (const std::string why = mmapv1::UnfitHere(); !why.empty()) throw Error(Error::kUsage, why);
    return std::make_unique<mmapv1::Mmapv1Engine>(dir, mmapv1::MakeSettings(options));
  };
  info.check = info.tree = mmapv1::InspectDatabase;
  return info;
}

}  // namespace testbed
