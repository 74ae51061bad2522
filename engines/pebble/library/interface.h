/* What the library of the pebble engine (this folder, in Go) and the engine (C++) call of each other.
 *
 * The engine gives the library a PebbleHost, whose functions do all IO on files, so that it is done and counted by
 * device/file/file.h. The library gives the engine the functions of PebbleCalls, which are its exported functions.
 *
 * A function of the host returns 0, or an errno. A call of the library returns PEBBLE_OK or another PebbleCode; then
 * *error is the sentence, in memory from malloc, which the caller frees. Bytes that a call returns belong to the
 * library; they stay valid until the next call on the same session or iterator.
 */
#ifndef TESTBED_ENGINES_PEBBLE_LIBRARY_INTERFACE_H_
#define TESTBED_ENGINES_PEBBLE_LIBRARY_INTERFACE_H_

#include <stddef.h>
#include <stdint.h>

enum { PEBBLE_INTERFACE = 1 }; /* grows with each change of this file */

typedef enum PebbleCode {
  PEBBLE_OK = 0,
  PEBBLE_NOT_FOUND,
  PEBBLE_USAGE,
  PEBBLE_IO,
  PEBBLE_CORRUPTION,
} PebbleCode;

typedef struct PebbleBytes {
  const char* data;
  size_t size;
} PebbleBytes;

/* What a file is written for, as far as Pebble says it. */
typedef enum PebblePurpose {
  PEBBLE_OTHER = 0,
  PEBBLE_FLUSH,
  PEBBLE_COMPACTION,
} PebblePurpose;

/* How open_file opens. Writing is sequential; only files that are opened to be read are read. */
typedef enum PebbleOpen {
  PEBBLE_READ = 0,
  PEBBLE_READ_AHEAD, /* reads from front to back, by one thread */
  PEBBLE_CREATE,     /* replaces what is there by a new file */
  PEBBLE_REUSE,      /* writes an old file from its start, without cutting it off */
} PebbleOpen;

typedef struct PebbleHost {
  void* context; /* first argument of each function below that is not about one file */
  int (*open_file)(void* context, PebbleBytes path, PebbleOpen how, PebblePurpose purpose,
                   void** file);
  void (*close_file)(void* file);
  int (*size)(void* file, uint64_t* bytes);
  int (*read)(void* file, uint64_t offset, void* buffer, size_t n, size_t* done);
  int (*write)(void* file, uint64_t offset, const void* data, size_t n);
  int (*sync)(void* file, int metadata);
  int (*start_write_back)(void* file, uint64_t n); /* of the first n bytes; does not wait for it */
  int (*allocate)(void* file, uint64_t offset, uint64_t n);
  int (*prefetch)(void* file, uint64_t offset, uint64_t n);
  int (*sync_directory)(void* context, PebbleBytes path);
  void (*fatal)(void* context, PebbleBytes sentence); /* Pebble cannot go on; does not return */
} PebbleHost;

typedef enum PebbleMove {
  PEBBLE_FIRST = 0,
  PEBBLE_LAST,
  PEBBLE_NEXT,
  PEBBLE_PREV,
  PEBBLE_SEEK,          /* first row with key >= the given one */
  PEBBLE_SEEK_FOR_PREV, /* last row with key <= the given one */
  PEBBLE_STAY,          /* the row on which the iterator stands */
} PebbleMove;

#endif /* TESTBED_ENGINES_PEBBLE_LIBRARY_INTERFACE_H_ */
