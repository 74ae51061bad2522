// A ServedThread charges what a thread of a database server does for one connection to the
// operations of the connection's client, a thread of this process.
//
//   ServedThread served(connection.server_thread());
//   served.Follow();                       // before each request
//   { IoScope scope(kPointRead); ... }     // the server's block requests are charged to point-read
//
// The kernel account enters the server's thread under the slot of the client's thread, so that the
// marks that an IoScope makes hold for both, and cost nothing more. It works where a thread of the
// server serves one connection at a time (PostgreSQL's backends, MariaDB's threads without a pool)
// and where client and server share this machine's kernel and see the same thread ids.
#ifndef TESTBED_DEVICE_ACCOUNT_SERVED_THREAD_H_
#define TESTBED_DEVICE_ACCOUNT_SERVED_THREAD_H_

#include "device/account/ledger.h"

namespace testbed {

// Not thread-safe: only one thread at a time may use it.
class ServedThread {
 public:
  // `tid` is the id of the server's thread. It is 0 for a server whose threads cannot be followed.
  explicit ServedThread(int tid) : tid_(tid) {}
  ~ServedThread() {
    if (client_ != nullptr) Ledger::Get().Unserve(tid_);
  }
  ServedThread(const ServedThread&) = delete;
  ServedThread& operator=(const ServedThread&) = delete;

  // Charges the server's thread to the operations of the calling thread from now on.
  void Follow() {
    ThreadLedger* const thread = &Ledger::ThisThread();
    // When a client's thread ends, another thread may get its ThreadLedger.
    if ((thread == client_ && thread->use() == use_) || tid_ == 0) [[likely]]
      return;
    Ledger::Get().Serve(thread, tid_);
    client_ = thread;
    use_ = thread->use();
  }

 private:
  const int tid_;
  ThreadLedger* client_ = nullptr;  // its operations are charged; null before the first Follow
  uint64_t use_ = 0;                // client_->use() at the last Follow
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_SERVED_THREAD_H_
