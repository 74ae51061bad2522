// Tests a run that is watched: metrics that are scraped while it lasts, lines where there is no
// terminal, and a screen on a terminal that is left as it was.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/started_command.h"
#include "tests/frozen_process.h"
#include "tests/paths.h"

namespace testbed {
namespace {

constexpr char kWatchedRun[] =
    "--engine btree --ram 64M --rows 2000 --warmup 0 --threads 2 --workload insert,point-read ";

// A socket of this test that listens on a port of the loopback address.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(fd_, 1), 0);
    socklen_t length = sizeof at;
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &length), 0);
    port_ = ntohs(at.sin_port);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int port() const { return port_; }

 private:
  const int fd_;
  int port_ = 0;
};

// Returns the whole answer to a request; empty when nobody listens.
std::string Request(int port, const std::string& request) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 &&
      ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char bytes[4096];
    for (ssize_t n; (n = ::recv(fd, bytes, sizeof bytes, 0)) > 0;) {
      answer.append(bytes, static_cast<size_t>(n));
    }
  }
  ::close(fd);
  return answer;
}

bool Finds(const std::string& text, const std::regex& what) {
  return std::regex_search(text, what);
}

class LiveTest : public StartedCommandTest {
 protected:
  // Starts a run with its standard error in the file `err`.
  pid_t StartRun(const std::string& options) { return Start(kWatchedRun + options + " 2>err", ""); }
  std::string Err() const { return Read(directory_ / "err"); }

  int AwaitPort() {
    std::smatch found;
    std::string text;
    const std::regex url("metrics: http://127.0.0.1:([0-9]+)/metrics\n");
    EXPECT_TRUE(Becomes([&] { return text = Err(), std::regex_search(text, found, url); }));
    return found.empty() ? 0 : std::stoi(found[1]);
  }

  // Returns the process of the run itself, a child of `parent`.
  pid_t RunOf(pid_t parent) const {
    for (const pid_t process : Processes()) {
      const std::string stat = Read(fmt::format("/proc/{}/stat", process));
      const size_t at = stat.rfind(')');
      if (at != std::string::npos && std::stoi(stat.substr(at + 4)) == parent) return process;
    }
    return 0;
  }
};

TEST_F(LiveTest, MetricsAreScrapedWhileARunLasts) {
  const pid_t run = StartRun("--seconds 60 --quiet --metrics 0");
  const int port = AwaitPort();
  const auto get = [port](const std::string& what) {
    return Request(port, what + " HTTP/1.1\r\nHost: x\r\n\r\n");
  };
  std::string answer;
  ASSERT_TRUE(Becomes([&] {
    answer = get("GET /metrics");
    return answer.find(
               "testbed_operations_total{engine=\"btree\",threads=\"2\",phase="
               "\"point-read\",operation=\"point-read\"}") != std::string::npos;
  })) << answer;
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Type: application/openmetrics-text; version=1.0.0"),
            std::string::npos);
  EXPECT_TRUE(answer.ends_with("# EOF\n"));
  EXPECT_NE(answer.find("testbed_latency_seconds{"), std::string::npos);
  EXPECT_TRUE(get("GET /").starts_with("HTTP/1.1 404 ")) << get("GET /");
  EXPECT_TRUE(get("GET /../../etc/passwd").find("root:") == std::string::npos);
  EXPECT_TRUE(get("POST /metrics").starts_with("HTTP/1.1 405 ")) << get("POST /metrics");
  EXPECT_TRUE(get("HEAD /metrics").ends_with("\r\n\r\n"));
  ::kill(run, SIGINT);
  EXPECT_EQ(ExitCodeOf(run), 130);
  EXPECT_EQ(Request(port, "GET /metrics HTTP/1.1\r\n\r\n"), "") << "the server ends with the run";
  EXPECT_TRUE(Processes().empty());
}

