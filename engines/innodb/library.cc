#include "engines/innodb/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed::innodb {
namespace {

constexpr char kFile[] = "libmariadbd.so.19";

// RTLD_LOCAL hides the library's 26,000 symbols from the program. There is no RTLD_DEEPBIND, so the
// program's symbols come before the library's own: both must use one allocator, since the library
// frees memory that libc has allocated by the program's malloc. The program and its libraries
// export no name of the library but those of fmt, in the same version.
constexpr int kHow = RTLD_NOW | RTLD_LOCAL;

std::string HowToGetIt() {
  return std::string("innodb needs MariaDB's embedded library ") + kFile +
         ": apt-get install libmariadbd19 (Debian 12) or libmariadbd19t64 (Debian 13)";
}

// Copies the file into memory and returns a path to the copy. The loader takes the copy for another
// library, because it identifies libraries by path. The descriptor of the copy stays open:
// otherwise a later copy could get the same descriptor, and its path would name the library that
// was loaded before.
std::string CopyInMemory(const std::string& path) {
  const int from = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st {};
  if (from < 0 || ::fstat(from, &st) != 0) throw Error::Io("open", path, errno);
  const int to = ::memfd_create("mariadbd", MFD_CLOEXEC);
  off_t copied = 0;
  while (to >= 0 && copied < st.st_size) {
    if (::sendfile(to, from, &copied, static_cast<size_t>(st.st_size - copied)) <= 0) break;
  }
  const int error = errno;
  ::close(from);
  if (copied < st.st_size) throw Error::Io("copy", path, error);
  return "/proc/self/fd/" + std::to_string(to);
}

void* OpenLibrary(const std::string& path) {
  void* const handle = ::dlopen(path.c_str(), kHow);
  if (handle == nullptr) {
    throw Error(Error::kUsage, HowToGetIt() + " (" + ::dlerror() + ")");
  }
  return handle;
}

// Loads a copy of the library in which no server was started yet, and returns its handle.
void* NewHandle() {
  static Mutex mutex;
  static std::string first GUARDED_BY(mutex);  // path of the library's file, once it was loaded
  LockGuard lock(mutex);
  if (!first.empty()) return OpenLibrary(CopyInMemory(first));
  void* const handle = OpenLibrary(kFile);
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) first = map->l_name;
  return handle;
}

}  // namespace

std::unique_ptr<Library> Library::Load() {
  std::unique_ptr<Library> library(new Library);
  void* const handle = NewHandle();
#define TESTBED_FIND(name)                                                                         \
  library->calls_.name = reinterpret_cast<decltype(library->calls_.name)>(::dlsym(handle, #name)); \
  if (library->calls_.name == nullptr) {                                                           \
    throw Error(Error::kUsage, std::string(kFile) + " has no " #name "; " + HowToGetIt());         \
  }
  TESTBED_MARIADB_CALLS(TESTBED_FIND)
  TESTBED_EMBEDDED_CALLS(TESTBED_FIND)
#undef TESTBED_FIND
  return library;
}

std::string Library::Missing() {
  // These are the directories in which the loader finds the library on supported systems.
  for (const char* dir : {"/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/",
                          "/usr/lib64/", "/usr/lib/", "/usr/local/lib/"}) {
    std::error_code error;
    if (std::filesystem::exists(std::string(dir) + kFile, error)) return "";
  }
  return HowToGetIt();
}

// This never closes the library, so the loader keeps it for Load.
void Library::ReadCode() { (void)::dlopen(kFile, kHow); }

}  // namespace testbed::innodb

#ifdef __SANITIZE_ADDRESS__
// LeakSanitizer calls this function for its list of known leaks. The library does not free memory
// that it allocates for a session's last HANDLER read.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:mysql_ha_read\n";
}
#endif
