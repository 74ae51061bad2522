#include "tools/crashtest/crash_kind.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <vector>

namespace testbed {

std::string Describe(Crash crash, CrashPlace place) {
  static constexpr const char* kNames[] = {"kill", "power cut", "power cut of the disk",
                                           "write that the disk refused"};
  static constexpr const char* kPlaces[] = {"", " during checkpoints", " in a clean close",
                                            " in the creation of the database"};
  return std::string(kNames[static_cast<size_t>(crash)]) + kPlaces[static_cast<size_t>(place)];
}

Crash CrashOf(const CrashtestOptions& options, int round) {
  if (round < options.kills) return Crash::kKill;
  round -= options.kills;
  if (round < options.power_cuts) return Crash::kPowerCut;
  return round < options.power_cuts + options.disk_cuts ? Crash::kDiskCut : Crash::kDiskError;
}

bool ClosesAfterCheck(const CrashtestOptions& options, int round, Random* random) {
  return round >= options.kills || random->Below(2) == 0;
}

std::vector<int> ClientsOf(const CrashtestOptions& options, int round) {
  constexpr int kPeriod = 8;
  if (round % kPeriod == kPeriod - 1) return {round / kPeriod % options.writers};
  std::vector<int> clients;
  for (int w = 0; w < options.writers; ++w) clients.push_back(w);
  return clients;
}

CrashPlace AnyPlace(Random* random) {
  const uint64_t at = random->Below(100);
  if (at < 50) return CrashPlace::kWriting;
  if (at < 75) return CrashPlace::kCheckpoint;
  return at < 90 ? CrashPlace::kClose : CrashPlace::kCreation;
}

std::string AnyFileIn(const std::string& dir, Random* random) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(dir, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;
    if (at->is_regular_file(gone) && at->file_size(gone) > 0) files.push_back(at->path().string());
  }
  if (files.empty()) return "";
  std::sort(files.begin(), files.end());
  return files[random->Below(files.size())];
}

}  // namespace testbed
