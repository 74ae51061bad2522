// Tests which steps tools/check_clean_root.sh --packages takes. What makes a Debian, enters it and
// makes a container are stand-ins, scripts that write down how they were called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The stand-in for debootstrap. It makes only those folders of a root that the script uses.
constexpr char kDebootstrap[] = R"sh(
root=$3
echo "locale ${LC_ALL:-}" >>"$CALLS"
mkdir -p "$root"/{etc/apt/apt.conf.d,var/lib/apt/lists,var/cache/apt/archives,root,proc,sys,dev}
)sh";

// The stand-in for chroot. It writes down the root, the folder and the command. When the command is
// a build of packages, it makes some.
constexpr char kChroot[] = R"sh(
root=$1
shift 2
while [[ $1 == -* || $1 == *=* ]]; do
  [[ $1 != --chdir=* ]] || at=${1#--chdir=}
  shift
done
echo "$(basename "$root") $at: $*" >>"$CALLS"
[[ -z ${FAILS:-} || $* != *"$FAILS"* ]] || exit 1
case $* in
  "cmake --build "*) mkdir -p "$root$3" ;;
  "cpack "*) touch "$root$at/testbed_0.1.0_amd64.deb" "$root$at/libtestbed-dev_0.1.0_amd64.deb" ;;
esac
)sh";

// Has nothing to report, and a commit with the recipe alone.
constexpr char kGit[] = R"sh(
[[ $* != *" archive "* ]] || tar -cf "${@: -2:1}" -C "$2" Containerfile
)sh";

class CleanRootTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (::geteuid() != 0) GTEST_SKIP() << "the script makes a Debian, which takes root";
    fs::create_directories(directory_ / "tools");
    fs::copy(fs::path(SourceDir()) / "tools/check_clean_root.sh", directory_ / "tools");
    fs::copy(fs::path(SourceDir()) / "Containerfile", directory_);
    StandIn("debootstrap", kDebootstrap);
    StandIn("chroot", kChroot);
    StandIn("git", kGit);
    StandIn("mount", "");
    StandIn("unshare", "shift 2\nexec \"$@\"\n");
    StandIn("podman", "exit 1\n");
    StandIn("docker", "exit 1\n");
  }
  void StandIn(const std::string& name, const std::string& text) {
    fs::create_directories(directory_ / "bin");
    std::ofstream(directory_ / "bin" / name) << "#!/bin/bash\n" << text;
    fs::permissions(directory_ / "bin" / name, fs::perms::owner_all);
  }
  // Returns the exit code of the script. Sets calls_ to what the stand-ins wrote down, and said_ to
  // what the script printed.
  int Check(const std::string& words, const std::string& environment = "") {
    const std::string calls = directory_ / "calls", said = directory_ / "said";
    fs::remove(calls);
    const std::string command =
        "cd " + directory_.string() + " && CALLS=" + calls + " TMPDIR=" + directory_.string() +
        " DEBIAN_MIRROR=http://localhost/debian PATH=" + (directory_ / "bin").string() +
        ":/usr/bin:/bin " + environment + " tools/check_clean_root.sh " + words + " >" + said +
        " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    calls_ = Read(calls);
    said_ = Read(said);
    return WEXITSTATUS(status);
  }
  std::string calls_, said_;
};

constexpr char kInPackage[] = "package /root: ";

// The second call of run.sh must take less than a second, which a busy machine may not give it, so
// these tests do not go by the exit code of a success.
TEST_F(CleanRootTest, PackagesAreMadeInOneRootAndInstalledInAnother) {
  Check("--packages --no-tests");
  EXPECT_THAT(said_, Not(HasSubstr("FAILED")));
  EXPECT_THAT(calls_, HasSubstr("source /root/testbed/build/release: cpack -G DEB\n"));
  EXPECT_THAT(calls_,
              AllOf(HasSubstr(kInPackage + std::string("apt-get -q update\n")),
                    HasSubstr("--no-install-recommends ./testbed_0.1.0_amd64.deb\n"),
                    HasSubstr("--no-install-recommends ./libtestbed-dev_0.1.0_amd64.deb\n"),
                    HasSubstr(kInPackage + std::string("/bin/sh -c g++ -std=c++20 source/")),
                    HasSubstr(kInPackage + std::string("testbed --version\n")),
                    HasSubstr(kInPackage + std::string("testbed --engine btree ")),
                    HasSubstr(kInPackage + std::string("testbed --engine rocksdb "))));
  Check("--no-tests");
  EXPECT_THAT(calls_, Not(HasSubstr("cpack"))) << "it was not asked for packages";
}

// A decimal comma in the seconds that the shell measured would end the limits.
TEST_F(CleanRootTest, TheUsersLocaleDoesNotCount) {
  Check("--no-tests", "LC_ALL=de_DE.UTF-8");
  EXPECT_THAT(calls_, HasSubstr("locale C\n"));
}

TEST_F(CleanRootTest, TheRecipeIsFollowedWhereNoProgramMakesContainers) {
  Check("--packages --no-tests");
  const std::string run = "container /usr/src/testbed: /bin/sh -c tools/run.sh --version && cmake ";
  EXPECT_THAT(calls_, HasSubstr(run));
  EXPECT_THAT(calls_, HasSubstr("/var/lib/apt/lists/*\ncontainer /work: testbed --version\n"))
      << "the lines of a step are one command";
  EXPECT_THAT(calls_, HasSubstr("container /work: testbed --engine rocksdb "));
  Check("--packages --no-tests trixie");
  EXPECT_THAT(calls_, Not(HasSubstr("container"))) << "the recipe is for another Debian";
  std::ofstream(directory_ / "Containerfile", std::ios::app) << "VOLUME /data\n";
  EXPECT_EQ(Check("--packages --no-tests"), 1);
  EXPECT_THAT(said_, HasSubstr("tools/check_clean_root.sh does not know what 'VOLUME /data'"));
}

TEST_F(CleanRootTest, AProgramThatMakesContainersIsUsed) {
  StandIn("podman", "echo \"podman $*\" >>\"$CALLS\"\n");
  Check("--packages --no-tests");
  EXPECT_THAT(said_, Not(HasSubstr("FAILED")));
  EXPECT_THAT(calls_, AllOf(HasSubstr("podman build -t "), HasSubstr("podman run --rm "),
                            HasSubstr(" --engine btree "), HasSubstr("podman rmi ")));
  EXPECT_THAT(calls_, Not(HasSubstr("container /")));
}

TEST_F(CleanRootTest, AStepThatFailsIsNamedAndFailsTheCheck) {
  EXPECT_EQ(Check("--packages --no-tests", "FAILS='cpack -G DEB'"), 1);
  EXPECT_THAT(said_, AllOf(HasSubstr("deb-cpack"), HasSubstr("FAILED with exit code 1")));
  EXPECT_THAT(calls_, Not(HasSubstr(kInPackage))) << "there is nothing to install";
  EXPECT_THAT(calls_, HasSubstr("container /work: testbed --version\n"));
  EXPECT_EQ(Check("--packages --no-tests", "FAILS='--engine rocksdb --ram'"), 1);
  EXPECT_THAT(said_, AllOf(HasSubstr("deb-rocksdb"), HasSubstr("image-rocksdb")));
}

}  // namespace
}  // namespace testbed
