#include "tools/run/surroundings.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "device/account/block_device.h"
#include "device/error.h"
#include "device/machine/host.h"
#include "engines/elsewhere.h"
#include "tools/output/progress.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSanitizerBytes = 1ull << 30;
#else
constexpr uint64_t kSanitizerBytes = 0;
#endif

constexpr char kOfServer[] =
    "the server that runs already (connect) has memory of its own, which testbed does not set";
constexpr char kReadsOfServer[] =
    "the server that runs already (connect) reads for itself, and testbed does not slow it down";
constexpr char kFilesOfServer[] =
    "the server that runs already (connect) has the database's files, and keeps its caches";
constexpr char kDeviceOfServer[] =
    "the server that runs already (connect) has the database's files, which may lie on any device";

// Records that the machine refused a setting that the user asked for: as a note for readers, and in
// "not_in_force", by its option, for programs. `side` is empty unless it is of one side alone.
void NotInForce(const std::string& option, const std::string& how, const std::string& why,
                const std::string& side, json* document) {
  (*document)["notes"].push_back(
      fmt::format("{}--{} {}: {}", side.empty() ? "" : "side " + side + ": ", option, how, why));
  json entry = {{"option", option}, {"why", why}};
  if (!side.empty()) entry["side"] = side;
  (*document)["not_in_force"].push_back(std::move(entry));
}

}  // namespace

void CheckServerMemory(const RunOptions& options, const std::string& side, json* document) {
  if (!WorksElsewhere(options.engine_name, options.engine)) return;
  const auto check = [&](bool given, const char* option, const char* how, const char* why) {
    if (!given) return;
    if (options.strict) {
      throw Error(Error::kUsage,
                  fmt::format("{}--{} cannot be enforced: {}",
                              side.empty() ? "" : "side " + side + ": ", option, why));
    }
    NotInForce(option, how, why, side, document);
  };
  check(options.ram_bytes != 0, "ram", "is not enforced, caches may hold more", kOfServer);
  check(options.read_iops != 0, "read-iops", "is not enforced", kReadsOfServer);
  check(options.drop_caches, "drop-caches", "drops nothing", kFilesOfServer);
  check(options.readahead_bytes.has_value(), "readahead", "is set for the run's directory alone",
        kDeviceOfServer);
  check(options.scratch_bytes != 0, "scratch", "holds nothing of the database", kDeviceOfServer);
}

uint64_t SanitizerBytes() { return kSanitizerBytes; }

std::string ExistingDirectory(const std::string& path) {
  fs::path at = fs::absolute(path.empty() ? "." : path);
  while (!fs::exists(at)) at = at.parent_path();
  return at.string();
}

json MachineJson(const std::string& where, bool exclusive_device) {
  json j = {{"machine", json::object()}};
  for (const auto& [name, value] : ReadHostFacts(where).Fields()) j["machine"][name] = value;
  if (std::optional<BlockDevice> device = BlockDevice::Find(where)) {
    json queue = json::object();
    for (const auto& [name, value] : device->QueueSettings()) queue[name] = value;
    j["device"] = {{"name", device->name()}, {"queue", queue}, {"exclusive", exclusive_device}};
  }
  return j;
}

Surroundings::Surroundings(const RunOptions& options, json* document) : options_(options) {
  json& notes = (*document)["notes"] = json::array();
  for (const std::string& sentence : ReadaheadGuard::RestoreStale()) notes.push_back(sentence);
  // Only the memory cgroups of killed runs that could not be removed are worth a note.
  for (std::string& kept : MemoryBudget::CleanLeftovers().kept) notes.push_back(std::move(kept));
  (void)ReadLimit::CleanLeftovers();
  MakeScratch();
  (*document)["not_in_force"] = json::array();
  SetReadahead(document);
  CheckBudget(document);
  CheckReadLimit(document);
}

std::unique_ptr<MemoryBudget> Surroundings::NewBudget(uint64_t spare) const {
  return NewBudgetOf(options_.ram_bytes, spare);
}

