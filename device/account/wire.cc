#include "device/account/wire.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "device/account/ledger.h"
#include "device/os/library/library_calls.h"
#include "device/os/mutex.h"

namespace testbed {
namespace {

// A Socket holds the state of the socket with one descriptor number. A library closes the socket of
// a lost connection, so the system may give the number to a new socket, and a second WireSocket may
// begin before the first one ends.
struct Socket {
  std::atomic<uint8_t> owners{0};  // number of WireSockets with this descriptor
  std::atomic<bool> awaits_answer{false};
};
constexpr int kSockets = 1 << 16;
std::array<Socket, kSockets> sockets;

std::atomic<bool> some_counted{false}, some_uncounted{false};

// Returns the socket if it is counted and the call has moved bytes; else null.
Socket* Counted(int fd, ssize_t bytes) {
  if (bytes <= 0 || fd < 0 || fd >= kSockets) return nullptr;
  Socket* const socket = &sockets[static_cast<size_t>(fd)];
  return socket->owners.load(std::memory_order_relaxed) != 0 ? socket : nullptr;
}

void CountSent(int fd, ssize_t bytes) {
  Socket* const socket = Counted(fd, bytes);
  if (socket == nullptr) return;
  Ledger::ThisThread().CountSent(static_cast<uint64_t>(bytes));
  socket->awaits_answer.store(true, std::memory_order_relaxed);
}

void CountReceived(int fd, ssize_t bytes) {
  Socket* const socket = Counted(fd, bytes);
  if (socket == nullptr) return;
  const bool answers = socket->awaits_answer.load(std::memory_order_relaxed);
  Ledger::ThisThread().CountReceived(static_cast<uint64_t>(bytes), answers);
  if (answers) socket->awaits_answer.store(false, std::memory_order_relaxed);
}

// Each of these functions does what libc's function of that name does, and counts the bytes. It
// leaves errno as libc set it, since the counting does not change errno.
ssize_t CountedSend(int fd, const void* bytes, size_t n, int flags) {
  const ssize_t sent = ::send(fd, bytes, n, flags);
  CountSent(fd, sent);
  return sent;
}
ssize_t CountedWrite(int fd, const void* bytes, size_t n) {
  const ssize_t sent = ::write(fd, bytes, n);
  CountSent(fd, sent);
  return sent;
}
ssize_t CountedReceive(int fd, void* bytes, size_t n, int flags) {
  const ssize_t received = ::recv(fd, bytes, n, flags);
  if ((flags & MSG_PEEK) == 0) CountReceived(fd, received);
  return received;
}
ssize_t CountedRead(int fd, void* bytes, size_t n) {
  const ssize_t received = ::read(fd, bytes, n);
  CountReceived(fd, received);
  return received;
}

const LibraryCall kCalls[] = {{"send", reinterpret_cast<void*>(&CountedSend)},
                              {"write", reinterpret_cast<void*>(&CountedWrite)},
                              {"recv", reinterpret_cast<void*>(&CountedReceive)},
                              {"read", reinterpret_cast<void*>(&CountedRead)}};

}  // namespace

bool WatchWire(void* library) {
  static Mutex mutex;
  LockGuard lock(mutex);
  // A library must call at least two of these functions: one that sends and one that receives.
  return ReplaceCalls(library, kCalls) >= 2;
}

bool CountsWire() {
  return some_counted.load(std::memory_order_relaxed) &&
         !some_uncounted.load(std::memory_order_relaxed);
}

WireSocket::WireSocket(int fd, bool watched) : fd_(watched && fd < kSockets ? fd : -1) {
  if (fd_ < 0) {
    some_uncounted = true;
    return;
  }
  some_counted = true;
  Socket& socket = sockets[static_cast<size_t>(fd_)];
  socket.awaits_answer = false;
  ++socket.owners;
}

WireSocket::~WireSocket() {
  if (fd_ >= 0) --sockets[static_cast<size_t>(fd_)].owners;
}

}  // namespace testbed
