// Where the program under test and the source tree lie. Only paths.cc is compiled with the paths of
// one build folder, so that a compiler cache can serve the other files of the tests to each
// checkout.
#ifndef TESTBED_TESTS_PATHS_H_
#define TESTBED_TESTS_PATHS_H_

#include <string>

namespace testbed {

// Returns the path of the testbed program; empty when this build has none.
std::string TestbedBinary();

// Returns the path of the library that calling_library.cc is compiled to.
std::string CallingLibrary();

// Returns the top folder of the source tree.
std::string SourceDir();

}  // namespace testbed

#endif  // TESTBED_TESTS_PATHS_H_
