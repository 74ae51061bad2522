// Releases of an engine beside the one that is linked into this program. Each has a program of its
// own, the same testbed linked with that release's library (tools/build_engine.sh,
// cmake/Releases.cmake), which executes the runs of an engine that is named with its release:
//
//   const NamedEngine named = SplitRelease("rocksdb@10.4.2");       // "rocksdb", "10.4.2"
//   const EngineRelease& release = FindRelease(named.engine, named.release);
//   const std::string program = release.program;   // executes its runs (release_process.h)
//
// A release is a number as in tools/setup/engine_releases, the word latest, which is the last of
// them, or the path of an installation of the user's own (rocksdb@/opt/rocksdb).
//
// The programs lie in releases/*/testbed beside this program, or below the directory that the
// environment variable TESTBED_RELEASES names; release.json beside each says what it is.
// Thread-safe.
#ifndef TESTBED_TOOLS_RELEASE_RELEASE_H_
#define TESTBED_TOOLS_RELEASE_RELEASE_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace testbed {

struct NamedEngine {
  std::string engine;
  std::string release;  // empty: the release that is linked in
};

struct EngineRelease {
  std::string engine;
  std::string release;  // number, or path of an installation
  std::string from;     // month in which it was released, as in 2025-07; empty when not known
  std::string recipe;   // how its library was built
  std::string program;  // path of the testbed that runs it
  std::string library;  // path of the library that it was linked with; empty when not known
  std::string made;     // bytes of that library, and the second of its last change; or empty

  // Returns "release" of a run's engine (docs/results.md).
  nlohmann::json ToJson() const;
};

// A release that tools/build_engine.sh can build.
struct KnownRelease {
  std::string engine, release, from;
};

// Splits ENGINE@RELEASE at its first @. An @ behind a colon belongs to the engine's form:
// mysql:mariadb@10.1.23.
NamedEngine SplitRelease(const std::string& name);

// Returns the releases that have a program, in the order of their engines, months and names.
std::vector<EngineRelease> InstalledReleases();
// Returns the releases that can be built, those of an engine from the oldest to the newest.
const std::vector<KnownRelease>& KnownReleases();

// Returns the release that this program was linked with when it is the program of a release;
// nothing for testbed itself.
std::optional<EngineRelease> OwnRelease();

// Returns the installed release of that name. Throws Error (kUsage) with one sentence that names
// the command that builds it, or the releases that there are.
EngineRelease FindRelease(const std::string& engine, const std::string& release);

// Throws Error (kUsage) when the release's library was made anew or replaced after its program was
// linked: the program has the library of before.
void CheckLinkedLibrary(const EngineRelease& release);

// Returns the sentence about the program of a release that was linked for another build of testbed.
std::string OfAnotherBuild(const std::string& engine, const std::string& release);

// Executes (execve) the program of the release that `words` name by --engine NAME@RELEASE, with the
// same arguments, in place of this program. Returns when they name no release, or that of this
// program. Throws Error (kUsage) as FindRelease does, and when another build of testbed has
// executed this program in this way; Error (kIo) when the program cannot be executed. It is for
// commands that run an engine in their own process.
void BecomeRelease(const std::vector<std::string>& words, char** argv);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RELEASE_RELEASE_H_
