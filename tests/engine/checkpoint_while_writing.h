// A checkpoint beside writing, for tests of engines whose libraries may wait for writers with it.
#ifndef TESTBED_TESTS_ENGINE_CHECKPOINT_WHILE_WRITING_H_
#define TESTBED_TESTS_ENGINE_CHECKPOINT_WHILE_WRITING_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "engines/engine.h"
#include "tests/engine/engine_test.h"

namespace testbed {

// Takes a checkpoint of the engine while four sessions write to the table without a pause. Returns
// once the checkpoint has ended; then the sessions end.
inline void CheckpointWhileSessionsWrite(Engine* engine, TableId table) {
  constexpr uint64_t kWriters = 4;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> writing{0};
  std::vector<std::thread> writers;
  for (uint64_t t = 0; t < kWriters; ++t) {
    writers.emplace_back([&, t] {
      const std::unique_ptr<Session> session = engine->NewSession();
      for (uint64_t i = 0; !stop.load(); ++i) {
        session->Put(table, RowKey(t * 1000 + i % 1000), RowValue(i, 300));
        if (i == 0) writing.fetch_add(1);
      }
    });
  }
  while (writing.load() < kWriters) std::this_thread::yield();
  engine->Checkpoint();
  stop.store(true);
  for (std::thread& writer : writers) writer.join();
}

}  // namespace testbed

#endif  // TESTBED_TESTS_ENGINE_CHECKPOINT_WHILE_WRITING_H_
