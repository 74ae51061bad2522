// This header makes random numbers that tell a database or a file from every other.
#ifndef TESTBED_DEVICE_OS_RANDOM_ID_H_
#define TESTBED_DEVICE_OS_RANDOM_ID_H_

#include <cstdint>
#include <random>

namespace testbed {

// Returns a random number other than 0, which stands for no number. Thread-safe.
inline uint64_t RandomId() {
  std::random_device device;
  const uint64_t id = (uint64_t{device()} << 32) | device();
  return id != 0 ? id : 1;
}

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_RANDOM_ID_H_
