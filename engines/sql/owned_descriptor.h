#ifndef TESTBED_ENGINES_SQL_OWNED_DESCRIPTOR_H_
#define TESTBED_ENGINES_SQL_OWNED_DESCRIPTOR_H_

#include <unistd.h>

namespace testbed::sql {

// An OwnedDescriptor closes its descriptor at the end of its life, also when an exception passes.
struct OwnedDescriptor {
  // A negative number stands for no descriptor, as open(2) returns it.
  explicit OwnedDescriptor(int number) : fd(number) {}
  ~OwnedDescriptor() {
    if (fd >= 0) ::close(fd);
  }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;

  const int fd;
};

}  // namespace testbed::sql

#endif  // TESTBED_ENGINES_SQL_OWNED_DESCRIPTOR_H_
