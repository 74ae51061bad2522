#include "tools/release/release.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <tuple>

#include "device/error.h"
#include "device/file/input_file.h"
#include "tools/output/json_text.h"
#include "tools/release/build_info.h"

namespace testbed {

// CMake generates this function from tools/setup/engine_releases (known.cc.in).
const char* EngineReleasesTable();

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path OwnDirectory() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed).parent_path();
}

// Returns release.json of the directory, which describes its program; null when it cannot be read.
json DescriptionIn(const fs::path& directory) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const std::string path = directory / "release.json";
  try {
    return ParseJson(InputFile({.path = path, .name = path}).ReadAll(kMostBytes));
  } catch (const Error&) {
    return nullptr;
  }
}

// Returns the release whose program lies in the directory; nothing when none does.
std::optional<EngineRelease> ReleaseIn(const fs::path& directory) {
  const json j = DescriptionIn(directory);
  if (!j.is_object()) return std::nullopt;
  const std::string program = directory / "testbed";
  if (::access(program.c_str(), X_OK) != 0) return std::nullopt;
  const auto word = [&j](const char* name) {
    return j.contains(name) && j[name].is_string() ? j[name].get<std::string>() : std::string();
  };
  return EngineRelease{.engine = word("engine"),
                       .release = word("release"),
                       .from = word("from"),
                       .recipe = word("recipe"),
                       .program = program,
                       .library = word("library"),
                       .made = word("made")};
}

// Returns what EngineRelease::made says of the library as it is now; empty when there is none.
std::string MadeOf(const std::string& library) {
  struct stat is;
  if (::stat(library.c_str(), &is) != 0) return "";
  return fmt::format("{} {}", is.st_size, is.st_mtime);
}

fs::path ReleasesDirectory() {
  if (const char* given = std::getenv("TESTBED_RELEASES")) return given;
  // A release's own program lies in one of the directories.
  return OwnRelease() ? OwnDirectory().parent_path() : OwnDirectory() / "releases";
}

std::string BuildCommand(const std::string& engine, const std::string& release) {
  return fmt::format("tools/build_engine.sh {} {}", engine, release);
}

// Returns the sentence about a release that is not installed.
std::string WhyNot(const std::string& engine, const std::string& release) {
  const std::string name = fmt::format("--engine {}@{}", engine, release);
  std::string known;
  for (const KnownRelease& r : KnownReleases()) {
    if (r.engine != engine) continue;
    if (r.release == release) {
      return fmt::format("{} is not built yet; `{}` builds it once", name,
                         BuildCommand(engine, release));
    }
    known += (known.empty() ? "" : ", ") + r.release;
  }
  if (release.starts_with('/')) {
    return fmt::format(
        "{} has no program yet; `{}` links one with the library that is installed "
        "there",
        name, BuildCommand(engine, release));
  }
  if (known.empty()) {
    return fmt::format(
        "{} is not accepted: {} has no releases beside that of this program; give "
        "--engine {}",
        name, engine, engine);
  }
  return fmt::format(
      "{} is not accepted; {} has the releases {}, latest, and @/PREFIX for an "
      "installation of your own",
      name, engine, known);
}

// BecomeRelease sets this environment variable to its build, for the program that it executes.
constexpr char kBuildOfCaller[] = "TESTBED_BUILD_OF_CALLER";

// Throws Error (kUsage) when a program of another build has executed this one, the release's.
void CheckBuildOfCaller(const EngineRelease& own) {
  const char* const caller = std::getenv(kBuildOfCaller);
  if (caller == nullptr) return;
  const bool same = ThisBuild().id() == caller;
  ::unsetenv(kBuildOfCaller);
  if (!same) throw Error(Error::kUsage, OfAnotherBuild(own.engine, own.release));
}

}  // namespace

json EngineRelease::ToJson() const {
  json all = {{"name", release}, {"from", from}, {"recipe", recipe}};
  if (!made.empty()) all["made"] = made;
  return all;
}

NamedEngine SplitRelease(const std::string& name) {
  const size_t at = name.find('@');
  if (at == std::string::npos || name.find(':') < at) return {name, ""};
  std::string release = name.substr(at + 1);
  // A release may be named by its prefix, a directory, whose name may end with slashes.
  while (release.size() > 1 && release.starts_with('/') && release.ends_with('/')) {
    release.pop_back();
  }
  return {name.substr(0, at), release};
}

std::vector<EngineRelease> InstalledReleases() {
  std::vector<EngineRelease> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(ReleasesDirectory(), failed)) {
    if (auto release = ReleaseIn(entry.path())) found.push_back(std::move(*release));
  }
  std::sort(found.begin(), found.end(), [](const EngineRelease& a, const EngineRelease& b) {
    return std::tie(a.engine, a.from, a.release) < std::tie(b.engine, b.from, b.release);
  });
  return found;
}

const std::vector<KnownRelease>& KnownReleases() {
  static const std::vector<KnownRelease> known = [] {
    std::vector<KnownRelease> all;
    std::istringstream lines(EngineReleasesTable());
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      KnownRelease release;
      if (line.starts_with('#')) continue;
      if (words >> release.engine >> release.release >> release.from) all.push_back(release);
    }
    return all;
  }();
  return known;
}

std::optional<EngineRelease> OwnRelease() { return ReleaseIn(OwnDirectory()); }

EngineRelease FindRelease(const std::string& engine, const std::string& release) {
  std::string wanted = release;
  if (release == "latest") {
    for (const KnownRelease& known : KnownReleases()) {
      if (known.engine == engine) wanted = known.release;
    }
  }
  for (EngineRelease& installed : InstalledReleases()) {
    if (installed.engine == engine && installed.release == wanted) return std::move(installed);
  }
  throw Error(Error::kUsage, WhyNot(engine, wanted));
}

void CheckLinkedLibrary(const EngineRelease& release) {
  std::error_code no_library, no_program;
  const fs::file_time_type made = fs::last_write_time(release.library, no_library);
  const fs::file_time_type linked = fs::last_write_time(release.program, no_program);
  if (no_library || no_program) return;
  // A library that is older than the program may be another one than that which was linked.
  const std::string now = MadeOf(release.library);
  const bool replaced = !release.made.empty() && !now.empty() && now != release.made;
  if (made <= linked && !replaced) return;
  throw Error(
      Error::kUsage,
      fmt::format("the program of {}@{} was linked before {} was made anew; run `{}` again, which "
                  "links it with that library",
                  release.engine, release.release, release.library,
                  BuildCommand(release.engine, release.release)));
}

std::string OfAnotherBuild(const std::string& engine, const std::string& release) {
  return fmt::format(
      "the program of {}@{} was linked for another build of testbed; run `{}` again, which links "
      "it anew",
      engine, release, BuildCommand(engine, release));
}

void BecomeRelease(const std::vector<std::string>& words, char** argv) {
  std::string name;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--engine" && i + 1 < words.size()) name = words[i + 1];
    if (words[i].starts_with("--engine=")) name = words[i].substr(9);
  }
  const NamedEngine named = SplitRelease(name);
  if (named.release.empty()) return;
  const std::optional<EngineRelease> own = OwnRelease();
  const EngineRelease release = FindRelease(named.engine, named.release);
  std::error_code failed;
  if (own && own->engine == release.engine && own->release == release.release) {
    return CheckBuildOfCaller(*own);
  }
  if (fs::equivalent(release.program, "/proc/self/exe", failed)) return;
  ::setenv(kBuildOfCaller, ThisBuild().id().c_str(), 1);
  ::execv(release.program.c_str(), argv);
  throw Error::Io("execute", release.program, errno);
}

}  // namespace testbed
