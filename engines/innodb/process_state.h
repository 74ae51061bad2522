// This header has guards for the start and the end of the embedded server, which writes complaints
// to stderr and changes the process's umask, locale and one signal handler. They are of the whole
// process, so only one thread at a time may have them.
#ifndef TESTBED_ENGINES_INNODB_PROCESS_STATE_H_
#define TESTBED_ENGINES_INNODB_PROCESS_STATE_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <string>

namespace testbed::innodb {

// A StderrCapture captures what is written to stderr while it exists; End returns the text. The
// server writes its complaints to stderr.
class StderrCapture {
 public:
  StderrCapture() : memory_(::memfd_create("stderr", MFD_CLOEXEC)), saved_(::dup(2)) {
    std::fflush(stderr);
    if (memory_ >= 0 && saved_ >= 0) ::dup2(memory_, 2);
  }
  ~StderrCapture() { End(); }
  std::string End() {
    std::string text;
    if (saved_ < 0) return text;
    std::fflush(stderr);
    ::dup2(saved_, 2);
    ::close(saved_);
    saved_ = -1;
    struct stat st {};
    if (memory_ >= 0 && ::fstat(memory_, &st) == 0) {
      text.resize(static_cast<size_t>(st.st_size));
      if (::pread(memory_, text.data(), text.size(), 0) < 0) text.clear();
    }
    ::close(memory_);
    return text;
  }

 private:
  int memory_, saved_;
};

// A ProcessState restores the mask of new files, the locale and the handler of SIGPIPE, which the
// server changes.
class ProcessState {
 public:
  ProcessState() : mask_(::umask(022)), locale_(std::setlocale(LC_ALL, nullptr)) {
    ::umask(mask_);
    ::sigaction(SIGPIPE, nullptr, &pipe_);
  }
  ~ProcessState() {
    ::umask(mask_);
    ::sigaction(SIGPIPE, &pipe_, nullptr);
    std::setlocale(LC_ALL, locale_.c_str());
  }

 private:
  const mode_t mask_;
  const std::string locale_;
  struct sigaction pipe_ {};
};

// Returns the first complaint of InnoDB in `text`, without its date. If there is none, returns the
// server's first complaint. When InnoDB has failed, the server complains, too, but it does not say
// why.
std::string FirstComplaint(const std::string& text);

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_PROCESS_STATE_H_