TEST_F(LiveTest, TheServerEndsWithAKilledProgram) {
  const pid_t run = StartRun("--seconds 60 --quiet --metrics 0");
  const int port = AwaitPort();
  ::kill(run, SIGKILL);
  ExitCodeOf(run);
  EXPECT_TRUE(Becomes([&] { return Processes().empty(); }));
  EXPECT_EQ(Request(port, "GET /metrics HTTP/1.1\r\n\r\n"), "");
}

TEST_F(LiveTest, WhatCannotBeServedOrShownIsRefusedBeforeTheRun) {
  const Listener taken;
  const std::string run = std::string(kWatchedRun) + "--seconds 1 --json h.json ";
  ExpectRefused(Run(run + fmt::format("--metrics {}", taken.port())), "Address already in use");
  ExpectRefused(Run(run + "--metrics 192.0.2.1:9100"), "Cannot assign requested address");
  ExpectRefused(Run(run + "--metrics 99999"), "--metrics 99999 is not accepted; it takes a port");
  ExpectRefused(Run(run + "--metrics 1.2.3:1"), "--metrics 1.2.3:1 is not accepted");
  ExpectRefused(Run(run + "--live --quiet"), "--live shows the run and --quiet shows nothing");
  ExpectRefused(Run(std::string(kWatchedRun) + "--page-size 4k,8k --live"),
                "--live belongs to a single run");
  ExpectRefused(Run("ab --engine btree --a io=direct --b io=buffered --live"), "--live");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// The seconds of a phase between which it stood still.
struct Stall {
  double from, to;
};

// Returns the stalls that the time plot of a phase labels, in the SVG file.
std::vector<Stall> LabelledStalls(const std::string& svg) {
  const std::regex label(">stall ([0-9.]+)\u2013([0-9.]+) s<");
  std::vector<Stall> stalls;
  for (std::sregex_iterator at(svg.begin(), svg.end(), label), end; at != end; ++at) {
    stalls.push_back({std::stod((*at)[1]), std::stod((*at)[2])});
  }
  return stalls;
}

class FrozenRunTest : public LiveTest {
 protected:
  // Runs with --json h.json, freezes the run for three seconds in its phase point-read, and sets
  // frozen_ to the second of the last report before it and the earliest second of the first after.
  void RunAndFreeze() {
    const pid_t run = StartRun("--seconds 8 --live --json h.json");
    const std::regex third("point-read: [3-5]\\.");
    ASSERT_TRUE(Becomes([&] { return Finds(Err(), third); })) << Err();
    const pid_t child = RunOf(run);
    ASSERT_GT(child, 0);
    FrozenProcess process(child);
    const auto thaws = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    RecordProperty("frozen_by", process.group().empty() ? "SIGSTOP" : process.group());
    // Lines come a second apart, the first after 2 s; on a busy machine one may come late.
    const std::regex still("stands still, no report for [3-9] s\n");
    const bool seen = Becomes([&] { return Finds(Err(), still); });
    std::this_thread::sleep_until(thaws);  // the line may come before
    process.Thaw();
    EXPECT_TRUE(seen) << Err();
    EXPECT_EQ(ExitCodeOf(run), 0);
    std::smatch after;
    const std::string lines = Err();
    ASSERT_TRUE(std::regex_search(
        lines, after, std::regex("btree, 2 threads point-read: after ([3-5]\\.[0-9]*)")))
        << lines;
    frozen_ = {std::stod(after[1]), std::stod(after[1]) + 3};
  }

  // Expects a stall that begins in the second of the freeze and ends after it.
  void ExpectFrozen(const Stall& stall, const std::string& where) const {
    EXPECT_GE(stall.from, frozen_.from - 0.1) << where;
    EXPECT_LE(stall.from, frozen_.from + 1.1) << where;
    EXPECT_GE(stall.to, frozen_.to - 0.1) << where;
    EXPECT_LE(stall.to, frozen_.to + 2) << where;
  }

  // Returns the query for stalls that the help of `testbed results query` has.
  std::string HelpsQuery() {
    const std::string help = Run("results query --help").out;
    const size_t from = help.find("select label, phase, end_seconds"), to = help.find('"', from);
    EXPECT_NE(to, std::string::npos) << help;
    return from == std::string::npos ? "" : help.substr(from, to - from);
  }

  Stall frozen_{};
};

TEST_F(FrozenRunTest, AFrozenRunIsSeenAtItsSecondInLinesSeriesPictureAndQuery) {
  ASSERT_NO_FATAL_FAILURE(RunAndFreeze());
  const std::string lines = Err();
  EXPECT_NE(lines.find(", stalled\n"), std::string::npos) << lines;
  EXPECT_EQ(lines.find('\x1b'), std::string::npos) << "no terminal, no commands for one";

  const std::string series = Run("report h.json --series").out;
  std::smatch stall;
  ASSERT_TRUE(std::regex_search(
      series, stall, std::regex("stall from second ([3-5]\\.[0-9]) to ([5-9]\\.[0-9]+)")))
      << series;
  ExpectFrozen({std::stod(stall[1]), std::stod(stall[2])}, series);
  EXPECT_TRUE(Finds(series, std::regex("\n  stalled .*!!!"))) << series;

  ASSERT_EQ(Run("report h.json --svg p").code, 0);
  const std::vector<Stall> labels =
      LabelledStalls(Read(directory_ / "p" / "h_point-read_2thr_time.svg"));
  const auto longest = std::max_element(
      labels.begin(), labels.end(),
      [](const Stall& a, const Stall& b) { return a.to - a.from < b.to - b.from; });
  ASSERT_NE(longest, labels.end()) << "the time plot labels no stall";
  ExpectFrozen(*longest, "label in the time plot");

  ASSERT_EQ(Run("results add h.json").code, 0);
  ASSERT_EQ(Run("results query \"" + HelpsQuery() + "\" --json q.json").code, 0);
  const nlohmann::json worst = Json("q.json").at(0);
  EXPECT_EQ(worst.at("phase"), "point-read") << worst;
  EXPECT_GE(worst.at("max_us").get<double>(), 2e6) << worst;
  EXPECT_GE(worst.at("end_seconds").get<double>(), frozen_.to - 0.1) << worst;
  // What was under way when the run froze may have ended a moment after its second.
  EXPECT_LE(worst.at("end_seconds").get<double>(), longest->to + 1.1) << worst;
}

// A terminal of 100 columns and 30 rows, on which testbed runs.
class OnTerminal {
 public:
  OnTerminal(const std::string& directory, const std::string& arguments, const char* term) {
    winsize size{.ws_row = 30, .ws_col = 100};
    child_ = ::forkpty(&master_, nullptr, nullptr, &size);
    if (child_ == 0) {
      ::setenv("TERM", term, 1);
      ::setenv("LC_ALL", "C.UTF-8", 1);
      const std::string command = "exec " + TestbedBinary() + " " + arguments;
      if (::chdir(directory.c_str()) == 0) {
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      }
      ::_exit(127);
    }
    ::tcgetattr(master_, &before_);
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
  }
  ~OnTerminal() { ::close(master_); }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // Returns all that was written to the terminal so far.
  const std::string& Output() {
    char bytes[4096];
    for (ssize_t n; (n = ::read(master_, bytes, sizeof bytes)) > 0;) {
      output_.append(bytes, static_cast<size_t>(n));
    }
    return output_;
  }
  void Type(const std::string& keys) const { (void)!::write(master_, keys.data(), keys.size()); }
  // Returns whether typed characters are shown and lines are edited, as before.
  bool ModesAreBack() const {
    termios now{};
    ::tcgetattr(master_, &now);
    return now.c_lflag == before_.c_lflag && now.c_oflag == before_.c_oflag &&
           now.c_iflag == before_.c_iflag;
  }
  pid_t child() const { return child_; }

 private:
  int master_ = -1;
  pid_t child_ = -1;
  termios before_{};
  std::string output_;
};

constexpr char kOtherScreen[] = "\x1b[?1049h", kFirstScreen[] = "\x1b[?1049l";

size_t CountOf(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// Returns what is left on the normal screen: all text that was not written to the alternate screen.
std::string LeftOnScreen(std::string text) {
  for (size_t from; (from = text.find(kOtherScreen)) != std::string::npos;) {
    const size_t to = text.find(kFirstScreen, from);
    if (to == std::string::npos) return text.substr(0, from) + "<the other screen stays>";
    text.erase(from, to + sizeof kFirstScreen - 1 - from);
  }
  return text;
}

TEST_F(LiveTest, AScreenShowsTheRunAndTheReportFollowsIt) {
  OnTerminal terminal(directory_, kWatchedRun + std::string("--seconds 3 --live"),
                      "xterm-256color");
  ASSERT_TRUE(Becomes([&] { return CountOf(terminal.Output(), kFirstScreen) != 0; }))
      << terminal.Output();
  EXPECT_TRUE(Becomes([&] { return terminal.Output().find("grade ") != std::string::npos; }));
  EXPECT_EQ(ExitCodeOf(terminal.child()), 0);
  const std::string all = terminal.Output();
  for (const char* shown : {"point-read", "ops/s", "p99", "slowest", "ledger (", "memory", "█"}) {
    EXPECT_NE(all.substr(0, all.find(kFirstScreen)).find(shown), std::string::npos) << shown;
  }
  EXPECT_EQ(CountOf(all, kOtherScreen), 1u);
  const std::string left = LeftOnScreen(all);
  EXPECT_NE(left.find("Operations"), std::string::npos) << left;
  EXPECT_EQ(left.find("slowest"), std::string::npos) << left;
  EXPECT_TRUE(terminal.ModesAreBack());
}

TEST_F(LiveTest, TheTerminalIsBackAfterCtrlCAndTheDeathOfTheRun) {
  for (const bool killed : {false, true}) {
    OnTerminal terminal(directory_, kWatchedRun + std::string("--seconds 60 --live"),
                        "xterm-256color");
    ASSERT_TRUE(Becomes([&] { return terminal.Output().find("slowest") != std::string::npos; }));
    const pid_t run = RunOf(terminal.child());
    ASSERT_GT(run, 0);
    EXPECT_FALSE(terminal.ModesAreBack()) << "typed characters are not shown on the screen";
    if (killed) {
      ::kill(run, SIGKILL);
    } else {
      terminal.Type("\x03");  // Ctrl-C
    }
    ASSERT_TRUE(Becomes([&] {
      return terminal.Output().find(killed ? "ended by signal 9" : "grade ") != std::string::npos;
    })) << terminal.Output();
    EXPECT_EQ(ExitCodeOf(terminal.child()), killed ? 1 : 130);
    EXPECT_TRUE(terminal.ModesAreBack());
    EXPECT_EQ(LeftOnScreen(terminal.Output()).find("<the other screen stays>"), std::string::npos);
  }
}

TEST_F(LiveTest, TheTerminalIsBackAfterACrash) {
  OnTerminal terminal(directory_, kWatchedRun + std::string("--seconds 60 --live"),
                      "xterm-256color");
  ASSERT_TRUE(Becomes([&] { return terminal.Output().find("slowest") != std::string::npos; }));
  ::kill(terminal.child(), SIGSEGV);
  EXPECT_TRUE(Becomes([&] { return CountOf(terminal.Output(), kFirstScreen) == 1; }));
  EXPECT_LT(ExitCodeOf(terminal.child()), 0);
  EXPECT_TRUE(terminal.ModesAreBack());
}

TEST_F(LiveTest, ADumbTerminalGetsLines) {
  OnTerminal terminal(directory_, kWatchedRun + std::string("--seconds 2.5 --live"), "dumb");
  EXPECT_TRUE(Becomes([&] { return terminal.Output().find("grade ") != std::string::npos; }));
  EXPECT_EQ(ExitCodeOf(terminal.child()), 0);
  EXPECT_TRUE(Finds(terminal.Output(), std::regex("point-read: [12]\\.[0-9] s, ")))
      << terminal.Output();
  EXPECT_EQ(terminal.Output().find('\x1b'), std::string::npos) << terminal.Output();
}

}  // namespace
}  // namespace testbed
