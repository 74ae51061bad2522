#include "tools/live/screen.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#define NCURSES_NOMACROS  // ncurses would define macros with plain names: erase, refresh
#include <ncurses.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/os/signal_guard.h"

// ncurses defines these two macros in spite of NCURSES_NOMACROS.
#undef lines
#undef columns

namespace testbed {
namespace {

constexpr short kAlarmColour = 1;  // a pair of curses

// The data with which a signal handler restores the terminal. A handler may not call ncurses.
struct PutBack {
  int fd = -1;
  termios modes{};
  char text[128] = "";
  size_t length = 0;
};

void RunPutBack(void* data) {
  const auto* back = static_cast<const PutBack*>(data);
  (void)!::write(back->fd, back->text, back->length);
  ::tcsetattr(back->fd, TCSANOW, &back->modes);
}

void AddCapability(const char* name, PutBack* back) {
  const char* text = ::tigetstr(name);
  if (text == nullptr || text == reinterpret_cast<const char*>(-1)) return;
  const size_t length = std::strlen(text);
  if (back->length + length > sizeof back->text) return;
  std::memcpy(back->text + back->length, text, length);
  back->length += length;
}

int Attribute(LiveLine::Kind kind) {
  if (kind == LiveLine::Kind::kTitle) return A_BOLD;
  if (kind != LiveLine::Kind::kAlarm) return A_NORMAL;
  return A_BOLD | (::has_colors() ? COLOR_PAIR(kAlarmColour) : A_REVERSE);
}

}  // namespace

struct Screen::Terminal {
  FILE* out = nullptr;
  FILE* in = nullptr;
  SCREEN* screen = nullptr;
  bool ascii = false;
  PutBack back;
  std::optional<CrashAction> crash;
};

bool Screen::Works() {
  if (::isatty(STDERR_FILENO) != 1) return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::strcmp(term, "dumb") == 0) return false;
  int error = 0;
  if (::setupterm(nullptr, STDERR_FILENO, &error) == ERR) return false;
  const char* address = ::tigetstr("cup");
  const bool draws = address != nullptr && address != reinterpret_cast<const char*>(-1);
  ::del_curterm(::cur_term);
  return draws;
}

Screen::Screen() : terminal_(std::make_unique<Terminal>()) {
  Terminal& t = *terminal_;
  ::setlocale(LC_CTYPE, "");
  t.ascii = std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0;
  // ncurses gets streams of its own, because the program's C streams have no descriptors
  // (standard_streams.h).
  t.back.fd = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  t.out = ::fdopen(t.back.fd, "w");
  t.in = ::fopen("/dev/null", "re");
  if (t.out == nullptr || t.in == nullptr || ::tcgetattr(t.back.fd, &t.back.modes) != 0) {
    throw Error(Error::kRun, "--live: the terminal cannot be opened");
  }
  t.screen = ::newterm(nullptr, t.out, t.in);
  if (t.screen == nullptr) throw Error(Error::kRun, "--live: the terminal cannot be drawn on");
  for (const char* name : {"sgr0", "cnorm", "rmcup"}) AddCapability(name, &t.back);
  t.crash.emplace(&RunPutBack, &t.back);
  ::noecho();
  ::curs_set(0);
  if (::has_colors()) {
    ::start_color();
    ::use_default_colors();
    ::init_pair(kAlarmColour, COLOR_RED, -1);
  }
}

Screen::~Screen() {
  Terminal& t = *terminal_;
  ::endwin();
  t.crash.reset();
  ::delscreen(t.screen);
  ::tcsetattr(t.back.fd, TCSADRAIN, &t.back.modes);
  ::fclose(t.out);
  ::fclose(t.in);
}

void Screen::Draw(const std::function<std::vector<LiveLine>(const LiveLook&)>& lines) {
  const Terminal& t = *terminal_;
  winsize size{};
  if (::ioctl(t.back.fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
      ::is_term_resized(size.ws_row, size.ws_col)) {
    ::resizeterm(size.ws_row, size.ws_col);
  }
  ::erase();
  const LiveLook look{
      .columns = static_cast<size_t>(COLS), .rows = static_cast<size_t>(LINES), .ascii = t.ascii};
  int row = 0;
  for (const LiveLine& line : lines(look)) {
    const int attribute = Attribute(line.kind);
    ::attron(attribute);
    ::mvaddstr(row++, 0, line.text.c_str());
    ::attroff(attribute);
  }
  ::refresh();
}

void Screen::LeaveToParent() {
  ::signal(SIGTSTP, SIG_DFL);
  ::signal(SIGWINCH, SIG_DFL);
}

}  // namespace testbed
