// ReplaceCalls makes a loaded library call functions of this program in place of some of libc's.
// Other libraries, and the program itself, go on to call libc.
//
//   void* const library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
//   const LibraryCall calls[] = {{"send", reinterpret_cast<void*>(&CountedSend)}};
//   if (ReplaceCalls(library, calls) == 0) ...       // the library does not call send
//
// A shared library calls functions of others through a table of addresses, its global offset table,
// one entry for each function (System V ABI, "Procedure Linkage Table"). ReplaceCalls writes other
// addresses into entries of that table.
#ifndef TESTBED_DEVICE_OS_LIBRARY_LIBRARY_CALLS_H_
#define TESTBED_DEVICE_OS_LIBRARY_LIBRARY_CALLS_H_

#include <cstddef>
#include <span>

namespace testbed {

struct LibraryCall {
  const char* name;  // name of libc's function
  void* function;    // function of the same signature that is called in its place
};

// Replaces the functions in `calls` that the library calls, and returns their number. Returns 0 on
// a machine whose libraries have tables of a form that this code does not know. `library` is the
// handle that dlopen has returned, and must never be closed afterwards. Other threads may call the
// functions meanwhile. Not thread-safe for the same library.
size_t ReplaceCalls(void* library, std::span<const LibraryCall> calls);

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_LIBRARY_LIBRARY_CALLS_H_
