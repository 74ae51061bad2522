// The C API (testbed_engine.h) over engines/engine.h. It turns errors into codes and sentences. It
// counts open sessions and cursors, so that it can refuse a close in the wrong order.
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "device/os/thread.h"
#include "embed/testbed/testbed_engine.h"
#include "engines/engine.h"
#include "engines/extra_options.h"
#include "engines/registry.h"

struct testbed_engine {
  std::unique_ptr<testbed::Engine> engine;
  std::atomic<size_t> sessions{0};
  std::atomic<size_t> calls{0};  // calls on the engine itself that are under way
};

struct testbed_session {
  testbed_engine* owner;
  std::unique_ptr<testbed::Session> session;
  size_t cursors = 0;
  bool in_transaction = false;
  uint64_t changes = 0;  // writes and ends of transactions so far
};

struct testbed_cursor {
  testbed_session* owner;
  std::unique_ptr<testbed::Cursor> cursor;
  bool on_row = false;
  uint64_t changes = 0;  // the session's `changes` when the cursor moved last
};

namespace testbed {
namespace {

thread_local int last_number = 0;

// Returns the sentence of the thread's last error. Throws std::bad_alloc.
std::string& LastSentence() {
  return *OfThread([] { return std::make_unique<std::string>(); });
}

testbed_status Refuse(testbed_status status, const char* sentence, int number = 0) {
  last_number = number;
  std::string* last = nullptr;
  try {
    last = &LastSentence();
    *last = sentence;
  } catch (const std::bad_alloc&) {
    if (last != nullptr) last->clear();
  }
  return status;
}

testbed_status StatusOf(Error::Kind kind) {
  switch (kind) {
    case Error::kUsage:
      return TESTBED_USAGE;
    case Error::kIo:
      return TESTBED_IO;
    case Error::kCorruption:
      return TESTBED_CORRUPTION;
    case Error::kRun:
      break;
  }
  return TESTBED_FAILED;
}

// Keeps the calling thread from being cancelled (pthread_cancel(3)) while the object lives. A
// cancellation unwinds the stack as an exception does, and would end the process at a noexcept
// function.
class NotCancelled {
 public:
  NotCancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { ::pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Returns what `work` returns. If `work` throws, notes the error as the thread's last one and
// returns its status.
template <typename Work>
testbed_status Guarded(Work work) {
  const NotCancelled call;
  try {
    return work();
  } catch (const Error& error) {
    return Refuse(StatusOf(error.kind()), error.what(), error.code());
  } catch (const std::exception& error) {
    return Refuse(TESTBED_FAILED, SentenceOf(error));
  } catch (...) {
    return Refuse(TESTBED_FAILED, "the engine failed without saying why");
  }
}

// Counts a call on an engine while the object lives, so that no close frees the engine under it.
class EngineCall {
 public:
  explicit EngineCall(testbed_engine* engine) : engine_(*engine) { engine_.calls.fetch_add(1); }
  ~EngineCall() { engine_.calls.fetch_sub(1); }
  EngineCall(const EngineCall&) = delete;
  EngineCall& operator=(const EngineCall&) = delete;

 private:
  testbed_engine& engine_;
};

// Returns the status of a close that has freed the handle. It turns TESTBED_USAGE into
// TESTBED_FAILED, because TESTBED_USAGE tells the caller that the handle is still open.
testbed_status StatusOfClosed(testbed_status status) {
  return status == TESTBED_USAGE ? TESTBED_FAILED : status;
}

testbed_status Null(const char* sentence) { return Refuse(TESTBED_USAGE, sentence); }

std::string_view Bytes(const char* data, size_t size) {
  return size == 0 ? std::string_view() : std::string_view(data, size);
}

std::map<std::string, std::string> Words(const char* const* options) {
  std::map<std::string, std::string> words;
  for (; options != nullptr && *options != nullptr; ++options) {
    const std::string_view word = *options;
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error(Error::kUsage, "the option \"" + std::string(word) + "\" is not name=value");
    }
    words[std::string(word.substr(0, equals))] = word.substr(equals + 1);
  }
  return words;
}

EngineOptions OptionsOf(const EngineInfo& info, const char* const* options) {
  EngineOptions o = DefaultEngineOptions(info);
  std::map<std::string, std::string> words = Words(options);
  const ExtraOptions given(info.name, words, "the option");
  o.create = given.Flag("create", o.create);
  o.io = given.Choice("io", o.io, {IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap}, IoModeName);
  o.page_size = static_cast<uint32_t>(given.Bytes("page_size", o.page_size, 0, 1u << 30));
  o.cache_bytes = given.Bytes("cache_bytes", o.cache_bytes, 0, 1ull << 50);
  o.ram_bytes = given.Bytes("ram_bytes", o.ram_bytes, 0, 1ull << 50);
  o.durability =
      given.Choice("durability", o.durability,
                   {Durability::kSync, Durability::kLazy, Durability::kNone}, DurabilityName);
  o.lazy_interval_ms =
      static_cast<uint32_t>(given.Integer("lazy_interval_ms", o.lazy_interval_ms, 1, 3600000));
  if (const auto at = words.find("compression"); at != words.end()) o.compression = at->second;
  for (const char* name : {"create", "io", "page_size", "cache_bytes", "ram_bytes", "durability",
                           "lazy_interval_ms", "compression"}) {
    words.erase(name);
  }
  o.extra = std::move(words);
  return o;
}

// Lets `move` position the cursor, and notes whether it stands on a row.
template <typename Move>
testbed_status Position(testbed_cursor* cursor, Move move) {
  if (cursor == nullptr) return Null("the cursor is null");
  cursor->on_row = false;
  cursor->changes = cursor->owner->changes;
  return Guarded([&] {
    cursor->on_row = move(*cursor->cursor);
    return cursor->on_row ? TESTBED_OK : TESTBED_NOT_FOUND;
  });
}

testbed_status OffRow() {
  return Refuse(TESTBED_USAGE, "the cursor stands on no row: move it to one first");
}

}  // namespace
}  // namespace testbed

using namespace testbed;

const char* testbed_error() {
  try {
    return LastSentence().c_str();
  } catch (const std::bad_alloc&) {
    return "";
  }
}
int testbed_error_number() { return last_number; }
const char* testbed_version() { return TESTBED_VERSION; }

const char* testbed_engine_name(size_t i) {
  const char* name = nullptr;
  Guarded([&] {
    if (i < Engines().size()) name = Engines()[i].name.c_str();
    return TESTBED_OK;
  });
  return name;
}

testbed_status testbed_open(const char* engine, const char* dir, const char* const* options,
                            testbed_engine** opened) {
  if (engine == nullptr || dir == nullptr || opened == nullptr) {
    return Null("an engine, a directory and a place for the handle are needed");
  }
  return Guarded([&] {
    auto handle = std::make_unique<testbed_engine>();
    // The path is made absolute, because the program may change its working directory.
    const std::string place = *dir == '\0' ? dir : std::filesystem::absolute(dir).string();
    handle->engine = OpenEngine(engine, place, OptionsOf(FindEngine(engine), options));
    *opened = handle.release();
    return TESTBED_OK;
  });
}

testbed_status testbed_compact(const char* engine, const char* dir, const char* const* options) {
  if (engine == nullptr || dir == nullptr) return Null("an engine and a directory are needed");
  return Guarded([&] {
    const EngineInfo& info = FindEngine(engine);
    const std::string place = *dir == '\0' ? dir : std::filesystem::absolute(dir).string();
    CompactDatabase(info, place, OptionsOf(info, options));
    return TESTBED_OK;
  });
}

testbed_status testbed_close(testbed_engine* engine) {
  if (engine == nullptr) return TESTBED_OK;
  // The calls come first: one that opens a session counts the session before it ends.
  if (engine->calls.load() != 0) {
    return Refuse(TESTBED_USAGE, "another thread is in a call on the database: let it end first");
  }
  if (engine->sessions.load() != 0) {
    return Refuse(TESTBED_USAGE, "the database has sessions that are open: close them first");
  }
  const NotCancelled call;
  // A checkpoint comes before the destructor, because only the checkpoint can report an error.
  const testbed_status status = testbed_checkpoint(engine);
  delete engine;
  return StatusOfClosed(status);
}

testbed_status testbed_open_table(testbed_engine* engine, const char* name, testbed_table* table) {
  if (engine == nullptr || name == nullptr || table == nullptr) {
    return Null("an engine, a name and a place for the table are needed");
  }
  return Guarded([&] {
    const EngineCall call(engine);
    *table = engine->engine->OpenTable(name);
    return TESTBED_OK;
  });
}

testbed_status testbed_checkpoint(testbed_engine* engine) {
  if (engine == nullptr) return Null("the engine is null");
  return Guarded([&] {
    const EngineCall call(engine);
    engine->engine->Checkpoint();
    return TESTBED_OK;
  });
}

testbed_status testbed_backup(testbed_engine* engine, const char* dir) {
  if (engine == nullptr || dir == nullptr) return Null("an engine and a directory are needed");
  return Guarded([&] {
    const EngineCall call(engine);
    engine->engine->Backup(dir);
    return TESTBED_OK;
  });
}

testbed_status testbed_settings(testbed_engine* engine, testbed_take_setting take, void* to) {
  if (engine == nullptr || take == nullptr) return Null("an engine and a function are needed");
  return Guarded([&] {
    const EngineCall call(engine);
    for (const auto& [name, value] : engine->engine->EffectiveSettings()) {
      take(to, name.c_str(), value.c_str());
    }
    return TESTBED_OK;
  });
}

testbed_status testbed_counters(testbed_engine* engine, testbed_take_counter take, void* to) {
  if (engine == nullptr || take == nullptr) return Null("an engine and a function are needed");
  return Guarded([&] {
    const EngineCall call(engine);
    const EngineCounters counters = engine->engine->Counters();
    const std::pair<const char*, std::optional<uint64_t>> totals[] = {
        {"block_requests", counters.block_requests},
        {"block_hits", counters.block_hits},
        {"block_reads", counters.block_reads},
        {"block_read_bytes", counters.block_read_bytes},
        {"blocks_written", counters.blocks_written},
        {"block_write_bytes", counters.block_write_bytes},
        {"log_payload_bytes", counters.log_payload_bytes},
        {"log_written_bytes", counters.log_written_bytes}};
    for (const auto& [name, value] : totals) {
      if (value) take(to, name, *value, 1);
    }
    for (const auto& [name, value] : counters.more) take(to, name.c_str(), value, 1);
    if (counters.cache_bytes) take(to, "cache_bytes", *counters.cache_bytes, 0);
    for (const auto& [name, value] : counters.now) take(to, name.c_str(), value, 0);
    return TESTBED_OK;
  });
}

testbed_status testbed_session_open(testbed_engine* engine, testbed_session** opened) {
  if (engine == nullptr || opened == nullptr) {
    return Null("an engine and a place for the handle are needed");
  }
  return Guarded([&] {
    const EngineCall call(engine);
    auto handle = std::make_unique<testbed_session>();
    handle->owner = engine;
    handle->session = engine->engine->NewSession();
    engine->sessions.fetch_add(1);
    *opened = handle.release();
    return TESTBED_OK;
  });
}

testbed_status testbed_session_close(testbed_session* session) {
  if (session == nullptr) return TESTBED_OK;
  if (session->cursors != 0) {
    return Refuse(TESTBED_USAGE, "the session has cursors that are open: close them first");
  }
  const NotCancelled call;
  const testbed_status status = Guarded([&] {
    if (session->in_transaction) session->session->Rollback();
    return TESTBED_OK;
  });
  testbed_engine* const owner = session->owner;
  delete session;
  owner->sessions.fetch_sub(1);
  return StatusOfClosed(status);
}

testbed_status testbed_begin(testbed_session* session) {
  if (session == nullptr) return Null("the session is null");
  return Guarded([&] {
    if (session->in_transaction) {
      return Refuse(TESTBED_USAGE, "a transaction is open: commit it or roll it back first");
    }
    session->session->Begin();
    session->in_transaction = true;
    return TESTBED_OK;
  });
}

template <typename How>
static testbed_status End(testbed_session* session, How how) {
  if (session == nullptr) return Null("the session is null");
  return Guarded([&] {
    if (!session->in_transaction) return Refuse(TESTBED_USAGE, "no transaction is open: begin one");
    // On a thread that may not end the transaction, `how` throws and leaves it open.
    session->in_transaction = session->session->HeldByOtherThread();
    if (!session->in_transaction) ++session->changes;
    how(*session->session);
    return TESTBED_OK;
  });
}

testbed_status testbed_commit(testbed_session* session) {
  return End(session, [](Session& s) {
    try {
      s.Commit();
    } catch (...) {
      // If the engine left the transaction open, a later commit would include its writes.
      try {
        s.Rollback();
      } catch (const std::exception&) {
        // The caller gets the commit's error. Rollback also fails when no transaction is open, and
        // when it belongs to another thread.
      }
      throw;
    }
  });
}
testbed_status testbed_rollback(testbed_session* session) {
  return End(session, [](Session& s) { s.Rollback(); });
}

testbed_status testbed_get(testbed_session* session, testbed_table table, const char* key,
                           size_t key_size, const char** value, size_t* value_size) {
  if (session == nullptr || (key == nullptr && key_size != 0) || value == nullptr ||
      value_size == nullptr) {
    return Null("a session, a key and places for the value are needed");
  }
  return Guarded([&] {
    std::string_view found;
    if (!session->session->Get(table, Bytes(key, key_size), &found)) return TESTBED_NOT_FOUND;
    *value = found.empty() ? "" : found.data();
    *value_size = found.size();
    return TESTBED_OK;
  });
}

testbed_status testbed_put(testbed_session* session, testbed_table table, const char* key,
                           size_t key_size, const char* value, size_t value_size) {
  if (session == nullptr || (key == nullptr && key_size != 0) ||
      (value == nullptr && value_size != 0)) {
    return Null("a session, a key and a value are needed");
  }
  return Guarded([&] {
    ++session->changes;
    session->session->Put(table, Bytes(key, key_size), Bytes(value, value_size));
    return TESTBED_OK;
  });
}

testbed_status testbed_erase(testbed_session* session, testbed_table table, const char* key,
                             size_t key_size) {
  if (session == nullptr || (key == nullptr && key_size != 0)) {
    return Null("a session and a key are needed");
  }
  return Guarded([&] {
    ++session->changes;
    session->session->Erase(table, Bytes(key, key_size));
    return TESTBED_OK;
  });
}

testbed_status testbed_cursor_open(testbed_session* session, testbed_table table,
                                   testbed_cursor** opened) {
  if (session == nullptr || opened == nullptr) {
    return Null("a session and a place for the handle are needed");
  }
  return Guarded([&] {
    auto handle = std::make_unique<testbed_cursor>();
    handle->owner = session;
    handle->cursor = session->session->NewCursor(table);
    ++session->cursors;
    *opened = handle.release();
    return TESTBED_OK;
  });
}

testbed_status testbed_cursor_close(testbed_cursor* cursor) {
  if (cursor == nullptr) return TESTBED_OK;
  --cursor->owner->cursors;
  return Guarded([&] {
    delete cursor;
    return TESTBED_OK;
  });
}

testbed_status testbed_cursor_seek(testbed_cursor* cursor, const char* key, size_t key_size) {
  if (key == nullptr && key_size != 0) return Null("the key is null");
  return Position(
      cursor, [&](Cursor& c) { return key_size == 0 ? c.First() : c.Seek(Bytes(key, key_size)); });
}

testbed_status testbed_cursor_seek_last(testbed_cursor* cursor) {
  return Position(cursor, [](Cursor& c) { return c.Last(); });
}

testbed_status testbed_cursor_next(testbed_cursor* cursor) {
  if (cursor != nullptr && !cursor->on_row) return OffRow();
  return Position(cursor, [](Cursor& c) { return c.Next(); });
}

testbed_status testbed_cursor_prev(testbed_cursor* cursor) {
  if (cursor != nullptr && !cursor->on_row) return OffRow();
  return Position(cursor, [](Cursor& c) { return c.Prev(); });
}

testbed_status testbed_cursor_row(testbed_cursor* cursor, const char** key, size_t* key_size,
                                  const char** value, size_t* value_size) {
  if (cursor == nullptr || key == nullptr || key_size == nullptr || value == nullptr ||
      value_size == nullptr) {
    return Null("a cursor and places for the row are needed");
  }
  if (!cursor->on_row) return OffRow();
  if (cursor->changes != cursor->owner->changes) {
    return Refuse(TESTBED_USAGE,
                  "the session has written since the cursor moved: move it to the row again");
  }
  return Guarded([&] {
    const std::string_view k = cursor->cursor->key(), v = cursor->cursor->value();
    *key = k.empty() ? "" : k.data();
    *key_size = k.size();
    *value = v.empty() ? "" : v.data();
    *value_size = v.size();
    return TESTBED_OK;
  });
}
