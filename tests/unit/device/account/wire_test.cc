#include "device/account/wire.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "device/account/ledger.h"
#include "tests/paths.h"

namespace testbed {
namespace {

// A library whose calls are watched, and a pair of sockets: one is the library's, the other the
// server's.
class WireTest : public testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(CallingLibrary().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    mine_ = pair[0];
    other_ = pair[1];
    ASSERT_TRUE(WatchWire(library_));
    socket_ = std::make_unique<WireSocket>(mine_, true);
  }
  void TearDown() override {
    socket_.reset();
    ::close(mine_);
    ::close(other_);
  }
  template <typename Function>
  Function* Of(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }
  ssize_t Send(int fd, size_t n) const {
    return Of<ssize_t(int, const void*, size_t)>("LibrarySend")(fd, bytes_.data(), n);
  }
  ssize_t Receive(size_t n, int flags = 0) {
    return Of<ssize_t(int, void*, size_t, int)>("LibraryReceive")(mine_, bytes_.data(), n, flags);
  }
  void Answer(size_t n) const {
    ASSERT_EQ(::send(other_, bytes_.data(), n, 0), static_cast<ssize_t>(n));
  }
  static WireCounts Counts(OpKind op) { return Ledger::Get().Counts().ops[op.id].wire; }
  // Returns what `does` has added to the counts of the operation.
  template <typename Does>
  static WireCounts Cost(OpKind op, Does does) {
    WireCounts before = Counts(op);
    does();
    WireCounts after = Counts(op);
    return after -= before;
  }

  const OpKind read_ = DefineOp("wire-read", Ground::kForeground);
  void* library_ = nullptr;
  int mine_ = -1, other_ = -1;
  std::string bytes_ = std::string(1000, 'x');
  std::unique_ptr<WireSocket> socket_;
};

TEST_F(WireTest, ChargesWhatTheSocketTookAndGaveToTheOperation) {
  const WireCounts cost = Cost(read_, [&] {
    const IoScope scope(read_);
    EXPECT_EQ(Send(mine_, 100), 100);
    Answer(300);
    EXPECT_EQ(Receive(1000), 300) << "what there was, not what was asked for";
  });
  EXPECT_EQ(cost, (WireCounts{.round_trips = 1, .sent_bytes = 100, .received_bytes = 300}));
  EXPECT_TRUE(CountsWire());
}

TEST_F(WireTest, ARoundTripIsTheFirstAnswerToAllThatWasSent) {
  const WireCounts cost = Cost(read_, [&] {
    const IoScope scope(read_);
    for (int i = 0; i < 3; ++i) Send(mine_, 10);
    Answer(50);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(Receive(10), 10);
    Of<ssize_t(int, const void*, size_t)>("LibraryWrite")(mine_, bytes_.data(), 7);
    Answer(5);
    EXPECT_EQ(Of<ssize_t(int, void*, size_t)>("LibraryRead")(mine_, bytes_.data(), 9), 5);
  });
  EXPECT_EQ(cost, (WireCounts{.round_trips = 2, .sent_bytes = 37, .received_bytes = 55}));
}

TEST_F(WireTest, CountsNoCallThatMovedNothing) {
  const WireCounts cost = Cost(read_, [&] {
    const IoScope scope(read_);
    Send(mine_, 10);
    EXPECT_EQ(Receive(10), -1);
    EXPECT_EQ(errno, EAGAIN);
    Answer(5);
    EXPECT_EQ(Receive(10, MSG_PEEK), 5);
  });
  EXPECT_EQ(cost, (WireCounts{.sent_bytes = 10}));
}

TEST_F(WireTest, CountsNoOtherSocketAndNoOtherCaller) {
  const WireCounts cost = Cost(read_, [&] {
    const IoScope scope(read_);
    EXPECT_EQ(Send(other_, 100), 100);
    EXPECT_EQ(::send(mine_, bytes_.data(), 10, 0), 10);
    socket_.reset();
    EXPECT_EQ(Send(mine_, 100), 100);
  });
  EXPECT_EQ(cost, WireCounts{});
}

// A library closes the socket of a connection that is lost, and the next one may get its number.
TEST_F(WireTest, CountsASocketThatHasTheNumberOfAnEarlierOne) {
  const WireSocket second(mine_, true);
  socket_.reset();
  const WireCounts cost = Cost(read_, [&] {
    const IoScope scope(read_);
    EXPECT_EQ(Send(mine_, 100), 100);
  });
  EXPECT_EQ(cost, (WireCounts{.sent_bytes = 100}));
}

}  // namespace
}  // namespace testbed
