// Reads code into memory before a process enters its memory budget.
//
// The kernel charges a page of a file to the group of the process that first reads it. A run that
// read the code of its program and of its engine's library within its budget would pay for it with
// memory of the budget, and a run that finds the code in memory would not. With direct IO and a
// cache that takes nearly the whole budget, the code would be evicted and read again without end.
//
// Thread-safe. Nothing here throws: code that could not be read in advance is read when it runs.
#ifndef TESTBED_DEVICE_MACHINE_RESIDENT_CODE_H_
#define TESTBED_DEVICE_MACHINE_RESIDENT_CODE_H_

#include <cstdint>
#include <string>

namespace testbed {

// Reads the code and the constants of the program and of the libraries that are loaded now into the
// page cache. Returns the number of bytes; 0 when /proc is missing.
uint64_t ReadOwnCode();

// Reads the file of another program, which the process will start, or of a library that it will
// load, into the page cache.
void ReadProgramFile(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_RESIDENT_CODE_H_
