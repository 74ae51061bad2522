#include "engines/sql/server_home.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "device/os/signal_guard.h"

namespace testbed {
namespace {

constexpr std::chrono::milliseconds kServerPoll(5);
constexpr std::chrono::seconds kPatienceWithEnd(600);  // a shutdown writes pages

}  // namespace

ServerHome::ServerHome(std::string dir, bool is_new, int end_signal)
    : dir_(std::move(dir)), is_new_(is_new), end_signal_(end_signal) {
  namespace fs = std::filesystem;
  std::error_code error;
  log_begin_ = fs::exists(log(), error) ? fs::file_size(log(), error) : 0;
  if (is_new && fs::exists(cluster()) && !fs::is_empty(cluster(), error)) {
    throw Error(
        Error::kUsage,
        fmt::format("{} is not empty and no database of testbed, which leaves it alone; choose "
                    "another --dir, or --fresh",
                    cluster()));
  }
}

ServerHome::~ServerHome() {
  if (process_ != nullptr) process_->End(end_signal_, kPatienceWithEnd);
  files_.reset();
  if (cluster_fd_ >= 0) ::close(cluster_fd_);
  if (!discard_) return;
  std::error_code error;
  std::filesystem::remove_all(cluster(), error);
  if (log_begin_ == 0) {
    std::filesystem::remove(log(), error);
  } else {
    std::filesystem::resize_file(log(), log_begin_, error);  // leaves what was there before
  }
}

void ServerHome::HoldCluster() {
  cluster_fd_ = ::open(cluster().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (cluster_fd_ < 0) throw Error::Io("open", cluster(), errno);
}

std::string ServerHome::ShortCluster() const {
  return fmt::format("/proc/self/fd/{}", cluster_fd_);
}

void ServerHome::Launch(const ServerCommand& command, const std::string& socket) {
  if (::unlinkat(cluster_fd_, socket.c_str(), 0) != 0 && errno != ENOENT) {
    throw Error::Io("remove", cluster() + "/" + socket, errno);
  }
  process_ = std::make_unique<ServerProcess>(command);
}

bool ServerHome::HasSocket(const std::string& socket) const {
  return ::access((cluster() + "/" + socket).c_str(), F_OK) == 0;
}

void ServerHome::WatchFiles(const std::function<FileKind(const std::string& path)>& kind) {
  files_ = std::make_unique<FileWatch>(cluster(), kind);
}

void ServerHome::WaitAMoment() {
  if (StopRequested()) throw Stopped("while its server started");
  std::this_thread::sleep_for(kServerPoll);
}

std::ifstream ServerHome::Messages() const {
  std::ifstream file(log());
  file.seekg(static_cast<std::streamoff>(log_begin_));
  return file;
}

bool ServerHome::SaysFull(const std::string& messages) {
  return messages.find("No space left") != std::string::npos ||
         messages.find("error number 28") != std::string::npos;
}

Error ServerHome::Failure(bool full, Error::Kind kind, const std::string& sentence, int code) {
  return full ? Error(Error::kIo, sentence, ENOSPC) : Error(kind, sentence, code);
}

}  // namespace testbed
