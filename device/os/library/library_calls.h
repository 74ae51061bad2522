// Has a library that was loaded call functions of this program in place of some of libc's. Other
// libraries, and the program itself, go on to call libc.
//
//   void* const library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
//   const LibraryCall calls[] = {{"send", reinterpret_cast<void*>(&CountedSend)}};
//   if (ReplaceCalls(library, calls) == 0) ...       // the library does not call send
//
// A shared library calls functions of others through a table of addresses, its global offset table,
// one entry for each function (System V ABI, "Procedure Linkage Table"). An entry is replaced here.
#ifndef TESTBED_DEVICE_OS_LIBRARY_LIBRARY_CALLS_H_
#define TESTBED_DEVICE_OS_LIBRARY_LIBRARY_CALLS_H_

#include <cstddef>
#include <span>

namespace testbed {

struct LibraryCall {
  const char* name;  // of the function, as libc has it
  void* function;    // what is called in its place, of the same signature
};

// Replaces the functions that the library calls, and returns how many of `calls` it calls; 0 where
// the machine's libraries have tables that this does not know. `library` is what dlopen has
// returned, and is not closed afterwards. The library's other threads may call the functions
// meanwhile. Not thread-safe for the same library.
size_t ReplaceCalls(void* library, std::span<const LibraryCall> calls);

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_LIBRARY_LIBRARY_CALLS_H_
