#include "tests/paths.h"

namespace testbed {

std::string TestbedBinary() { return TESTBED_BINARY; }
std::string CallingLibrary() { return TESTBED_CALLING_LIBRARY; }
std::string SourceDir() { return TESTBED_SOURCE_DIR; }

}  // namespace testbed