std::unique_ptr<MemoryBudget> Surroundings::NewBudgetOf(uint64_t ram, uint64_t spare) const {
  if (ram == 0 || unbounded_) return nullptr;
  std::string why;
  std::unique_ptr<MemoryBudget> budget = MemoryBudget::Create(
      ram + SanitizerBytes() + spare, &why, CgroupFs::System(), options_.read_iops != 0);
  if (budget == nullptr && bounded_ && spare == 0) {
    throw Error(Error::kRun, "--ram can no longer be enforced: " + why);
  }
  return budget;
}

std::unique_ptr<ReadLimit> Surroundings::NewReadLimit(const MemoryBudget* budget) const {
  std::string why;
  std::unique_ptr<ReadLimit> limit = LimitReads(budget, &why);
  if (limit == nullptr && limited_) {
    throw Error(Error::kRun, "--read-iops can no longer be enforced: " + why);
  }
  return limit;
}

void Surroundings::MakeScratch() {
  if (options_.scratch_bytes == 0) return;
  ScratchOptions scratch;
  scratch.bytes = options_.scratch_bytes;
  scratch.file_system = options_.scratch_fs;
  scratch.directory = ".";
  ProgressLine progress("scratch device", options_.progress());
  scratch.progress = [&progress](uint64_t done, uint64_t all) {
    progress.Say(fmt::format("{} of {} written", ShortSize(done), ShortSize(all)));
  };
  scratch_ = ScratchDevice::Create(scratch);
  scratch_path_ = scratch_->path();
}

std::string Surroundings::Where() const {
  return scratch_ ? scratch_path_ : options_.dir.empty() ? "." : options_.dir;
}

void Surroundings::SetReadahead(json* document) {
  if (!options_.readahead_bytes) return;
  try {
    readahead_ =
        ReadaheadGuard::Under(ExistingDirectory(Where()), *options_.readahead_bytes / 1024);
  } catch (const Error& e) {
    if (options_.strict) throw;
    NotInForce("readahead", "is not in force", e.what(), "", document);
  }
}

void Surroundings::Finish(json* document) {
  if (!readahead_) return;
  const std::string told = readahead_->Restore();
  if (!told.empty())
    NotInForce("readahead", "did not hold, or is not put back", told, "", document);
}

void Surroundings::CheckBudget(json* document) {
  if (WorksElsewhere(options_.engine_name, options_.engine)) {
    return CheckServerMemory(options_, "", document);
  }
  if (options_.ram_bytes == 0) return;
  std::string why;
  const std::unique_ptr<MemoryBudget> budget = MemoryBudget::Create(options_.ram_bytes, &why);
  bounded_ = budget != nullptr;
  unbounded_ = !bounded_;
  if (bounded_) why = budget->lacks();
  if (why.empty()) return;
  if (options_.strict) throw Error(Error::kUsage, "--ram cannot be enforced: " + why);
  NotInForce("ram", bounded_ ? "holds in part" : "is not enforced, caches may hold more", why, "",
             document);
}

std::unique_ptr<ReadLimit> Surroundings::LimitReads(const MemoryBudget* budget,
                                                    std::string* why) const {
  if (options_.read_iops == 0 || WorksElsewhere(options_.engine_name, options_.engine)) {
    return nullptr;
  }
  const std::string where = ExistingDirectory(Where());
  const std::optional<BlockDevice> device = BlockDevice::Find(where);
  if (!device) {
    *why = "the database's file system has no block device";
    return nullptr;
  }
  *why = WhyNotAllReads(*device, where);
  if (!why->empty()) return nullptr;
  return ReadLimit::Create(*device, options_.read_iops, budget, why);
}

void Surroundings::CheckReadLimit(json* document) {
  // CheckServerMemory has reported a server that the limit does not reach.
  if (options_.read_iops == 0 || WorksElsewhere(options_.engine_name, options_.engine)) return;
  std::string why;
  limited_ = LimitReads(NewBudget().get(), &why) != nullptr;
  if (limited_) return;
  if (options_.strict) throw Error(Error::kUsage, "--read-iops cannot be enforced: " + why);
  NotInForce("read-iops", "is not enforced", why, "", document);
}

}  // namespace testbed
