// What tests of the account wait for before they compare a device's statistics with other counts.
#ifndef TESTBED_TESTS_AT_REST_H_
#define TESTBED_TESTS_AT_REST_H_

#include <chrono>
#include <thread>

#include "device/account/block_device.h"

namespace testbed {

// Waits for at most `timeout_ms` until no request is in flight on the device. Returns whether it
// came to rest. Throws as BlockDevice::Stats does.
inline bool ComesToRest(const BlockDevice& device, int timeout_ms) {
  using std::chrono::milliseconds;
  const auto deadline = std::chrono::steady_clock::now() + milliseconds(timeout_ms);
  // A completion can cause a new request (a journal commit follows its data), so a single moment
  // without requests does not show that the device is at rest.
  constexpr int kLooks = 3;
  for (int calm = 0;;) {
    calm = device.Stats().in_flight == 0 ? calm + 1 : 0;
    if (calm == kLooks) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
}

}  // namespace testbed

#endif  // TESTBED_TESTS_AT_REST_H_
