#ifdef TESTBED_HAVE_INNODB
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "device/account/ledger.h"
#include "engines/innodb/service_thread.h"

namespace testbed::innodb {
namespace {

TEST(InnodbServiceThreadTest, KnowsTheMainThread) {
  EXPECT_TRUE(OnMainThread());
  std::thread([] { EXPECT_FALSE(OnMainThread()); }).join();
}

TEST(InnodbServiceThreadTest, RunsOnOneThreadThatIsNotTheMainOne) {
  ServiceThread service;
  std::vector<pid_t> threads;
  for (int i = 0; i < 3; ++i) service.Run([&] { threads.push_back(::gettid()); });
  std::thread([&] { service.Run([&] { threads.push_back(::gettid()); }); }).join();
  ASSERT_EQ(threads.size(), 4u);
  EXPECT_NE(threads[0], ::getpid());
  for (const pid_t thread : threads) EXPECT_EQ(thread, threads[0]);
}

TEST(InnodbServiceThreadTest, WorkMayHandItMore) {
  ServiceThread service;
  int runs = 0;
  service.Run([&] { service.Run([&] { ++runs; }); });
  EXPECT_EQ(runs, 1);
}

TEST(InnodbServiceThreadTest, WhatTheWorkThrowsIsThrown) {
  ServiceThread service;
  EXPECT_THROW(service.Run([] { throw std::runtime_error("no"); }), std::runtime_error);
  int runs = 0;
  service.Run([&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(InnodbServiceThreadTest, ChargesWhatTheCallerIsChargedTo) {
  ServiceThread service;
  const OpKind op = DefineOp("service-thread-test", Ground::kForeground);
  OpKind charged;
  {
    IoScope scope(op);
    service.Run([&] { charged = Ledger::ThisThread().op(); });
  }
  EXPECT_EQ(charged, op);
  service.Run([&] { charged = Ledger::ThisThread().op(); });
  EXPECT_EQ(charged, kUnscoped);
}

}  // namespace
}  // namespace testbed::innodb
#endif
