#include "engines/sql/file_watch.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/os/thread.h"

namespace testbed {
namespace {

std::string Joined(const std::string& dir, const std::string& name) {
  return dir.empty() ? name : dir + "/" + name;
}

}  // namespace

FileWatch::FileWatch(std::string dir, std::function<FileKind(const std::string&)> kind)
    : dir_(std::move(dir)),
      kind_(std::move(kind)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (inotify_.fd < 0 || stop_.fd < 0) throw Error::Io("watch", dir_, errno);
  EnterDirectory("");
  thread_ = StartThread("watching the server's files", [this] { Follow(); });
}

FileWatch::~FileWatch() {
  const uint64_t one = 1;
  if (::write(stop_.fd, &one, sizeof one) == sizeof one) thread_.join();
}

void FileWatch::Enter(const std::string& path) {
  struct stat st {};
  if (::lstat((dir_ + "/" + path).c_str(), &st) != 0) return;
  if (S_ISDIR(st.st_mode)) return EnterDirectory(path);
  if (S_ISREG(st.st_mode)) Ledger::Get().RegisterFile(st.st_dev, st.st_ino, kind_(path));
}

void FileWatch::EnterDirectory(const std::string& path) {
  // The directory is watched before it is listed, so that no file that is made in between is
  // missed.
  const std::string full = Joined(dir_, path);
  const int number =
      ::inotify_add_watch(inotify_.fd, full.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  if (number >= 0) watched_[number] = path;
  std::error_code error;
  std::filesystem::directory_iterator at(full, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    Enter(Joined(path, at->path().filename()));
  }
}

void FileWatch::Follow() {
  ::pthread_setname_np(::pthread_self(), "file-watch");
  alignas(inotify_event) char bytes[16384];
  pollfd ready[] = {{inotify_.fd, POLLIN, 0}, {stop_.fd, POLLIN, 0}};
  while (::poll(ready, 2, -1) >= 0 || errno == EINTR) {
    if (ready[1].revents != 0) return;
    const ssize_t size = ::read(inotify_.fd, bytes, sizeof bytes);
    for (ssize_t at = 0; at < size;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(bytes + at);
      at += static_cast<ssize_t>(sizeof *event + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) EnterDirectory("");  // the kernel dropped events
      const auto dir = watched_.find(event->wd);
      if (dir == watched_.end() || event->len == 0) continue;
      const std::string path = Joined(dir->second, event->name);
      Enter(path);
    }
  }
}

}  // namespace testbed
