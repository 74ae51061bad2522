/* The C API: writes two rows in a transaction, reads one, scans all, and shows what an error looks like.
 *
 *   key_value_store_c ENGINE DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>
#include <testbed/testbed_engine.h>

static void check(testbed_status status) {
  if (status == TESTBED_OK) return;
  fprintf(stderr, "%s\n", testbed_error());
  exit(status == TESTBED_USAGE ? 2 : 1);
}

int main(int argc, char** argv) {
  const char* options[] = {"cache_bytes=16M", NULL};
  testbed_engine* engine;
  testbed_session* session;
  testbed_cursor* cursor;
  testbed_table people;
  testbed_status status;
  const char *key, *value;
  size_t key_size, value_size;

  if (argc != 3) {
    fprintf(stderr, "give an engine and a directory\n");
    return 2;
  }
  check(testbed_open(argv[1], argv[2], options, &engine));
  check(testbed_open_table(engine, "people", &people));
  check(testbed_session_open(engine, &session));

  check(testbed_begin(session));
  check(testbed_put(session, people, "ada", 3, "1815", 4));
  check(testbed_put(session, people, "grace", 5, "1906", 4));
  check(testbed_commit(session));

  check(testbed_get(session, people, "ada", 3, &value, &value_size));
  printf("ada: %.*s\n", (int)value_size, value);

  check(testbed_cursor_open(session, people, &cursor));
  status = testbed_cursor_seek(cursor, NULL, 0);
  while (status == TESTBED_OK) {
    check(testbed_cursor_row(cursor, &key, &key_size, &value, &value_size));
    printf("%.*s\t%.*s\n", (int)key_size, key, (int)value_size, value);
    status = testbed_cursor_next(cursor);
  }
  if (status != TESTBED_NOT_FOUND) check(status);
  check(testbed_cursor_close(cursor));

  if (testbed_close(engine) == TESTBED_USAGE) printf("refused: %s\n", testbed_error());
  check(testbed_session_close(session));
  check(testbed_close(engine));
  return 0;
}
