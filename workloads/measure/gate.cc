#include "workloads/measure/gate.h"

#include <algorithm>
#include <chrono>

#include "workloads/measure/clock.h"

namespace testbed {

Gate::Gate(int clients, bool closed)
    : word_(closed ? kClosed : kOpen), clients_(static_cast<size_t>(clients)) {}

void Gate::Stop() {
  const LockGuard lock(mutex_);
  if (!Stopping()) stopped_at_ = Clock::Get().Now();
  word_.store(kStopped, std::memory_order_relaxed);
  changed_.notify_all();
}

uint64_t Gate::StoppedAt() {
  const LockGuard lock(mutex_);
  return stopped_at_;
}

void Gate::AwaitStop(uint64_t ns) {
  const LockGuard lock(mutex_);
  if (Stopping()) return;
  changed_.wait_for(mutex_, std::chrono::nanoseconds(ns));
}

void Gate::Pause(Client& client) {
  if (!client.working) return;
  client.working = false;
  client.worked_ns += Clock::Get().ToNs(Clock::Get().Now() - client.resumed);
  changed_.notify_all();
}

void Gate::Leave(int t) {
  const LockGuard lock(mutex_);
  Client& client = clients_[static_cast<size_t>(t)];
  Pause(client);
  client.left = true;
}

void Gate::Rest(int t) {
  const LockGuard lock(mutex_);
  Client& client = clients_[static_cast<size_t>(t)];
  if (client.working && word_.load(std::memory_order_relaxed) == kOpen) return;
  Pause(client);
  changed_.wait(mutex_, [this] { return word_.load(std::memory_order_relaxed) != kClosed; });
  client.working = true;
  client.resumed = Clock::Get().Now();
}

void Gate::Open() {
  const LockGuard lock(mutex_);
  for (Client& client : clients_) client.at_open_ns = client.worked_ns;
  if (word_.load(std::memory_order_relaxed) == kStopped) return;
  word_.store(kOpen, std::memory_order_relaxed);
  changed_.notify_all();
}

double Gate::Close() {
  const LockGuard lock(mutex_);
  if (word_.load(std::memory_order_relaxed) == kOpen) {
    word_.store(kClosed, std::memory_order_relaxed);
  }
  changed_.wait(mutex_, [this]() REQUIRES(mutex_) {
    return std::none_of(clients_.begin(), clients_.end(), [](auto& c) { return c.working; });
  });
  uint64_t ns = 0, worked = 0;
  for (const Client& client : clients_) {
    ns += client.worked_ns - client.at_open_ns;
    worked += client.worked_ns != client.at_open_ns;
  }
  return worked == 0 ? 0 : static_cast<double>(ns) / 1e9 / static_cast<double>(worked);
}

}  // namespace testbed
