#include "engines/mmapv1/check/check.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/os/dir_lock.h"
#include "device/os/signal_guard.h"
#include "engines/disk_size.h"
#include "engines/mmapv1/check/check_table.h"
#include "engines/mmapv1/journal/journal.h"
#include "engines/mmapv1/tree/table.h"

namespace testbed::mmapv1 {
namespace {

class DatabaseCheck {
 public:
  DatabaseCheck(const std::string& dir, const InspectOptions& options)
      : dir_(dir),
        options_(options),
        lock_(dir, "the database in"),
        files_(dir, settings_, DataFile::kPrivateView) {
    result_.faults.most = result_.notes.most = options.most_faults;
    result_.page_size = kBucketRecord;
  }

  Inspection Run() {
    Replay();
    CheckTables();
    if (options_.table.empty() && !result_.stopped) CheckExtents();
    CountBytes();
    return std::move(result_);
  }

 private:
  void AddFault(const std::string& file, uint64_t byte, const std::string& what,
                const std::string& expected = "", const std::string& found = "") {
    Fault fault;
    fault.file = file;
    fault.byte = byte;
    fault.what = what;
    fault.expected = expected;
    fault.found = found;
    result_.faults.Add(std::move(fault));
  }
  void Replay();
  void CheckTables();
  void CheckTable(uint32_t slot);
  void CheckExtents();
  void CountBytes();

