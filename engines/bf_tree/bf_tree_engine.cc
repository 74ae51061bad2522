#include "engines/bf_tree/bf_tree_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <utility>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "engines/bf_tree/session.h"
#include "engines/registry.h"

namespace testbed {
namespace bf_tree {
namespace {

bool Recognises(const std::string& dir) {
  if (!IsDirectoryThere(dir)) return false;
  for (const char* file : {kSnapshot, kNew, kLeaves}) {
    if (IsFileThere(dir + "/" + file)) return true;
  }
  return false;
}

// Prepares the files for an open: completes a checkpoint that a crash has cut short, and removes
// all files but the snapshot. Returns whether the directory has a snapshot. Throws Error
// (kCorruption) when it has the pages of a tree and no snapshot.
bool FindSnapshot(const std::string& dir) {
  if (::access(dir.c_str(), R_OK | W_OK | X_OK) != 0) {
    throw Error::Io("open directory", dir, errno);
  }
  const std::string snapshot = dir + "/" + kSnapshot;
  // A checkpoint renames the old snapshot to kLeaves if the tree's pages are in it, and then puts
  // the new one in its place. A crash in between leaves only kNew, which is complete.
  if (!IsFileThere(snapshot) && IsFileThere(dir + "/" + kNew)) {
    RenameFile(dir + "/" + kNew, snapshot);
    SyncDirectory(dir);
  }
  const bool found = IsFileThere(snapshot);
  if (!found && IsFileThere(dir + "/" + kLeaves)) {
    throw Error(Error::kCorruption,
                "the database in " + dir +
                    " was written to and not closed, and bf-tree has no log to repair it with: "
                    "load it anew with --fresh");
  }
  for (const char* file : {kLeaves, kNew, kUnfinished}) RemoveFile(dir + "/" + file);
  return found;
}

}  // namespace

BfTreeEngine::BfTreeEngine(std::string dir, const Settings& settings)
    : dir_(std::move(dir)), settings_(settings), lock_(dir_, "the database in") {
  const bool found = FindSnapshot(dir_);
  host_.emplace(dir_, settings_.io, settings_.advice, found);
  try {
    tree_.emplace(&*host_, settings_, found);
  } catch (...) {
    if (!found) RemoveFile(host_->PathOf(kLeaves));
    throw;
  }
  if (found) CheckSettings();
  tables_.emplace(&*tree_, &gate_);
}

// Throws when the tree has other settings than these: a tree keeps the settings with which it was
// made.
void BfTreeEngine::CheckSettings() const {
  const auto settings = tree_->EffectiveSettings();
  const auto value_of = [&](const std::string& name) {
    const auto at = std::find_if(settings.begin(), settings.end(),
                                 [&](const auto& setting) { return setting.first == name; });
    return at == settings.end() ? std::string() : at->second;
  };
  const BfSettings& wanted = settings_.library;
  const std::string page = value_of("leaf_page_size");
  if (page != std::to_string(wanted.page_bytes)) {
    throw Error(Error::kUsage,
                fmt::format("the database in {} has pages of {} bytes, not of --page-size {}: use "
                            "--page-size {}, or load it anew",
                            dir_, page, wanted.page_bytes, page));
  }
  const auto refuse = [&](const char* option, const std::string& has, const std::string& value) {
    throw Error(Error::kUsage, fmt::format("the database in {} was made with --engine-option "
                                           "{}={}, not {}: give the same, or load it anew",
                                           dir_, option, has, value));
  };
  const auto check = [&](const char* option, const char* name, const std::string& value) {
    if (const std::string has = value_of(name); has != value) refuse(option, has, value);
  };
  check("scan_promotion", "scan_promotion_rate", std::to_string(wanted.scan_promotion));
  check("record_cache", "read_record_cache", wanted.record_cache != 0 ? "true" : "false");
  check("load_full_page", "write_load_full_page", wanted.load_full_page != 0 ? "true" : "false");
  const std::string share = value_of("cb_copy_on_access_ratio");
  if (std::strtod(share.c_str(), nullptr) != wanted.copy_on_access) {
    refuse("copy_on_access", share, fmt::format("{}", wanted.copy_on_access));
  }
}

// A destructor cannot report an error. bf-tree has durability none only, so no commit has promised
// that its rows stay.
BfTreeEngine::~BfTreeEngine() {
  IoScope scope(kOpen);
  try {
    if (!host_->dead() && !host_->failed() && (changed_ || !HasSnapshot())) Checkpoint();
  } catch (const std::exception&) {
  }
  tables_.reset();
  tree_.reset();
  try {
    if (has_checkpoint_) RemoveFile(host_->PathOf(kLeaves));
  } catch (const std::exception&) {
  }
}

TableId BfTreeEngine::OpenTable(const std::string& table) {
  bool made = false;
  const TableId id = tables_->Open(table, &made);
  if (made) NoteChange();
  return id;
}

std::unique_ptr<Session> BfTreeEngine::NewSession() {
  return std::make_unique<BfTreeSession>(this);
}

void BfTreeEngine::Checkpoint() {
  LockGuard lock(checkpoint_mutex_);
  host_->ThrowIfDead();
  host_->ThrowIfFailed();
  if (!changed_.exchange(false) && HasSnapshot()) return;
  const std::string unfinished = host_->PathOf(kUnfinished), made = host_->PathOf(kNew);
  try {
    host_->BeginSnapshot();
    gate_.Alone([&] { tree_->Snapshot(); });
    if (const std::optional<Error> failure = host_->SnapshotFailure()) throw Error(*failure);
    RenameFile(unfinished, made);
    SyncDirectory(dir_);
    host_->LeaveSnapshot();
    RenameFile(made, host_->PathOf(kSnapshot));
    SyncDirectory(dir_);
  } catch (...) {
    changed_ = true;
    // If there is no other snapshot, the new one is kept under its name kNew: it is the only one.
    for (const std::string& file : {unfinished, made}) {
      if (HasSnapshot() || file == unfinished) RemoveFile(file);
    }
    throw;
  }
  has_checkpoint_ = true;
  checkpoints_.fetch_add(1, std::memory_order_relaxed);
}

std::vector<std::pair<std::string, std::string>> BfTreeEngine::EffectiveSettings() const {
  std::vector<std::pair<std::string, std::string>> settings = {
      {"version", kVersion},
      {"io", IoModeName(settings_.io)},
      {"durability", DurabilityName(Durability::kNone)},
  };
  for (auto& setting : tree_->EffectiveSettings()) settings.push_back(std::move(setting));
  return settings;
}

EngineCounters BfTreeEngine::Counters() const {
  const Host::Totals totals = host_->totals();
  EngineCounters out;
  out.block_reads = totals.reads;
  out.block_read_bytes = totals.read_bytes;
  out.blocks_written = totals.writes;
  out.block_write_bytes = totals.write_bytes;
  // After a failed read no part of the tree may be touched, so its cache is not known.
  if (!host_->dead()) out.cache_bytes = tree_->cache_bytes();
  out.more = {{"snapshots", checkpoints_.load(std::memory_order_relaxed)},
              {"snapshot_bytes", totals.snapshot_bytes}};
  return out;
}

DiskSize BfTreeEngine::SizeOnDisk() const {
  return DiskSizeOf(dir_, [](const std::string&) { return false; });
}

}  // namespace bf_tree

EngineInfo BfTreeEngineInfo() {
  EngineInfo info;
  info.name = "bf-tree";
  info.summary = "Microsoft Research's Bf-Tree, in Rust; its files run through our file layer";
  info.version = bf_tree::kVersion;
  info.missing = bf_tree::Library::Missing;
  info.read_code = [](const EngineOptions&) { bf_tree::Library::ReadCode(); };
  info.capabilities = bf_tree::BfTreeCapabilities();
  info.files = {bf_tree::kLeaves, bf_tree::kSnapshot, bf_tree::kNew, bf_tree::kUnfinished};
  info.recognises = bf_tree::Recognises;
  info.check_options = [](const EngineOptions& o) { (void)bf_tree::MakeSettings(o); };
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<bf_tree::BfTreeEngine>(dir, bf_tree::MakeSettings(options));
  };
  return info;
}

}  // namespace testbed
