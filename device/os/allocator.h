// This header is about the program's allocator (malloc): tcmalloc where the program was built with
// it, else glibc's.
//
//   SettleAllocator(256 << 20);   // before any engine is opened
//   ReturnFreeMemory();           // what is free goes back to the system
//
// An allocator withholds freed memory from the engine's cache and from the page cache, and a run
// with a memory budget pays for it. How much depends on the engine. WiredTiger, whose threads free
// blocks of many sizes that other threads allocated, holds up to twice its cache with glibc's
// allocator, and a tenth more than its cache with tcmalloc, with which its makers run it
// (docs/accounting.md has figures). Thread-safe.
#ifndef TESTBED_DEVICE_OS_ALLOCATOR_H_
#define TESTBED_DEVICE_OS_ALLOCATOR_H_

#include <cstdint>
#include <string>

namespace testbed {

// Returns the allocator's name and version: "tcmalloc 2.10" or "glibc 2.36".
std::string AllocatorName();

// Makes malloc return freed memory to the system, and keep little of `ram_bytes`, the memory of the
// process (0: not bounded), for its threads. A limit that a variable of the environment sets, by
// the allocator's own name for it, is left as it is. Called once, before the first thread is
// started.
void SettleAllocator(uint64_t ram_bytes);

// Returns whole free pages, of all threads, to the system. Takes milliseconds.
void ReturnFreeMemory();

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_ALLOCATOR_H_
