// A connection between two tasks of a run, over which they send each other lines of JSON, and the
// two ways to get one: task 0 listens, the others connect. Nothing secret goes over it: no password
// is among the options of a run.
//
//   TaskListener listener("10.0.0.1", "7717");
//   std::unique_ptr<TaskLink> link = listener.Accept(0.1, MonotonicNs);  // null: nobody has come
//   link = ConnectToTask("10.0.0.1", "7717", MonotonicNs, &why);         // in another task
//
// Any thread may send. One thread at a time may read.
#ifndef TESTBED_TOOLS_RUN_TASKS_TASK_LINK_H_
#define TESTBED_TOOLS_RUN_TASKS_TASK_LINK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/os/mutex.h"

namespace testbed {

// A line that has come, and when it was read by the clock of this host.
struct TaskLine {
  nlohmann::json line;
  int64_t at_ns = 0;
};

class TaskLink {
 public:
  // Takes over the socket, a connected one of streams. `now` is the clock of this host, in
  // nanoseconds, such as MonotonicNs (clock_offset.h).
  explicit TaskLink(int fd, std::function<int64_t()> now);
  ~TaskLink();
  TaskLink(const TaskLink&) = delete;
  TaskLink& operator=(const TaskLink&) = delete;

  // Sends a line. Returns false when the other end is gone, or has taken nothing for `seconds` of
  // LimitSends.
  bool Send(const nlohmann::json& line);
  // Sends the line that `make` returns, which is called just before.
  bool SendMade(const std::function<nlohmann::json()>& make);
  void LimitSends(double seconds);
  // Takes no line that is longer than this from now on: Read returns false then.
  void LimitLines(size_t bytes) { longest_line_ = bytes; }

  // Adds the whole lines that have come to *lines; waits for some up to `milliseconds`. Returns
  // false once the other end is closed, or has sent what is no line of JSON.
  bool Read(int milliseconds, std::vector<TaskLine>* lines);
  // Returns the first line that comes within `seconds`; nothing when none does, or the other end is
  // closed. Throws Stopped when the run should end. What came behind that line is read next.
  std::optional<TaskLine> Await(double seconds);

  // Returns how many bytes have come, those of a line that is not whole yet included. For the
  // thread that reads.
  uint64_t received() const { return received_; }
  int fd() const { return fd_; }

  // The longest line of all: the seconds of a phase of hours, or the rows of a large population.
  static constexpr size_t kLongestLine = 512u << 20;

 private:
  const int fd_;
  const std::function<int64_t()> now_;
  size_t longest_line_ = kLongestLine;
  uint64_t received_ = 0;
  Mutex sending_;
  std::string text_;                  // bytes that were read, of a line that is not whole yet
  std::vector<TaskLine> read_ahead_;  // by Await
};

class TaskListener {
 public:
  // Listens at an address of this host, or, when `host` is a name other than localhost, at all of
  // them: a host's own name often leads to its loopback. Throws Error (kUsage), which names
  // --task-address, also when the name leads to no host or to another one.
  TaskListener(const std::string& host, const std::string& port);
  ~TaskListener();
  TaskListener(const TaskListener&) = delete;
  TaskListener& operator=(const TaskListener&) = delete;

  // Returns the next connection; null when nobody has come within `seconds`.
  std::unique_ptr<TaskLink> Accept(double seconds, const std::function<int64_t()>& now);

  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// Connects once. Returns null, and sets *why, when nobody listens there. Throws Error (kUsage) when
// the host has no address.
std::unique_ptr<TaskLink> ConnectToTask(const std::string& host, const std::string& port,
                                        const std::function<int64_t()>& now, std::string* why);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_TASK_LINK_H_
