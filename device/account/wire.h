// This header has the wire level of the account: what the client library of a database server sends
// and receives for an operation, and how often it waits for an answer.
//
//   void* const library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
//   const bool watched = WatchWire(library);                  // once, after it was loaded
//   const WireSocket socket(PQsocket(connection), watched);   // counts from here on
//
// The library's calls of send, recv, write and read are counted as they return, by functions that
// device/os/library/library_calls.h has put in their place, and charged to the operation that runs
// on the calling thread (device/account/ledger.h). So the count is of the bytes that the socket
// took and gave, those of an encryption included, and costs some nanoseconds a call. A round trip
// is counted when bytes are received for the first time after some were sent: statements that are
// sent together make one.
//
// Sockets that no WireSocket stands for are not counted, so that making a connection is not.
#ifndef TESTBED_DEVICE_ACCOUNT_WIRE_H_
#define TESTBED_DEVICE_ACCOUNT_WIRE_H_

namespace testbed {

// Arranges that the library's calls are counted. Returns false where that cannot be done;
// CountsWire then returns false as soon as a socket is opened. WatchWire may be called again for
// the same library. Thread-safe.
bool WatchWire(void* library);

// Returns whether this process has opened a WireSocket and the bytes of all WireSockets were
// counted. When this is false, the wire level's counts mean nothing. Thread-safe.
bool CountsWire();

// A WireSocket is a socket whose bytes are counted while the object lives. Different threads may
// use different sockets, but only one thread at a time may use a socket.
class WireSocket {
 public:
  // `fd` must stay open as long as the object lives. `watched` says that WatchWire has returned
  // true for all libraries that use the socket.
  WireSocket(int fd, bool watched);
  ~WireSocket();
  WireSocket(const WireSocket&) = delete;
  WireSocket& operator=(const WireSocket&) = delete;

 private:
  const int fd_;  // -1 when the socket is not counted
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_WIRE_H_