  const std::string dir_;
  const InspectOptions& options_;
  Settings settings_;
  DirLock lock_;
  Files files_;
  FoundExtents extents_;
  Inspection result_;
};

void DatabaseCheck::Replay() {
  result_.replay.emplace();
  ReplayNeeded& needed = *result_.replay;
  switch (files_.ns()->mark.state) {
    case OpenState::kClean:
      try {
        CheckJournalIsDone(dir_);
      } catch (const Error& error) {
        AddFault(NsPath(dir_), offsetof(NsHeader, mark), error.what());
      }
      break;
    case OpenState::kJournaled:
      try {
        const auto replay = [&](std::string_view body) {
          ForEachEntry(body, [&](DiskLoc at, std::string_view bytes) {
            files_.Replay(at, bytes);
            ++needed.rows;
          });
        };
        const ReplayResult replayed = ReplayJournal(dir_, files_.ns()->database, replay);
        needed.log_bytes = replayed.bytes;
        needed.records = replayed.sections;
        needed.transactions = replayed.sections;
        needed.pages = files_.shared_bytes() / kMemoryPage;
      } catch (const Error& error) {
        AddFault(dir_, 0, error.what());
      }
      break;
    case OpenState::kUnjournaled:
      AddFault(NsPath(dir_), offsetof(NsHeader, mark),
               "the database was open without a journal when its process ended");
      break;
    default:
      AddFault(NsPath(dir_), offsetof(NsHeader, mark), "a database cannot be left in this state");
  }
  files_.CloseUnused();
}

void DatabaseCheck::CheckTables() {
  const NsHeader& ns = *files_.ns();
  const uint64_t room = files_.file(kNsFile).bytes() - kNsHeaderBytes;
  if (ns.slots == 0 || ns.slots > room / sizeof(NsEntry)) {
    AddFault(NsPath(dir_), offsetof(NsHeader, slots), "the number of slots is wrong");
    return;
  }
  uint32_t tables = 0;
  std::vector<std::string> names;
  for (uint32_t slot = 0; slot < ns.slots && !result_.stopped; ++slot) {
    const NsEntry& entry = *files_.As<NsEntry>(EntryLoc(slot));
    if (entry.used == 0) continue;
    ++tables;
    const std::string name(entry.name, std::min<size_t>(entry.name_size, kMaxTableName));
    names.push_back(name);
    if (options_.table.empty() || options_.table == name) CheckTable(slot);
  }
  if (result_.stopped) return;
  if (tables != ns.tables) {
    AddFault(NsPath(dir_), offsetof(NsHeader, tables), "the number of tables is wrong",
             std::to_string(tables), std::to_string(ns.tables));
  }
  if (!options_.table.empty() &&
      std::find(names.begin(), names.end(), options_.table) == names.end()) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    throw Error(Error::kUsage, "the database in " + dir_ + " has no table " + options_.table +
                                   "; it has " + (all.empty() ? "none" : all));
  }
}

void DatabaseCheck::CheckTable(uint32_t slot) {
  const NsEntry& entry = *files_.As<NsEntry>(EntryLoc(slot));
  uint64_t done = 0;
  const uint64_t total = entry.rows + entry.heap.records + entry.index.records;
  const std::function<void()> tick = [&] {
    if (StopRequested()) throw Stopped("while a database was checked");
    if (options_.progress && ++done % 4096 == 0) options_.progress(std::min(done, total), total);
  };
  try {
    mmapv1::TableCheck check(files_, slot, options_, &result_.faults, &extents_, tick);
    result_.trees.push_back(check.Run());
  } catch (const Stopped&) {
    result_.stopped = true;
    return;
  } catch (const Error& error) {
    if (error.kind() != Error::kCorruption) throw;
    AddFault(NsPath(dir_), static_cast<uint32_t>(EntryLoc(slot).ofs), error.what());
  }
  const std::string name(entry.name, std::min<size_t>(entry.name_size, kMaxTableName));
  const std::optional<uint32_t> found = FindTable(files_, name);
  if (found != slot) {
    AddFault(NsPath(dir_), static_cast<uint32_t>(EntryLoc(slot).ofs),
             "the table is not where its name is looked for");
  }
}

// Checks that the extents fill each data file up to where the next extent would go.
void DatabaseCheck::CheckExtents() {
  for (int32_t n = 0; n < files_.count(); ++n) {
    const auto& header = *files_.As<FileHeader>({n, 0});
    const std::string path = DataPath(dir_, n);
    const auto first = extents_.lower_bound({n, 0});
    const bool empty = first == extents_.end() || first->first.file != n;
    if (empty && AllZeros(header)) continue;  // an operation that was undone has added this file
    if (header.magic != kFileMagic || header.bytes != files_.file(n).bytes() ||
        header.number != static_cast<uint32_t>(n) || header.database != files_.ns()->database) {
      AddFault(path, 0, "the header is not that of this file");
      continue;
    }
    uint64_t at = kFileHeaderBytes;
    for (auto e = first; e != extents_.end() && e->first.file == n; ++e) {
      const auto ofs = static_cast<uint32_t>(e->first.ofs);
      if (ofs != at) {
        AddFault(path, std::min<uint64_t>(ofs, at),
                 ofs < at ? "two extents overlap" : "bytes of the file are in no extent",
                 std::to_string(at), std::to_string(ofs));
      }
      at = ofs + uint64_t{e->second.bytes};
    }
    if (at != header.unused) {
      AddFault(path, at, "the extents end elsewhere than the header says", std::to_string(at),
               std::to_string(header.unused));
    }
  }
}

void DatabaseCheck::CountBytes() {
  const auto files = static_cast<uint64_t>(files_.count());
  uint64_t heap = 0, index = 0, used = 0, unused = 0;
  uint64_t heap_extents = 0, index_extents = 0;
  for (const auto& [at, extent] : extents_) {
    (extent.is_index ? index : heap) += extent.bytes;
    ++(extent.is_index ? index_extents : heap_extents);
  }
  for (int32_t n = 0; n < files_.count(); ++n) {
    const auto& header = *files_.As<FileHeader>({n, 0});
    const uint64_t bytes = files_.file(n).bytes();
    const uint64_t end = std::min<uint64_t>(std::max(header.unused, kFileHeaderBytes), bytes);
    used += end - std::min<uint64_t>(kFileHeaderBytes, end);
    unused += bytes - end;
  }
  const uint64_t headers = files * kFileHeaderBytes, ns = files_.file(kNsFile).bytes();
  result_.pages = {{"file headers", files, headers},
                   {"extents of records", heap_extents, heap},
                   {"extents of buckets", index_extents, index},
                   {"not in extents yet", files, unused}};
  result_.disk = {{"namespace file", ns},
                  {"file headers", headers},
                  {"extents of records", heap},
                  {"extents of buckets", index},
                  {"journal", DiskSizeOf(dir_, IsJournalFile).log_bytes}};
  const std::string others =
      options_.table.empty() ? "extents not reached" : "extents of other tables";
  if (used > heap + index) result_.disk.emplace_back(others, used - heap - index);
}

}  // namespace

Inspection InspectDatabase(const std::string& dir, const InspectOptions& options) {
  try {
    return DatabaseCheck(dir, options).Run();
  } catch (const Error& error) {
    if (error.kind() != Error::kCorruption) throw;
    // A file is missing or empty, or the header of the namespace file is damaged, so that the files
    // do not open as those of a database.
    Inspection result;
    Fault fault;
    fault.file = dir;
    fault.what = error.what();
    result.faults.Add(std::move(fault));
    return result;
  }
}

}  // namespace testbed::mmapv1
