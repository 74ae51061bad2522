/* What the library of the bf-tree engine (this folder, in Rust) and the engine (C++) call of each other.
 *
 * The engine gives the library a BfHost, whose functions do all IO on files, so that it is done and counted by
 * device/file/file.h. The library gives the engine its functions bf_*, which engines/bf_tree/library.h declares.
 *
 * A call of the library returns a BfCode; with BF_REFUSED and BF_FAILED, error->text is the sentence. After BF_FAILED the
 * tree must not be used any more, but for bf_close with `leak`. The functions on a tree are thread-safe, but for
 * bf_close and bf_snapshot, which need it for themselves.
 */
#ifndef TESTBED_ENGINES_BF_TREE_LIBRARY_INTERFACE_H_
#define TESTBED_ENGINES_BF_TREE_LIBRARY_INTERFACE_H_

#include <stddef.h>
#include <stdint.h>

enum { BF_INTERFACE = 1 }; /* grows with each change of this file */

typedef enum BfCode {
  BF_OK = 0,
  BF_NOT_FOUND,
  BF_REFUSED, /* the tree does not take the settings or the row */
  BF_FAILED,  /* the library panicked, as after a read that failed */
} BfCode;

typedef struct BfBytes {
  const char* data;
  size_t size;
} BfBytes;

typedef struct BfError {
  char text[512]; /* ends with a zero byte */
} BfError;

typedef struct BfHost {
  void* context; /* first argument of each function below that is not about one file */
  /* Opens or makes the file, and sets *size to its bytes; null when it cannot. */
  void* (*open)(void* context, BfBytes path, uint64_t* size);
  void (*close)(void* file);
  /* Returns 0 when all n bytes are read. */
  int (*read)(void* file, uint64_t offset, void* buffer, size_t n);
  /* The host keeps what fails here: the tree goes on. */
  void (*write)(void* file, uint64_t offset, const void* data, size_t n);
  void (*truncate)(void* file); /* to nothing */
  void (*sync)(void* file);
  int (*dead)(void* context); /* 1 after a read has failed */
} BfHost;

/* Settings of a tree; those of bf_tree::Config. A tree that is opened from a snapshot has the snapshot's. */
typedef struct BfSettings {
  uint64_t cache_bytes; /* a power of two */
  uint64_t page_bytes;
  uint64_t max_key_bytes;
  uint64_t max_record_bytes; /* key and value */
  uint64_t read_promotion;   /* percent */
  uint64_t scan_promotion;   /* percent */
  double copy_on_access;     /* share of the cache */
  int record_cache;          /* reads cache records; else whole pages */
  int load_full_page;        /* writes may cache whole pages */
} BfSettings;

typedef struct BfTree BfTree;

#endif /* TESTBED_ENGINES_BF_TREE_LIBRARY_INTERFACE_H_ */
